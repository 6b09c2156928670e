"""The serial consoles of machines, with secrets masked."""

from collections import deque
from pathlib import Path

from base.masking import mask_lines
from lab.paths import CONSOLE, LIBVIRT

_SCANNED_BYTES = 1 << 20


def console_log(machine: str) -> Path:
    """Return the log of a machine's console: in the lab's folder for servers, in libvirt's for the bootstrap VM."""
    server_log = CONSOLE / f"{machine}.log"
    return server_log if server_log.exists() else LIBVIRT / "log" / "qemu" / f"{machine}-serial0.log"


def console_tail(machine: str, lines: int) -> list[str]:
    """Return the last `lines` lines of a machine's console, secrets masked; empty if it wrote none."""
    try:
        with console_log(machine).open("rb") as log:
            log.seek(max(0, log.seek(0, 2) - _SCANNED_BYTES))
            text = log.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return list(deque(mask_lines(text), maxlen=lines))
