"""What shows that an earlier run has installed a host without a record, so that its disk is not wiped once more.

A killed run leaves no record. What the BMC shows is not enough: Off may be that of a server that is about to boot its
disk, or that a person has switched off; a boot ISO may still be in the drive of a server that runs from its disk.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from wires.bmc.client import Identity, Power


class Mark(Protocol):
    """The mark of the last installation behind one BMC, which outlives its run."""

    def is_of(self, machine: Identity, iso_sha256: str) -> bool:
        """Return whether it is that of this machine, from this boot ISO."""
        ...

    def set(self, machine: Identity, iso_sha256: str) -> None:
        """Mark that the installation of a machine has ended, and that it boots from its disk from now on."""
        ...

    def remove(self) -> None:
        """Remove it: the disk is to be wiped, or its system does not come up."""
        ...


@dataclass(frozen=True)
class Evidence:
    """What is known of one host beside its BMC.

    Args:
        has_joined: Asks the cluster whether the machine is the host's node; False if nobody can be asked.
        answers: Returns whether a kubelet answers at the host's address.
    """

    mark: Mark
    has_joined: Callable[[Identity], bool]
    answers: Callable[[], bool]

    def shows_system(self, machine: Identity, power: Power) -> bool:
        """Return whether the host's system is on its disk. A server that is off is not the one that answers."""
        return self.has_joined(machine) or (power is Power.ON and self.answers())
