"""The roles of the machines in the cluster."""

from enum import StrEnum
from typing import Final, Literal


class Role(StrEnum):
    """The role of a server in the cluster."""

    CONTROL_PLANE = "control-plane"
    ARBITER = "arbiter"
    COMPUTE = "compute"

    @property
    def pool(self) -> Literal["master", "arbiter", "worker"]:
        """The installer's word for the role."""
        return POOLS[self]

    @property
    def holds_etcd(self) -> bool:
        """Whether its servers hold copies of etcd. They are installed in phase bootstrap: its end waits for them."""
        return self is not Role.COMPUTE


POOLS: dict[Role, Literal["master", "arbiter", "worker"]] = {
    Role.CONTROL_PLANE: "master",
    Role.ARBITER: "arbiter",
    Role.COMPUTE: "worker",
}


def payload_files(*, has_arbiter: bool) -> tuple[str, ...]:
    """Return the files of a payload, without `.ign`. openshift-install writes that of arbiters if there are any."""
    return (BOOTSTRAP, *(role.pool for role in Role if has_arbiter or role is not Role.ARBITER))


BOOTSTRAP: Final = "bootstrap"
MachineRole = Role | Literal["bootstrap"]
"""The role of any machine: that of a server, or the bootstrap VM's."""
