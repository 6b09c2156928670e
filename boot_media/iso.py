"""A host's boot ISO: the base ISO with one host's Ignition in it, stored as the few bytes that differ from the base.

`coreos-installer iso customize` makes it. The tool writes only into an embed area of 256 KiB that the base ISO keeps
free, so a server can send the base plus patches, and stores nothing per host.
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
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import IO, Self

from base.errors import MISSHAPEN, BootMediaError
from base.files import replaced
from base.memory import in_memory, path_of
from boot_media.architecture import another_architecture, architecture_of
from boot_media.disk import LIVE_CONFIG, SCRIPT_NAME, disk_script
from boot_media.netboot import LiveFiles, live_files
from boot_media.tools import COREOS_INSTALLER_VERSION, SCRIPTS
from cluster.values.architecture import Architecture

LIVE_ISO = "the base has to be a CoreOS live ISO"
BUILD = f"run {SCRIPTS}/coreos-installer"
INSTALL_VERSION = f"install coreos-installer {COREOS_INSTALLER_VERSION}, or {BUILD}"
BLOCK = 4096
CHUNK = 1024 * 1024
COPY_AT_ONCE = 1024**3
TRIAL = b'{"ignition":{"version":"3.2.0"}}'
# The tool compresses at xz's highest level, which takes some 80 MiB of memory for a few KiB. In pages of 4 KiB, these
# are 57 of the 74 ms of CPU of an ISO, in huge pages 12 (glibc 2.36, measured 2026-11). Other libraries ignore this.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
# Power Off is the only sign of a finished installation that needs no network on the host. The script must not wait
# for it, because systemd waits for the script (it came before the reboot unit in 19 of 19 installations, 2026-11).
POWER_OFF = "#!/bin/sh\nexec systemctl --no-block poweroff\n"

Patch = tuple[int, bytes]
"""Offset in the base, and the bytes that replace those of the base there."""


@dataclass(frozen=True)
class Iso:
    """A boot ISO, as a base and patches."""

    base: Path
    size: int
    patches: tuple[Patch, ...]
    """In ascending order, without overlaps."""
    sha256: str
    """Digest over the base's digest and the patches, which names the ISO."""
    live: LiveFiles | None = None
    """What of it the network serves. None: it was not made for that, or has no live system."""

    def url_path(self, host: str) -> str:
        """Return the path of the host's ISO in the URL of a server. It cannot be guessed without the ISO itself."""
        return f"{self.folder(host)}.iso"

    def folder(self, host: str) -> str:
        """Return the path of the folder with the files inside the host's ISO, which is as hard to guess."""
        return f"{self.sha256}/{host}"

    def write(self, path: Path) -> None:
        """Write the whole ISO, readable by its owner only. On an error, write nothing.

        Raises:
            OSError: It cannot be written.
        """
        with replaced(path) as iso:
            _copy(self.base, iso)
            for offset, content in self.patches:
                _overwrite(iso, offset, content)


def names_boot_iso(text: str, host: str) -> bool:
    """Whether `text` names a boot ISO of the host, whatever its digest. A BMC may write more around its path."""
    return re.search(rf"(?<![0-9a-f])[0-9a-f]{{64}}/{re.escape(host)}\.iso(?!\w)", text) is not None


class IsoMaker:
    """Maker of the boot ISOs of one base; several threads may use it.

    The tool customizes a copy of the base in place, and the maker reads only the copy's embed area back. The maker
    verifies once that the tool writes nowhere else: with the area restored, the copy has the base's digest. It
    restores the area after each host, so no ISO holds bytes of another host's. The copy has no name, so it ends with
    the process.

    Args:
        base: A CoreOS live ISO. Its folder must have room for a copy.
        sha256: The digest that the base must have.
        coreos_installer: Path of the tool.
        architecture: The architecture of the servers that boot the ISOs.

    Raises:
        BootMediaError: The base has another digest or architecture, its folder has no room, or the tool fails.
    """

    def __init__(
        self, base: Path, sha256: str, coreos_installer: Path, architecture: Architecture = Architecture.AMD64
    ) -> None:
        self._base, self._sha256, self._tool = base, sha256, coreos_installer
        self._option = architecture.option
        self._lock = threading.Lock()
        with ExitStack() as undo:
            try:
                self._work = undo.enter_context(tempfile.TemporaryFile(dir=base.parent))
                self._size = _copy(base, self._work)
            except OSError as error:
                raise _without_room(base, error) from None
            self._live_config = undo.enter_context(in_memory(json.dumps(LIVE_CONFIG).encode()))
            self._offset, length = self._embed_area()
            self._free = os.pread(self._work.fileno(), length, self._offset)
            self._patches(TRIAL, {}, disk_script({}, ""))
            self._compare()
            if fault := another_architecture(base, architecture_of(self._work), architecture):
                raise BootMediaError(fault.what, where=fault.where, fix=fault.fix)
            self._undo = undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the copy."""
        self._undo.close()

    def make(
        self,
        *,
        ignition: bytes,
        keyfiles: Mapping[str, str],
        choose_disk: str,
        over_network: bool = False,
    ) -> Iso:
        """Return a host's boot ISO: it chooses the disk, installs to it with `ignition`, then powers the host off.

        Args:
            ignition: Config that the installed system applies on its first boot. A secret, never written to a disk.
            keyfiles: NetworkManager's, text by file name, for the live and the installed system. Secrets, too.
            choose_disk: The script of `disk_script`.
            over_network: Whether the host boots the files inside the ISO from the network.

        Raises:
            BootMediaError: The tool fails.
        """
        with self._lock:
            patches = self._patches(ignition, keyfiles, choose_disk)
            live = self._live if over_network else None
        digest = hashlib.sha256(self._sha256.encode())
        for offset, content in patches:
            digest.update(f"\n{offset} {len(content)}\n".encode() + content)
        return Iso(self._base, self._size, patches, digest.hexdigest(), live)

    def _patches(self, ignition: bytes, keyfiles: Mapping[str, str], choose_disk: str) -> tuple[Patch, ...]:
        # Few system calls: with many hosts, each call waits for the threads that talk to BMCs.
        try:
            with ExitStack() as undo:
                # The tool takes names from paths, so a link has each: a kill leaves links to files that are gone.
                folder = undo.enter_context(tempfile.TemporaryDirectory(prefix="okd-baremetal-"))
                texts = {SCRIPT_NAME: choose_disk, "poweroff.sh": POWER_OFF, **keyfiles}
                named = {name: undo.enter_context(in_memory(text.encode())) for name, text in texts.items()}
                for name, file in named.items():
                    Path(folder, name).symlink_to(path_of(file))
                config = undo.enter_context(in_memory(ignition))
                command: list[str | Path] = ["customize", "--dest-ignition", path_of(config)]
                # The unit that runs a script has the name of its file.
                command += ["--pre-install", Path(folder, SCRIPT_NAME), "--post-install", Path(folder, "poweroff.sh")]
                command += ["--live-ignition", path_of(self._live_config)]
                for name in keyfiles:
                    command += ["--network-keyfile", Path(folder, name)]
                self._run("iso", *command, open_files=[config, self._live_config, *named.values()])
            after = os.pread(self._work.fileno(), len(self._free), self._offset)
        finally:
            try:
                _overwrite(self._work, self._offset, self._free)
            except OSError as error:
                raise _without_room(self._base, error) from None
        if after == self._free:
            what = f"wrote nothing into the embed area of {self._base}"
            raise BootMediaError(what, where=str(self._tool), fix=INSTALL_VERSION)
        return tuple(_differences(self._offset, self._free, after))

    @cached_property
    def _live(self) -> LiveFiles | None:
        """What of each ISO the network serves. A virtual CD does not need what cannot be read here."""
        embed_area = self._offset, self._offset + len(self._free)
        return live_files(self._work, embed_area, self._run("iso", "kargs", "show").decode())

    def _embed_area(self) -> tuple[int, int]:
        """Return offset and length of the area that the tool may write."""
        answer = self._run("dev", "show", "iso", "--ignition")
        try:
            area = json.loads(answer)
            return int(area["offset"]), int(area["length"])
        except MISSHAPEN:
            what = "does not report where the embed area is (`dev show iso --ignition`)"
            raise BootMediaError(what, where=str(self._tool), fix=INSTALL_VERSION) from None

    def _compare(self) -> None:
        """Verify that the copy equals the base again, and that the base has the wanted digest."""
        if _sha256(path_of(self._work)) == self._sha256:
            return
        if (actual := _sha256(self._base)) != self._sha256:
            what = f"sha256 is {actual}, the stack wants {self._sha256} ({self._option}.sha256)"
            raise BootMediaError(
                what, where=str(self._base), fix=f"remove the file; the next run fetches {self._option}.url"
            )
        what = f"wrote outside the embed area of {self._base}"
        raise BootMediaError(what, where=str(self._tool), fix=INSTALL_VERSION)

    def _run(self, *words: str | Path, open_files: Sequence[IO[bytes]] = ()) -> bytes:
        """Run the tool on the copy, and return its standard output."""
        command = [self._tool, *words, path_of(self._work)]
        inherited = [file.fileno() for file in (self._work, *open_files)]
        with in_memory() as output, in_memory() as errors:
            try:
                code = subprocess.call(  # noqa: S603
                    command, stdout=output, stderr=errors, pass_fds=inherited, env=os.environ | HUGE_PAGES
                )
            except OSError as error:
                what = f"cannot be run ({error.strerror})"
                raise BootMediaError(what, where=str(self._tool), fix=BUILD) from None
            if code:
                text = " ".join(os.pread(errors.fileno(), CHUNK, 0).decode(errors="replace").split())
                what = f"refused by coreos-installer: {text[:400]}"
                raise BootMediaError(what, where=str(self._base), fix=f"correct what it names; {LIVE_ISO}")
            return os.pread(output.fileno(), CHUNK, 0)


def _differences(offset: int, before: bytes, after: bytes) -> Iterator[Patch]:
    """Yield the blocks of `after` that differ from `before`, adjacent ones joined. Both start at `offset`."""
    starts = range(0, len(before), BLOCK)
    for differs, group in groupby(starts, lambda at: before[at : at + BLOCK] != after[at : at + BLOCK]):
        if differs:
            blocks = list(group)
            yield offset + blocks[0], after[blocks[0] : blocks[-1] + BLOCK]


def _without_room(base: Path, error: OSError) -> BootMediaError:
    what = f"cannot be copied into its folder ({error.strerror})"
    return BootMediaError(what, where=str(base), fix="free room there")


def _copy(source: Path, target: IO[bytes]) -> int:
    """Copy `source`, and return its size. The copy is free on a file system that shares blocks."""
    with source.open("rb") as file:
        while os.copy_file_range(file.fileno(), target.fileno(), COPY_AT_ONCE):
            pass
        return os.lseek(file.fileno(), 0, os.SEEK_CUR)


def _overwrite(file: IO[bytes], offset: int, content: bytes) -> None:
    """Write all of the bytes: `os.pwrite` ends without an error when a full disk has taken a part of them.

    Also what is there already needs room where files share their blocks, as `_copy` has them.
    """
    file.seek(offset)
    file.write(content)
    file.flush()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
