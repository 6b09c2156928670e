"""A drill of a cluster in production that is put to sleep, and wakes, as the documents say."""

import time

from lab.rehearsal.kube_drill import KubeDrill
from lab.rehearsal.refusals import UP
from lab.rehearsal.status import NONE
from testing.documents import commands

PAGE = "how-to/let-a-cluster-sleep.md"


class Sleeping(KubeDrill):
    """The drill of one cluster with a real Kubernetes, whose guests hear their power button."""

    def run(self) -> None:
        """Put the cluster to sleep, and wake it."""
        installed = self.stack.iso_digests()
        with self.report.step("drill: the cluster sleeps"):
            self.stack.follow(commands(PAGE, "power off"))
            running = ", ".join(sorted(self.provisioner.running())) or NONE
            self.report.prove("machines that run in its sleep", wanted=NONE, seen=running)
            self.status.finds_nothing_wrong("in its sleep")
            self.stack.run(*UP, "--expect-no-changes")
        with self.report.step("drill: the cluster wakes"):
            began = time.monotonic()
            self.stack.follow(commands(PAGE, "power on"))
            self.report.measure("s to wake", goal="few", seen=f"{time.monotonic() - began:.0f}")
            self.proofs.nodes_are_ready(self.operator, self.proofs.plan.servers)
            self.proofs.control_plane_serves()
            self.proofs.ingress_serves()
            self.status.finds_nothing_wrong("after its sleep")
            cordoned = ", ".join(self.proofs.kube(self.operator).cordoned()) or NONE
            self.report.prove("nodes that are cordoned", wanted=NONE, seen=cordoned)
            seen = self.stack.iso_digests() == installed
            self.report.prove("no server was installed again", wanted=True, seen=seen)
            self.stack.run(*UP, "--expect-no-changes")
