"""The roles of the machines in the cluster."""

from enum import StrEnum
from typing import Final, Literal


class Role(StrEnum):
    """The role of a server in the cluster."""

    CONTROL_PLANE = "control-plane"
    COMPUTE = "compute"

    @property
    def pool(self) -> Literal["master", "worker"]:
        """The installer's word for the role."""
        return "master" if self is Role.CONTROL_PLANE else "worker"


BOOTSTRAP: Final = "bootstrap"
MachineRole = Role | Literal["bootstrap"]
"""The role of any machine: that of a server, or the bootstrap VM's."""
