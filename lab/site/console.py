"""The serial consoles of machines, with secrets masked."""

import re
from collections import deque
from pathlib import Path

from lab.paths import CONSOLE, LIBVIRT

_MASKED = "[masked]"
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]+-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]+-----")
_SECRETS = (
    re.compile(r"(?P<keep>(?i:authorization)\"?\s*[:=]\s*).*"),
    re.compile(
        r"(?P<keep>(?i:\b\w*(?:password|passwd|passphrase|secret|token|auth)\w*)\"?\s*[:=]\s*)(?:\"[^\"]*\"|\S+)"
    ),
    re.compile(r"(?P<keep>\b(?:ssh-[a-z0-9]+|ecdsa-sha2-[a-z0-9]+|sk-[a-z0-9@.-]+)\s+)[A-Za-z0-9+/=]{16,}"),
    re.compile(r"(?P<keep>://)[^/\s:@]+:[^/\s@]+(?=@)"),
    re.compile(r"(?P<keep>\$(?:2[aby]|5|6|y)\$)\S+"),
    re.compile(r"(?P<keep>data:[^,\s]*;base64,)[A-Za-z0-9+/=]+"),
)
_SCANNED_BYTES = 1 << 20


def console_log(machine: str) -> Path:
    """Return the log of a machine's console: in the lab's folder for servers, in libvirt's for the bootstrap VM."""
    ours = CONSOLE / f"{machine}.log"
    return ours if ours.exists() else LIBVIRT / "log" / "qemu" / f"{machine}-serial0.log"


def console_tail(machine: str, lines: int) -> list[str]:
    """Return the last `lines` lines of a machine's console, secrets masked; empty if it wrote none."""
    try:
        with console_log(machine).open("rb") as log:
            log.seek(max(0, log.seek(0, 2) - _SCANNED_BYTES))
            text = log.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return list(deque(mask(text), maxlen=lines))


def mask(text: str) -> list[str]:
    """Split `text` into lines, and remove control characters, PEM blocks, passwords, keys and tokens."""
    found: list[str] = []
    in_block = False
    for raw in text.replace("\r\n", "\n").split("\n"):
        line = _CONTROL.sub("", _ESCAPE.sub("", raw)).rstrip()
        if not in_block and (begin := _PEM_BEGIN.search(line)):
            found.append(line[: begin.start()] + _MASKED)
            in_block = not _PEM_END.search(line, begin.end())
        elif in_block:
            in_block = not _PEM_END.search(line)
        elif line:
            found.append(_mask_line(line))
    return found


def _mask_line(line: str) -> str:
    for secret in _SECRETS:
        line = secret.sub(rf"\g<keep>{_MASKED}", line)
    return line
