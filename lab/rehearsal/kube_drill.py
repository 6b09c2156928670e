"""What each drill of a cluster in production with a real Kubernetes needs."""

from dataclasses import dataclass

from lab.rehearsal.kube import Operator
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import Report
from lab.rehearsal.stack import Stack
from lab.rehearsal.status import StatusProofs


@dataclass(frozen=True)
class KubeDrill:
    """A drill of one cluster."""

    provisioner: Provisioner
    stack: Stack
    proofs: Proofs
    operator: Operator
    report: Report

    @property
    def status(self) -> StatusProofs:
        """Proofs of what an operator is told, which has etcd's members here."""
        return StatusProofs(self.stack, self.report, etcd_is_reported=True)
