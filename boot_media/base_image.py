"""The cache of base images, each under its digest and downloaded once."""

import hashlib
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from boot_media.tools import cache_dir
from cluster.values.architecture import Architecture
from providers.base.errors import BootMediaError

CHUNK = 1024 * 1024
ISO_URLS = {architecture: f"{architecture.option}.url" for architecture in Architecture}
"""The option that names the source of the base ISO of each architecture."""
DISK_SOURCE = "provisioner.base_image.source"
"""The option that names the source of the bootstrap VM's base image."""
NAMES = {
    ISO_URLS[Architecture.AMD64]: "base ISO",
    ISO_URLS[Architecture.ARM64]: "base ISO of arm64",
    DISK_SOURCE: "base image",
}
"""What an operator calls the image of that option."""
SCHEMES = ("https://", "http://", "file://")


def base_path(sha256: str) -> Path:
    """Return the path in the cache of the image with that digest, whether it exists or not."""
    return cache_dir() / "images" / sha256


def ensure_base(option: str, sha256: str, url: str, report: Callable[[str], None]) -> Path:
    """Return the path of the image in the cache; download it if it is missing.

    Args:
        option: The option that names its source: one of `ISO_URLS`, or `DISK_SOURCE`.
        sha256: Its digest, which is also its name in the cache.
        url: Its source (http, https or file). If empty, the cache must have it.
        report: Called with a line per 10 % of the download.

    Raises:
        BootMediaError: It is missing, cannot be downloaded, or has another digest.
    """
    path = base_path(sha256)
    if path.exists():
        return path
    if not url:
        raise BootMediaError(f"no such {NAMES[option]}", where=str(path), fix=f"put it there, or set {option}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
        try:
            seen = _download(option, url, part, report)
            if seen != sha256:
                pin = f"{option.rpartition('.')[0]}.sha256"
                fix = f"set {pin} to it if {url} has the right image; else correct {option}"
                raise BootMediaError(f"sha256 is {seen}, the stack wants {sha256}", where=url, fix=fix)
            Path(part.name).chmod(0o644)
            Path(part.name).replace(path)
        finally:
            Path(part.name).unlink(missing_ok=True)
    return path


def _download(option: str, url: str, part: IO[bytes], report: Callable[[str], None]) -> str:
    """Copy `url` into `part`, and return its SHA-256."""
    if not url.startswith(SCHEMES):
        raise BootMediaError("unknown scheme", where=url, fix=f"start {option} with one of {', '.join(SCHEMES)}")
    digest, done, reported = hashlib.sha256(), 0, 0
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310  (scheme checked above)
            total = 0
            with suppress(TypeError, ValueError):
                total = int(answer.headers.get("Content-Length"))
            while chunk := answer.read(CHUNK):
                digest.update(chunk)
                part.write(chunk)
                done += len(chunk)
                if total and done * 10 // total > reported:
                    reported = done * 10 // total
                    report(f"{NAMES[option]}: {done // CHUNK:,} of {total // CHUNK:,} MiB")
    except (urllib.error.URLError, OSError) as error:
        what = f"cannot be downloaded ({getattr(error, 'reason', error)})"
        raise BootMediaError(what, where=url, fix=f"correct {option}, or put the image into the cache") from None
    part.flush()
    return digest.hexdigest()
