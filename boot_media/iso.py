"""A host's boot ISO: the base live ISO with one host's Ignition in it, kept as the few bytes that differ.

Made by `coreos-installer iso customize`; it writes into a 256 KiB area that the live ISO keeps free for it, so a
server can answer from base plus patches and store nothing per host.
"""

import hashlib
import json
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import IO, Self

from boot_media.tools import COREOS_INSTALLER_VERSION
from providers.base.errors import BootMediaError
from providers.base.memory import in_memory, path_of

TAKE_VERSION = f"install coreos-installer {COREOS_INSTALLER_VERSION}, or run tools/coreos-installer"
BLOCK = 4096
CHUNK = 1024 * 1024
COPY_AT_ONCE = 1024**3
TRIAL = b'{"ignition":{"version":"3.2.0"}}'
# Power off is the only sign of a finished installation that needs no network of the guest; asked for without waiting,
# since systemd waits for this very script (it won over the reboot unit in 19 of 19, measured 2026-11).
POWER_OFF = "#!/bin/sh\nexec systemctl --no-block poweroff\n"

Patch = tuple[int, bytes]
"""Offset in the base, and what stands there instead."""


@dataclass(frozen=True)
class Iso:
    """A boot ISO as base plus patches."""

    base: Path
    size: int
    patches: tuple[Patch, ...]
    """Ascending, not overlapping."""
    sha256: str
    """Digest over the base's digest and the patches: names the ISO."""

    def place(self, host: str) -> str:
        """Path of the host's ISO below the folder that a server has them in; without the ISO it cannot be guessed."""
        return f"{self.sha256}/{host}.iso"

    def write(self, path: Path) -> None:
        """Write it in full, readable by its owner alone, or not at all.

        Raises:
            OSError: It cannot be written.
        """
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
            try:
                _copy(self.base, part)
                for offset, content in self.patches:
                    os.pwrite(part.fileno(), content, offset)
                Path(part.name).replace(path)
            finally:
                Path(part.name).unlink(missing_ok=True)


def place_pattern(host: str) -> str:
    """What the `place` of any ISO of the host looks like, whatever its digest."""
    return rf"[0-9a-f]{{64}}/{re.escape(host)}\.iso"


class IsoMaker:
    """Makes the boot ISOs of one base, each at the cost of what differs; for several threads.

    The tool customizes a copy of the base in place, and only its embed area is read back. That it writes nowhere else
    is seen once, over all bytes: the area put back, the copy has the base's digest. The area is put back after each
    host, so nothing of one is ever in another's ISO; and the copy has no name, so nothing of it outlives the process.

    Args:
        base: A CoreOS live ISO; its folder has room for a second one.
        sha256: Its digest.
        coreos_installer: The tool.

    Raises:
        BootMediaError: Another base, no room, or the tool refuses.
    """

    def __init__(self, base: Path, sha256: str, coreos_installer: Path) -> None:
        self._base, self._sha256, self._tool = base, sha256, coreos_installer
        self._lock = threading.Lock()
        with ExitStack() as undo:
            try:
                self._work = undo.enter_context(tempfile.TemporaryFile(dir=base.parent))
                self._size = _copy(base, self._work)
            except OSError as error:
                what = f"cannot be copied into its folder ({error.strerror})"
                raise BootMediaError(what, where=str(base), fix="free room there") from None
            folder = undo.enter_context(tempfile.TemporaryDirectory(prefix="okd-baremetal-"))  # mode 0700
            self._power_off = _private(folder, "poweroff.sh", POWER_OFF)
            self._offset, length = self._embed_area()
            self._free = os.pread(self._work.fileno(), length, self._offset)
            self._patches(TRIAL, {}, "/dev/null")
            self._compare()
            self._undo = undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the copy."""
        self._undo.close()

    def make(self, *, ignition: bytes, keyfiles: Mapping[str, str], root_device: str) -> Iso:
        """A host's boot ISO: it installs to `root_device` with `ignition`, and powers off.

        Args:
            ignition: What the installed system applies on its first boot; secret, and never on a disk.
            keyfiles: NetworkManager's, text by file name, for the live system and the installed one; secret, on disk
                only while the tool runs, which takes their names from there.
            root_device: Disk that is wiped, as `/dev/…`.

        Raises:
            BootMediaError: The tool refuses.
        """
        with self._lock:
            patches = self._patches(ignition, keyfiles, root_device)
        digest = hashlib.sha256(self._sha256.encode())
        for offset, content in patches:
            digest.update(f"\n{offset} {len(content)}\n".encode() + content)
        return Iso(self._base, self._size, patches, digest.hexdigest())

    def _patches(self, ignition: bytes, keyfiles: Mapping[str, str], root_device: str) -> tuple[Patch, ...]:
        # Few system calls: in a fleet each one waits for its turn among the threads that talk to BMCs.
        command: list[str | Path] = ["customize", "--dest-device", root_device, "--post-install", self._power_off]
        try:
            with ExitStack() as undo:
                config = undo.enter_context(in_memory(ignition))
                command += ["--dest-ignition", path_of(config)]
                if keyfiles:
                    folder = undo.enter_context(tempfile.TemporaryDirectory(dir=self._power_off.parent))
                    for name, text in keyfiles.items():
                        command += ["--network-keyfile", _private(folder, name, text)]
                self._run("iso", *command, open_files=[config])
            after = os.pread(self._work.fileno(), len(self._free), self._offset)
        finally:
            os.pwrite(self._work.fileno(), self._free, self._offset)
        if after == self._free:
            what = f"it has put nothing into the embed area of {self._base}"
            raise BootMediaError(what, where=str(self._tool), fix=TAKE_VERSION)
        return tuple(_differences(self._offset, self._free, after))

    def _embed_area(self) -> tuple[int, int]:
        """Offset and length of what the tool may write."""
        said = self._run("dev", "show", "iso", "--ignition")
        try:
            area = json.loads(said)
            return int(area["offset"]), int(area["length"])
        except (ValueError, TypeError, KeyError):
            what = "does not report where the embed area is (`dev show iso --ignition`)"
            raise BootMediaError(what, where=str(self._tool), fix=TAKE_VERSION) from None

    def _compare(self) -> None:
        """The copy is the base again, and the base is the wanted one."""
        if _sha256(path_of(self._work)) == self._sha256:
            return
        if (seen := _sha256(self._base)) != self._sha256:
            what = f"sha256 is {seen}, the stack wants {self._sha256} (media.base_iso.sha256)"
            raise BootMediaError(what, where=str(self._base), fix="remove the file")
        what = f"it wrote beside the embed area of {self._base}"
        raise BootMediaError(what, where=str(self._tool), fix=TAKE_VERSION)

    def _run(self, *words: str | Path, open_files: Sequence[IO[bytes]] = ()) -> bytes:
        """Standard output of the tool, which works on the copy."""
        command = [self._tool, *words, path_of(self._work)]
        kept = [file.fileno() for file in (self._work, *open_files)]
        with in_memory() as said, in_memory() as complaint:
            try:
                code = subprocess.call(command, stdout=said, stderr=complaint, pass_fds=kept)  # noqa: S603
            except OSError as error:
                what = f"cannot be run ({error.strerror})"
                raise BootMediaError(what, where=str(self._tool), fix="run tools/coreos-installer") from None
            if code:
                text = " ".join(os.pread(complaint.fileno(), CHUNK, 0).decode(errors="replace").split())
                what = f"refused by coreos-installer: {text[:400]}"
                raise BootMediaError(what, where=str(self._base), fix="take a CoreOS live ISO as the base")
            return os.pread(said.fileno(), CHUNK, 0)


def _differences(offset: int, before: bytes, after: bytes) -> Iterator[Patch]:
    """The blocks of `after` that differ, neighbours joined; both begin at `offset`."""
    starts = range(0, len(before), BLOCK)
    for differs, group in groupby(starts, lambda at: before[at : at + BLOCK] != after[at : at + BLOCK]):
        if differs:
            blocks = list(group)
            yield offset + blocks[0], after[blocks[0] : blocks[-1] + BLOCK]


def _copy(source: Path, target: IO[bytes]) -> int:
    """Copy `source`, which costs nothing where the file system can share; its size."""
    with source.open("rb") as file:
        while os.copy_file_range(file.fileno(), target.fileno(), COPY_AT_ONCE):
            pass
        return os.lseek(file.fileno(), 0, os.SEEK_CUR)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _private(folder: str | Path, name: str, text: str) -> Path:
    path = Path(folder, name)
    with open(path, "x", opener=lambda file, flags: os.open(file, flags, 0o600)) as file:
        file.write(text)
    return path
