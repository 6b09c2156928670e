"""A drill of compute that leaves the install-config of a cluster in production, with a pod that a budget holds."""

from base.yaml_text import parse_yaml, yaml_of
from lab.rehearsal.client import Client
from lab.rehearsal.kube_drill import PODS, KubeDrill
from lab.rehearsal.okd_api import OkdApi
from lab.rehearsal.refusals import UP, refuse
from lab.twin import DEADLINES
from testing.documents import commands

PAGE = "how-to/grow-and-shrink.md"
DRAIN_S = 20
_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


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
            self.takes_pods(name)
            self.stack.configure(deadlines=DEADLINES)
            client.call("DELETE", f"{_BUDGETS}/held")
            self.stack.run(*UP)
            self.report.prove(f"{name} runs", wanted=False, seen=name in self.provisioner.running())
            self.report.prove("pods left of it", wanted=0, seen=len(client.call("GET", PODS)["items"]))
            is_node = name in self.proofs.kube(self.operator).nodes()  # those that are Ready would lack it anyway
            self.report.prove(f"{name} is a node", wanted=False, seen=is_node)
            others = tuple(server for server in self.proofs.plan.servers if server.name != name)
            self.proofs.nodes_are_ready(self.operator, others)
            self.proofs.ingress_serves()
            self.stack.run(*UP, "--expect-no-changes")

    def _hold_a_pod(self, client: Client, node: str) -> None:
        """Run a pod on a node, and have a budget hold it, as the controller of budgets would."""
        self.runs_a_pod(client, node)
        budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "held"}}}
        counted = {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        status = {**counted, "observedGeneration": 1}
        OkdApi(client).report(_BUDGETS, {**self.pod, "spec": budget, "status": status})

    def _remove(self, name: str) -> None:
        """Do what the page says."""
        path = self.stack.install_config
        config = parse_yaml(path.read_text())
        bare, (pool,) = config["platform"]["baremetal"], config["compute"]
        bare["hosts"] = [host for host in bare["hosts"] if host["name"] != name]
        pool["replicas"] -= 1
        path.write_text(yaml_of(config))
        self.stack.follow(commands(PAGE, "config rm"), host=name)
