"""The images of the rehearsal, built from `lab/guest`: a live ISO, and a disk for the bootstrap VM."""

import hashlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from boot_media.tools import cache_dir
from lab.binaries import GUEST_PROGRAMS
from lab.cache import folder_locked, prune, scratch
from lab.images.containers import RELEASE
from lab.images.disk import DiskParts, build_disk
from lab.images.esp import build_esp
from lab.images.initrd import build_initrd
from lab.images.iso import build_iso
from lab.images.live import build_live
from lab.images.parts import Parts
from lab.images.root import CHRONYD, build_squashfs
from lab.shell import run

_BASE_VOLUME_SIZE = "2G"  # virtual; etcd by itself preallocates 64 MB at a time
_MAX_BUILDS = 2  # disks of a running rehearsal may still be overlays of the previous one


@dataclass(frozen=True)
class Images:
    """Paths of the images."""

    iso: Path
    """Live ISO that coreos-installer customizes; it installs itself onto the disk that a kernel argument names."""
    iso_sha256: str
    base_volume: Path
    """qcow2 disk of the bootstrap VM (Ignition platform `qemu`). Boot only overlays of it."""
    release: str
    """The release image in the guests, by digest."""
    chronyd: Path
    """The guests' chronyd, for the site."""

    @classmethod
    def in_folder(cls, folder: Path) -> "Images":
        """Return the images of a finished build."""
        digest, release = ((folder / name).read_text() for name in ("live.iso.sha256", RELEASE))
        return cls(folder / "live.iso", digest, folder / "base.qcow2", release, folder / CHRONYD)


def ensure_images(report: Callable[[str], None], programs: Sequence[str] = GUEST_PROGRAMS) -> Images:
    """Return the images; build them if the cache has none for the present inputs (35 s; 5 s with cached packages).

    Args:
        report: Called with lines of progress.
        programs: The programs built from source that the guests have.

    Raises:
        LabError: A tool is missing or failed; the cache then holds no half-built image.
    """
    parts = Parts.gather(report, programs)
    target = cache_dir() / "lab" / f"images-{parts.key}"
    if not target.is_dir():
        with folder_locked(target.parent):
            if not target.is_dir():
                _build(parts, target, report)
    return Images.in_folder(target)


def _build(parts: Parts, target: Path, report: Callable[[str], None]) -> None:
    start = time.monotonic()
    report("images: building the guest's root (25 s more when its Debian packages are not in the cache)")
    # Two workers, since the reference machine has two cores.
    with scratch(beside=target) as work, ThreadPoolExecutor(2) as pool:
        squashfs = pool.submit(build_squashfs, parts, work)
        initrd = pool.submit(build_initrd, parts.kernel, work)
        disk_parts = DiskParts(parts.kernel, initrd.result(), squashfs.result(), build_esp(work))
        report(f"images: building the disk and the live ISO, {time.monotonic() - start:.0f} s spent")
        done = work / "done"
        done.mkdir()
        futures = [
            pool.submit(_build_iso, disk_parts, work, done),
            pool.submit(_build_volume, disk_parts, work, done),
        ]
        for future in futures:
            future.result()
        for name in (RELEASE, CHRONYD):
            (work / name).rename(done / name)
        done.rename(target)
    prune(target.parent.glob("images-*"), keep=_MAX_BUILDS)
    report(f"images: built in {time.monotonic() - start:.0f} s")


def _build_iso(parts: DiskParts, work: Path, done: Path) -> None:
    live = build_live(parts, build_disk(parts, "metal", work), work)
    iso = build_iso(live, work).rename(done / "live.iso")
    with iso.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    (done / "live.iso.sha256").write_text(digest)


def _build_volume(parts: DiskParts, work: Path, done: Path) -> None:
    disk, volume = build_disk(parts, "qemu", work), done / "base.qcow2"
    run("qemu-img", "convert", "-O", "qcow2", disk, volume)
    run("qemu-img", "resize", "-q", volume, _BASE_VOLUME_SIZE)
