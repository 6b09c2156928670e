"""What a message shows of what others choose: few things, each of them short."""

from collections.abc import Iterable
from heapq import nsmallest

from base.errors import one_line

MOST = 8
LONGEST = 300


def few(things: Iterable[str]) -> list[str]:
    """Return the first things in order and, if there are more than `MOST`, how many more."""
    known = [*things]
    more = len(known) - MOST
    return [*nsmallest(MOST, known), *([f"{more:,} more"] if more > 0 else [])]


def short(text: str, longest: int = LONGEST) -> str:
    """Return the text as one line of at most `longest` characters."""
    line = one_line(text[: longest + 1])
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
