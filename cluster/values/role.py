"""The role of a server in the cluster."""

from enum import StrEnum
from typing import Literal


class Role(StrEnum):
    """The role of a server in the cluster."""

    CONTROL_PLANE = "control-plane"
    COMPUTE = "compute"

    @property
    def pool(self) -> Literal["master", "worker"]:
        """The installer's word for the role."""
        return "master" if self is Role.CONTROL_PLANE else "worker"
