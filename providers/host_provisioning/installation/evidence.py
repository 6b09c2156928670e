"""What shows that an earlier run has installed a host without a record, so that its disk is not wiped once more.

A killed run leaves no record. What the BMC shows is not enough: Off may be that of a server that is about to boot its
disk, or that a person has switched off; a boot ISO may still be in the drive of a server that runs from its disk.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from providers.mark_file import Ended
from wires.bmc.client import Identity, Power
from wires.bmc.identity import is_one_machine


class Mark(Protocol):
    """The mark of the last installation behind one BMC, which outlives its run."""

    def read(self) -> Ended | None:
        """Return the installation that is marked, if one is.

        Raises:
            ProvisioningError: There is a mark that cannot be read.
        """
        ...

    def set(self, ended: Ended) -> None:
        """Mark an installation."""
        ...

    def remove(self) -> None:
        """Remove it: the disk is to be wiped, or its system does not come up."""
        ...


@dataclass(frozen=True)
class Evidence:
    """What is known of one host beside its BMC.

    Args:
        has_joined: Asks the cluster whether the machine is the host's node; False if nobody can be asked; None if it
            has to be asked again; raises a ProvisioningError if that stays unknown.
        answers: Returns whether a kubelet answers at the host's address.
    """

    mark: Mark
    has_joined: Callable[[Identity], bool | None]
    answers: Callable[[], bool]

    def is_marked(self, machine: Identity, iso_sha256: str) -> bool:
        """Return whether the mark is that of this machine, from this boot ISO."""
        ended = self.mark.read()
        return ended is not None and ended.iso_sha256 == iso_sha256 and is_one_machine(ended.machine, machine)

    def shows_system(self, machine: Identity, power: Power) -> bool | None:
        """Return whether the host's system is on its disk. None: not known yet.

        A server that is off is not the one that answers.
        """
        return (power is Power.ON and self.answers()) or self.has_joined(machine)
