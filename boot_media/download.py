"""Downloads a base image into the cache, under its digest."""

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

from base.errors import BootMediaError, word
from base.files import replaced
from base.http_client import os_error, pool_for
from base.progress import Progress, Report
from boot_media.base_image import NAMES, base_path

CHUNK = 1024 * 1024
STALL_S = 60.0
"""Limit of connect, and of each wait for the next bytes."""
_lock = threading.Lock()
"""Two roles that are installed at once have the same image: one of them fetches it, the other waits."""
SCHEMES = ("https://", "http://", "file://")


def ensure_base(option: str, sha256: str, url: str, report: Report) -> Path:
    """Return the path of the image in the cache; download it if it is missing.

    Args:
        option: The option that names its source: one of `ISO_URLS`, or `DISK_SOURCE`.
        sha256: Its digest, which is also its name in the cache.
        url: Its source (http, https or file). If empty, the cache must have it.
        report: Called with a line per 10 % of the download.

    Raises:
        BootMediaError: It is missing, cannot be downloaded, or has another digest.
    """
    with _lock:
        return _ensured(option, base_path(sha256), sha256, url, report)


def _ensured(option: str, path: Path, sha256: str, url: str, report: Report) -> Path:
    if path.exists():
        return path
    if not url:
        raise BootMediaError(f"no such {NAMES[option]}", where=str(path), fix=f"put it there, or set {option}")
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path.parent)
        with replaced(path, 0o644) as part:
            got = _download(option, url, path, part, report)
            if got.sha256 != sha256:
                raise BootMediaError(
                    f"sha256 is {got.sha256}, the stack wants {sha256}", where=url, fix=got.fix(option, url)
                )
    return path


@dataclass(frozen=True)
class _Download:
    """A download that came to its end."""

    sha256: str
    size: int
    """Bytes received."""
    announced: bool
    """Whether the server named the length before, so that a shorter download is an error."""

    def fix(self, option: str, url: str) -> str:
        """Return what helps if the digest is another one than the stack's."""
        pin = f"{option.rpartition('.')[0]}.sha256"
        fix = f"set {pin} to it if {url} has the right image; else correct {option}"
        again = (
            f"the server names no length, and may have sent only the first {self.size:,} bytes: run the same command"
        )
        return fix if self.announced else f"{again} again; if the digest is the same then, {fix}"


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn an error of the cache into one line."""
    try:
        yield
    except OSError as error:
        what = f"cannot be written ({error.strerror})"
        fix = f"`df -h {word(path.parent)}` and `ls -ld {word(path.parent)}` show whether room or rights are missing"
        raise BootMediaError(what, where=str(path), fix=fix) from None


def _remove_leftovers(folder: Path) -> None:
    """Remove the parts of downloads that were killed; one that is at work writes at least every `STALL_S`."""
    for part in folder.glob(f".{'[0-9a-f]' * 64}-*"):
        with suppress(FileNotFoundError):
            if time.time() - part.stat().st_mtime > 2 * STALL_S:
                part.unlink()


def _download(option: str, url: str, path: Path, part: IO[bytes], report: Report) -> _Download:
    """Copy `url` into `part`, which becomes `path`."""
    if not url.startswith(SCHEMES):
        raise BootMediaError("unknown scheme", where=url, fix=f"start {option} with one of {', '.join(SCHEMES)}")
    digest, done, reported, total = hashlib.sha256(), 0, 0, 0
    try:
        for chunk, total in _file(url) if url.startswith("file:") else _http(url):
            digest.update(chunk)
            done += len(chunk)
            with _writing(path):
                part.write(chunk)
            if total and done * 10 // total > reported:
                reported = done * 10 // total
                report(Progress(NAMES[option], f"{done // CHUNK:,} of {total // CHUNK:,} MiB"))
    except OSError as error:
        what = f"cannot be downloaded ({error.strerror or error})"
        raise BootMediaError(what, where=url, fix=f"correct {option}, or save the image as {path}") from None
    return _Download(digest.hexdigest(), done, bool(total))


def _file(url: str) -> Iterator[tuple[bytes, int]]:
    """Yield each chunk of a file, with the file's length."""
    path = Path(unquote(urlsplit(url).path))
    with path.open("rb") as file:
        total = path.stat().st_size
        while chunk := file.read(CHUNK):
            yield chunk, total


def _http(url: str) -> Iterator[tuple[bytes, int]]:
    """Yield each chunk of what the server sends, with the length of the whole (0: unknown).

    Raises:
        OSError: The server gives no such answer.
        BootMediaError: The answer breaks off.
    """
    from urllib3.exceptions import HTTPError  # noqa: PLC0415  (a preview downloads nothing)

    try:
        with pool_for(url, STALL_S) as pool:
            answer = pool.request("GET", url, preload_content=False)
            if answer.status != HTTPStatus.OK:
                raise ConnectionError(f"HTTP {answer.status}")
            total = answer.length_remaining or 0
            try:
                while chunk := answer.read(CHUNK, decode_content=False):
                    yield chunk, total
            except HTTPError:
                wanted = f"{total:,}" if total else "an unknown number of"
                what = f"the download broke off: received {answer.tell():,} of {wanted} bytes"
                raise BootMediaError(what, where=url, fix="run the same command again") from None
    except HTTPError as error:
        raise os_error(error) from None
