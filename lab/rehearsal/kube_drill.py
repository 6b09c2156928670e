"""What each drill of a cluster in production with a real Kubernetes needs."""

import http.client
import os
import signal
from dataclasses import dataclass
from typing import ClassVar

from lab.rehearsal.client import Client
from lab.rehearsal.kube import Operator
from lab.rehearsal.okd_api import OkdApi
from lab.rehearsal.proofs import Proofs, settle
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.refusals import UP
from lab.rehearsal.report import Report
from lab.rehearsal.stack import Once, Stack
from lab.rehearsal.status import StatusProofs

RUNS_S = 120
NAMESPACE = "/api/v1/namespaces/default"
PODS = f"{NAMESPACE}/pods"
"""Those of the drills: nothing else runs pods in a twin."""


@dataclass(frozen=True)
class KubeDrill:
    """A drill of one cluster."""

    provisioner: Provisioner
    stack: Stack
    proofs: Proofs
    operator: Operator
    report: Report
    pod: ClassVar = {"metadata": {"name": "held", "labels": {"app": "held"}}}

    @property
    def status(self) -> StatusProofs:
        """Proofs of what an operator is told, which has etcd's members here."""
        return StatusProofs(self.stack, self.report, etcd_is_reported=True)

    def runs_a_pod(self, client: Client, node: str) -> None:
        """Prove that a node runs a pod, which is given to it as by a scheduler and the controller of accounts."""
        api = OkdApi(client)
        api.ensure(f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
        container = {"name": "held", "image": "registry.lab.test/held"}
        spec = {"nodeName": node, "automountServiceAccountToken": False, "containers": [container]}
        api.ensure(PODS, {**self.pod, "spec": {**spec, "terminationGracePeriodSeconds": 1}})

        def phase() -> str:
            try:
                return str(client.call("GET", f"{PODS}/held")["status"]["phase"])
            except (OSError, http.client.HTTPException) as error:
                return str(error)

        self.report.prove("the pod", wanted="Running", seen=settle(phase, "Running".__eq__, RUNS_S), machine=node)

    def takes_pods(self, node: str) -> None:
        """Prove that there is a node, and that it is not cordoned."""
        kube = self.proofs.kube(self.operator)
        takes = node in {*kube.nodes()} - {*kube.cordoned()}
        self.report.prove(f"{node} takes pods", wanted=True, seen=takes)

    def reads(self, text: str, *wanted: str, what: str = "the review says") -> None:
        """Prove that a text that an operator reads has each of the wanted words."""
        for words in wanted:
            self.report.prove(what, wanted=words, seen=words if words in text else "")

    def kills_up(self, name: str, step: str) -> None:
        """Kill the CLI in a step of a server, so that the next `up` has to go on."""
        # The outputs of a failed update name the steps of installations, too.
        watch = Once(f"BmcHost .*-{name} .*{step}", lambda pid: os.kill(pid, signal.SIGKILL))
        outcome = self.stack.try_run(*UP, on_line=watch)
        self.report.prove(f"`up` was killed in {step!r}", wanted=-signal.SIGKILL, seen=outcome.code)
        self.stack.run("cancel", "--yes", quiet=True)
