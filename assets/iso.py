"""A host's boot ISO: the base live ISO with one host's Ignition in it, kept as the few bytes that differ.

Made by `coreos-installer iso customize`; it writes into a 256 KiB area that the live ISO keeps free for it, so a
server can answer from base plus patches and store nothing per host.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from assets.errors import AssetError

INSTALLER_VERSION = "0.27.0"
BLOCK = 64 * 1024
CHUNK = 1024 * 1024
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


def customize(
    base: Path, *, ignition: bytes, keyfiles: Mapping[str, str], root_device: str, coreos_installer: Path
) -> Iso:
    """A host's boot ISO: it installs to `root_device` with `ignition`, and powers off.

    Args:
        base: A CoreOS live ISO.
        ignition: What the installed system applies on its first boot; secret, on disk only while the tool runs.
        keyfiles: NetworkManager's, text by file name, for the live system and the installed one; secret as well.
        root_device: Disk that is wiped, as `/dev/…`.
        coreos_installer: The tool.

    Raises:
        AssetError: The tool refuses.
    """
    with tempfile.TemporaryDirectory(prefix="okd-baremetal-") as folder:  # mode 0700
        config = _private(folder, "dest.ign", ignition)
        power_off = _private(folder, "poweroff.sh", POWER_OFF.encode())
        command = [coreos_installer, "iso", "customize", "--dest-ignition", config, "--dest-device", root_device]
        command += ["--post-install", power_off]
        network = Path(folder, "network")
        network.mkdir()
        for name, text in keyfiles.items():
            command += ["--network-keyfile", _private(network, name, text.encode())]
        command += ["-o", "-", base]
        with _running([str(word) for word in command]) as output, base.open("rb") as original:
            base_digest, size, patches = _differences(original, output)
    digest = hashlib.sha256(base_digest)
    for offset, content in patches:
        digest.update(f"\n{offset} {len(content)}\n".encode() + content)
    return Iso(base, size, patches, digest.hexdigest())


def _differences(original: IO[bytes], changed: IO[bytes]) -> tuple[bytes, int, tuple[Patch, ...]]:
    """Digest of the original, size of the changed, and the blocks of it that differ, neighbours joined."""
    digest, offset, found = hashlib.sha256(), 0, list[tuple[int, bytearray]]()
    while block := changed.read(BLOCK):
        before = original.read(BLOCK)
        digest.update(before)
        if block != before:
            if found and found[-1][0] + len(found[-1][1]) == offset:
                found[-1][1].extend(block)
            else:
                found.append((offset, bytearray(block)))
        offset += len(block)
    while rest := original.read(BLOCK):
        digest.update(rest)
    return digest.digest(), offset, tuple((start, bytes(content)) for start, content in found)


@contextmanager
def _running(command: list[str]) -> Iterator[IO[bytes]]:
    """Standard output of a command that must succeed."""
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said)  # noqa: S603
        except OSError as error:
            raise AssetError(f"{command[0]}: cannot be run ({error.strerror})") from None
        with process:
            assert process.stdout is not None  # noqa: S101  (a pipe was asked for)
            try:
                yield process.stdout
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            said.seek(0)
            words = " ".join(said.read(4000).decode(errors="replace").split())
            raise AssetError(f"coreos-installer refuses to customize {command[-1]}: {words[:400]}")


def _private(folder: str | Path, name: str, content: bytes) -> Path:
    path = Path(folder, name)
    with open(path, "xb", opener=lambda file, flags: os.open(file, flags, 0o600)) as file:
        file.write(content)
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
