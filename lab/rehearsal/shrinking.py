"""A drill of compute that leaves the install-config of a cluster in production, with a pod that a budget holds."""

import http.client

from base.yaml_text import parse_yaml, yaml_of
from lab.rehearsal.client import Client
from lab.rehearsal.kube_drill import KubeDrill
from lab.rehearsal.okd_api import OkdApi
from lab.rehearsal.proofs import settle
from lab.rehearsal.refusals import UP, refuse
from lab.twin import DEADLINES
from testing.documents import commands

PAGE = "how-to/grow-and-shrink.md"
DRAIN_S = 20
RUNS_S = 120
_NAMESPACE = "/api/v1/namespaces/default"
_PODS = f"{_NAMESPACE}/pods"
_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
_NAMED = {"metadata": {"name": "held", "labels": {"app": "held"}}}


class Shrinking(KubeDrill):
    """The drill of one cluster with a real Kubernetes, which has no scheduler and no controller of budgets."""

    def run(self) -> None:
        """Remove the last server of compute: first a budget holds its pod, then it lets go."""
        name, client = self.proofs.plan.compute[-1].name, self.proofs.kube(self.operator).client
        with self.report.step(f"drill: {name} leaves the install-config, and a budget holds its pod"):
            self._hold_a_pod(client, name)
            self._remove(name)
            self.stack.configure(deadlines={"host_s": DRAIN_S})
            left = f"not drained within {DRAIN_S} s, so it runs on, and takes pods again: 1 left: default/held"
            refuse(self.stack, self.report, f"to drain {name}", left, UP)
            self.report.prove(f"{name} runs", wanted=True, seen=name in self.provisioner.running())
            takes = name not in self.proofs.kube(self.operator).cordoned()
            self.report.prove(f"{name} takes pods", wanted=True, seen=takes)
            self.stack.configure(deadlines=DEADLINES)
            client.call("DELETE", f"{_BUDGETS}/held")
            self.stack.run(*UP)
            self.report.prove(f"{name} runs", wanted=False, seen=name in self.provisioner.running())
            self.report.prove("pods left of it", wanted=0, seen=len(client.call("GET", _PODS)["items"]))
            others = tuple(server for server in self.proofs.plan.servers if server.name != name)
            self.proofs.nodes_are_ready(self.operator, others)
            self.proofs.ingress_serves()
            self.stack.run(*UP, "--expect-no-changes")

    def _hold_a_pod(self, client: Client, node: str) -> None:
        """Run a pod on a node, as a scheduler and the controllers of accounts and budgets would."""
        api = OkdApi(client)
        api.ensure(f"{_NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
        container = {"name": "held", "image": "registry.lab.test/held"}
        spec = {"nodeName": node, "automountServiceAccountToken": False, "containers": [container]}
        api.ensure(_PODS, {**_NAMED, "spec": {**spec, "terminationGracePeriodSeconds": 1}})
        budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "held"}}}
        counted = {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        api.report(_BUDGETS, {**_NAMED, "spec": budget, "status": {**counted, "observedGeneration": 1}})

        def phase() -> str:
            try:
                return str(client.call("GET", f"{_PODS}/held")["status"]["phase"])
            except (OSError, http.client.HTTPException) as error:
                return str(error)

        self.report.prove("the pod", wanted="Running", seen=settle(phase, "Running".__eq__, RUNS_S), machine=node)

    def _remove(self, name: str) -> None:
        """Do what the page says."""
        path = self.stack.project / "stacks" / self.stack.name / "install-config.yaml"
        config = parse_yaml(path.read_text())
        bare, (pool,) = config["platform"]["baremetal"], config["compute"]
        bare["hosts"] = [host for host in bare["hosts"] if host["name"] != name]
        pool["replicas"] -= 1
        path.write_text(yaml_of(config))
        self.stack.follow(commands(PAGE, "config rm"), host=name)
