"""A provisioner that remembers an installation in memory, as `mark_file.MarkFile` does on its disk."""

from dataclasses import dataclass

from wires.bmc.client import Identity
from wires.bmc.identity import is_one_machine


@dataclass
class FakeMark:
    """Implements `Mark`."""

    marked: tuple[Identity, str] | None = None

    def is_of(self, machine: Identity, iso_sha256: str) -> bool:
        if self.marked is None:
            return False
        marked, digest = self.marked
        return digest == iso_sha256 and is_one_machine(marked, machine)

    def set(self, machine: Identity, iso_sha256: str) -> None:
        self.marked = machine, iso_sha256

    def remove(self) -> None:
        self.marked = None
