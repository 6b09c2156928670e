"""The bootstrap VM's base image that pulumi-libvirt uploads: checked here, since the plugin compares nothing."""

from collections.abc import Iterator
from pathlib import Path

from base.errors import Fault, word
from boot_media.base_image import DISK_SOURCE
from boot_media.disk_image import QCOW2, RAW, DiskImage
from providers.preflight import Finding, NotProbed
from providers.provisioner_preflight.findings import GIB, digest_faults, too_large, unreadable
from providers.provisioner_preflight.model import ProvisionerPreflightSpec, ProvisionerProbe

SHA256 = "provisioner.base_image.sha256"
UNPACK = {"gzip": "gunzip", "xz": "unxz", "zstd": "unzstd", "bzip2": "bunzip2", "zip": "unzip"}


def image_path(spec: ProvisionerPreflightSpec, probe: ProvisionerProbe) -> Path:
    """Return the path of the image that the plugin reads: that of the operator, or for a URL that of the cache."""
    return probe.cached(spec.image_sha256) if spec.image_by_url else Path(spec.image_source)


def image_findings(spec: ProvisionerPreflightSpec, probe: ProvisionerProbe) -> Iterator[Finding]:
    """Check the image: its format first, because the digest of a packed image is that of another file."""
    path = image_path(spec, probe)
    where = f"base image {path}" if spec.image_by_url else f"{DISK_SOURCE} {path}"
    try:
        image = probe.disk_image(path)
    except FileNotFoundError as error:
        if spec.image_by_url:
            yield NotProbed(f"base image: not in the cache; {DISK_SOURCE} is fetched once all else is ready")
        else:
            yield unreadable(where, path, error)
    except OSError as error:
        yield unreadable(where, path, error)
    else:
        yield from _faults(spec, probe, where, path, image)


def _faults(
    spec: ProvisionerPreflightSpec, probe: ProvisionerProbe, where: str, path: Path, image: DiskImage
) -> Iterator[Finding]:
    if image.format != QCOW2:
        yield Fault(where, f"its format is {image.format}, wanted {QCOW2}", _converted(spec, path, image.format))
        return
    if image.needs:
        what = f"it needs {image.needs}, and the volume would have this file only"
        yield Fault(where, what, f"name another image in {DISK_SOURCE} and {SHA256}")
        return
    if spec.image_by_url:
        yield from _cached(probe, where, path, spec.image_sha256)
    else:
        yield from digest_faults(probe, where, path, spec.image_sha256, SHA256)
    if image.virtual_size > spec.disk_gib * GIB:
        yield too_large(where, image.virtual_size, spec.disk_gib)


def _converted(spec: ProvisionerPreflightSpec, path: Path, kind: str) -> str:
    unpack = UNPACK.get(kind)
    command = f"unpack it (`{unpack}`)" if unpack else "`qemu-img convert -O qcow2 <it> <new file>`"
    if kind == RAW:
        command += f" if `qemu-img info {word(path)}` shows a disk"
    got = "download it, " if spec.image_by_url else ""
    return f"{got}{command}, then set {DISK_SOURCE} to the new file and {SHA256} to its `sha256sum`"


def _cached(probe: ProvisionerProbe, where: str, path: Path, sha256: str) -> Iterator[Finding]:
    try:
        digest = probe.sha256(path)
    except OSError as error:
        yield unreadable(where, path, error)
        return
    if digest != sha256:
        what = f"sha256 is {digest}, {SHA256} wants the one in its name"
        yield Fault(where, what, f"`rm {word(path)}`; the next `pulumi up` fetches it again")
