"""A drill of a cluster in production that is put to sleep, and wakes, as the documents say."""

import time
from dataclasses import dataclass

from lab.rehearsal.kube import Operator
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.refusals import UP
from lab.rehearsal.report import Report
from lab.rehearsal.stack import Stack
from lab.rehearsal.status import NONE, StatusProofs
from testing.documents import commands

PAGE = "how-to/let-a-cluster-sleep.md"


@dataclass(frozen=True)
class Sleeping:
    """The drill of one cluster with a real Kubernetes, whose guests hear their power button."""

    provisioner: Provisioner
    stack: Stack
    proofs: Proofs
    operator: Operator
    report: Report

    def run(self) -> None:
        """Put the cluster to sleep, and wake it."""
        status, installed = StatusProofs(self.stack, self.report, etcd_is_reported=True), self.stack.iso_digests()
        with self.report.step("drill: the cluster sleeps"):
            self.stack.follow(commands(PAGE, "power off"))
            running = ", ".join(sorted(self.provisioner.running())) or NONE
            self.report.prove("machines that run in its sleep", wanted=NONE, seen=running)
            status.finds_nothing_wrong("in its sleep")
            self.stack.run(*UP, "--expect-no-changes")
        with self.report.step("drill: the cluster wakes"):
            began = time.monotonic()
            self.stack.follow(commands(PAGE, "power on"))
            self.report.measure("s to wake", goal="few", seen=f"{time.monotonic() - began:.0f}")
            self.proofs.nodes_are_ready(self.operator, self.proofs.plan.servers)
            self.proofs.control_plane_serves()
            self.proofs.ingress_serves()
            status.finds_nothing_wrong("after its sleep")
            cordoned = ", ".join(self.proofs.kube(self.operator).cordoned()) or NONE
            self.report.prove("nodes that are cordoned", wanted=NONE, seen=cordoned)
            seen = self.stack.iso_digests() == installed
            self.report.prove("no server was installed again", wanted=True, seen=seen)
            self.stack.run(*UP, "--expect-no-changes")
