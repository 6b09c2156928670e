"""The words for what is written to libvirt and to its machines, in the log of a run and in a write plan."""

from assets.contract import Word
from base.writes import Write

VIP_WORDS = (Word.RELEASE, Word.LEAVE, Word.HOLD)
"""The words on the handoff's channel that move the API VIP; `status` only asks."""
DEFINE, START, PRESS, CUT, UNDEFINE = "define", "start", "press the power button", "cut the power", "undefine"
ENDS = (PRESS, CUT, UNDEFINE)
"""What ends a domain; see `shutdown.end`."""
MAKE, DELETE = "make", "delete"


def to_domain(name: str, action: str) -> Write:
    """Return the write of an action to a domain."""
    return Write(f"domain {name}", action)


def to_volume(pool: str, volume: str, action: str) -> Write:
    """Return the write of an action to a volume."""
    return Write(f"volume {pool}/{volume}", action)


def vip(word: str) -> str:
    """Return the action that has a bootstrap VM release the API VIP, leave it, or hold it."""
    return f"{word} the API VIP"
