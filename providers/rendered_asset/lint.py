"""Asks the real reader of a file whether it would take it, where that reader is installed."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from assets.render import Reader, RenderedFile
from providers.base.errors import AssetError

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # readers live in sbin, which users lack
IFF_LOOPBACK, IFF_MULTICAST = 0x8, 0x1000

COMMANDS: dict[Reader, tuple[str, ...]] = {
    Reader.KEEPALIVED: ("keepalived", "--config-test", "--use-file"),
    Reader.HAPROXY: ("haproxy", "-c", "-f"),
    Reader.BASH: ("bash", "-n"),
}
"""Readers that judge a file without the machine it is for; nft wants root, systemd and CoreDNS a running machine."""


def lint(file: RenderedFile) -> bool:
    """Judge one file.

    Returns:
        Whether its reader was there to be asked.

    Raises:
        AssetError: The reader refuses it; its first words are in the message.
    """
    command = COMMANDS.get(file.reader)
    if command is None or shutil.which(command[0], path=PATH) is None:
        return False
    if file.reader is Reader.KEEPALIVED and _vrrp_interface() is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, file.name)
        copy.write_text(STAND_INS.get(file.reader, str)(file.text))
        run = subprocess.run(  # noqa: S603
            [*command, str(copy)], capture_output=True, text=True, env={"PATH": PATH}, check=False
        )
    if run.returncode:
        said = " ".join((run.stderr or run.stdout).replace(str(copy), file.path).split())
        raise AssetError(f"{file.path}: {command[0]} refuses it: {said[:400]}")
    return True


def _for_any_machine(text: str) -> str:
    """Keepalived looks for the interface, and for the scripts; here they are others."""
    return re.sub(r'script ".*"', 'script "/bin/true"', re.sub("@INTERFACE:.*@", _vrrp_interface() or "", text))


def _vrrp_interface() -> str | None:
    """An interface of this machine that keepalived accepts: multicast, no loopback."""
    for folder in sorted(Path("/sys/class/net").iterdir()):
        flags = folder / "flags"
        if flags.exists() and int(flags.read_text(), 16) & (IFF_MULTICAST | IFF_LOOPBACK) == IFF_MULTICAST:
            return folder.name
    return None


STAND_INS: dict[Reader, Callable[[str], str]] = {Reader.KEEPALIVED: _for_any_machine}
