"""The failures that DMTF's programs report of fakes on purpose, each with its reason."""

import re
from dataclasses import dataclass

from testing.dmtf import Program
from testing.fakes.fleet.unusable import EVERY


@dataclass(frozen=True)
class Explained:
    """A failure.

    Args:
        row: Pattern of a row of `testing.dmtf.failures`.
        fakes: The fakes that have it.
    """

    program: Program
    row: str
    why: str
    fakes: frozenset[str] = frozenset(EVERY)

    def covers(self, row: str) -> bool:
        """Return whether this explains a row."""
        return re.search(self.row, row) is not None
