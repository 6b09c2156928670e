"""A host's boot ISO: the base live ISO with one host's Ignition in it, kept as the few bytes that differ.

Made by `coreos-installer iso customize`; it writes into a 256 KiB area that the live ISO keeps free for it, so a
server can answer from base plus patches and store nothing per host.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import IO, Self

from providers.base.errors import AssetError
from providers.base.memory import in_memory, path_of

INSTALLER_VERSION = "0.27.0"
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


def cache_dir() -> Path:
    """Where downloads and tools are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "okd-baremetal")


def find_tool(name: str, version: str) -> Path:
    """A tool from PATH, or the one that `tools/<name>` built.

    Raises:
        AssetError: There is none.
    """
    built = cache_dir() / f"{name}-{version}" / "bin" / name
    if found := shutil.which(name):
        return Path(found)
    if os.access(built, os.X_OK):
        return built
    raise AssetError(f"{name}: neither on PATH nor at {built}; install the package or run tools/{name}")


def find_installer() -> Path:
    """coreos-installer, see `find_tool`."""
    return find_tool("coreos-installer", INSTALLER_VERSION)


def base_path(sha256: str) -> Path:
    """Where the cache has the base ISO of that digest, when it has it."""
    return cache_dir() / "images" / sha256


def ensure_base(sha256: str, url: str, report: Callable[[str], None]) -> Path:
    """The base ISO in the cache, downloaded once.

    Args:
        sha256: Its digest, which also is its name in the cache.
        url: Where to get it (http, https or file); empty: it must be there.
        report: Takes a line per 10 % of the download.

    Raises:
        AssetError: Not to be had, or another one.
    """
    path = base_path(sha256)
    if path.exists():
        return path
    if not url:
        raise AssetError(f"{path}: no such base ISO; put it there, or set media.base_iso.url")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
        try:
            seen = _download(url, part, report)
            if seen != sha256:
                raise AssetError(f"{url}: sha256 is {seen}, the stack wants {sha256} (media.base_iso.sha256)")
            Path(part.name).chmod(0o644)
            Path(part.name).replace(path)
        finally:
            Path(part.name).unlink(missing_ok=True)
    return path


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
        AssetError: Another base, no room, or the tool refuses.
    """

    def __init__(self, base: Path, sha256: str, coreos_installer: Path) -> None:
        self._base, self._sha256, self._tool = base, sha256, coreos_installer
        self._lock = threading.Lock()
        with ExitStack() as undo:
            try:
                self._work = undo.enter_context(tempfile.TemporaryFile(dir=base.parent))
                self._size = _copy(base, self._work)
            except OSError as error:
                raise AssetError(f"{base}: cannot be copied into its folder ({error.strerror})") from None
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
            AssetError: The tool refuses.
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
            raise AssetError(f"{self._tool}: it has put nothing into the embed area of {self._base}")
        return tuple(_differences(self._offset, self._free, after))

    def _embed_area(self) -> tuple[int, int]:
        """Offset and length of what the tool may write."""
        said = self._run("dev", "show", "iso", "--ignition")
        try:
            area = json.loads(said)
            return int(area["offset"]), int(area["length"])
        except (ValueError, TypeError, KeyError):
            what = "does not say where the embed area is (`dev show iso --ignition`)"
            raise AssetError(f"{self._tool}: {what}; take version {INSTALLER_VERSION}") from None

    def _compare(self) -> None:
        """The copy is the base again, and the base is the wanted one."""
        if _sha256(path_of(self._work)) == self._sha256:
            return
        if (seen := _sha256(self._base)) != self._sha256:
            what = f"sha256 is {seen}, the stack wants {self._sha256} (media.base_iso.sha256); remove the file"
            raise AssetError(f"{self._base}: {what}")
        what = f"wrote beside the embed area of {self._base}; take version {INSTALLER_VERSION}"
        raise AssetError(f"{self._tool}: {what}")

    def _run(self, *words: str | Path, open_files: Sequence[IO[bytes]] = ()) -> bytes:
        """Standard output of the tool, which works on the copy."""
        command = [self._tool, *words, path_of(self._work)]
        kept = [file.fileno() for file in (self._work, *open_files)]
        with in_memory() as said, in_memory() as complaint:
            try:
                code = subprocess.call(command, stdout=said, stderr=complaint, pass_fds=kept)  # noqa: S603
            except OSError as error:
                raise AssetError(f"{self._tool}: cannot be run ({error.strerror})") from None
            if code:
                text = " ".join(os.pread(complaint.fileno(), CHUNK, 0).decode(errors="replace").split())
                raise AssetError(f"coreos-installer refuses to customize {self._base}: {text[:400]}")
            return os.pread(said.fileno(), CHUNK, 0)


def _differences(offset: int, before: bytes, after: bytes) -> Iterator[Patch]:
    """The blocks of `after` that differ, neighbours joined; both begin at `offset`."""
    starts = range(0, len(before), BLOCK)
    for differs, group in groupby(starts, lambda at: before[at : at + BLOCK] != after[at : at + BLOCK]):
        if differs:
            first, *_, last = [*group] * 2
            yield offset + first, after[first : last + BLOCK]


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


def _download(url: str, part: IO[bytes], report: Callable[[str], None]) -> str:
    """Copy `url` into `part`; its digest."""
    if not url.startswith(("https://", "http://", "file://")):
        raise AssetError(f"{url}: media.base_iso.url must start with https://, http:// or file://")
    digest, done, told = hashlib.sha256(), 0, 0
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310  (scheme checked above)
            total = 0
            with suppress(TypeError, ValueError):
                total = int(answer.headers.get("Content-Length"))
            while chunk := answer.read(CHUNK):
                digest.update(chunk)
                part.write(chunk)
                done += len(chunk)
                if total and done * 10 // total > told:
                    told = done * 10 // total
                    report(f"base ISO: {done // CHUNK:,} of {total // CHUNK:,} MiB")
    except (urllib.error.URLError, OSError) as error:
        raise AssetError(f"{url}: cannot be downloaded ({getattr(error, 'reason', error)})") from None
    part.flush()
    return digest.hexdigest()
