"""What a server becomes in its cluster."""

from enum import StrEnum
from typing import Literal


class Role(StrEnum):
    """What a server becomes."""

    CONTROL_PLANE = "control-plane"
    COMPUTE = "compute"

    @property
    def pool(self) -> Literal["master", "worker"]:
        """The installer's word for it."""
        return "master" if self is Role.CONTROL_PLANE else "worker"
