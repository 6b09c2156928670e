"""A provisioner that remembers an installation in memory, as `mark_file.MarkFile` does on its disk."""

from dataclasses import dataclass

from providers.mark_file import Ended


@dataclass
class FakeMark:
    """Implements `Mark`."""

    ended: Ended | None = None

    def read(self) -> Ended | None:
        return self.ended

    def set(self, ended: Ended) -> None:
        self.ended = ended

    def remove(self) -> None:
        self.ended = None
