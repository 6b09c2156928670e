"""Findings that several files and volumes of the provisioner share."""

from collections.abc import Iterator
from pathlib import Path

from base.errors import Fault, word
from providers.preflight import Finding
from providers.provisioner_preflight.model import ProvisionerProbe

GIB = 1024**3


def digest_faults(probe: ProvisionerProbe, where: str, path: Path, wanted: str, option: str) -> Iterator[Finding]:
    """Yield a fault if a file has another digest than the option wants, or cannot be read."""
    try:
        digest = probe.sha256(path)
    except OSError as error:
        yield unreadable(where, path, error)
        return
    if digest != wanted:
        pin = f"`pulumi config set --path {option} {word(digest)}`"
        fix = f"put the right one there; or, if this is the right one, {pin}"
        yield Fault(where, f"sha256 is {digest}, {option} wants {wanted}", fix)


def unreadable(where: str, path: Path, error: OSError) -> Fault:
    """Return the fault of a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return Fault(where, "missing", f"put the file at {path}, or correct the option that names it")
    fix = f"`ls -l {word(path)}`, `chmod a+r {word(path)}`, or run as root"
    return Fault(where, f"cannot be read ({error.strerror})", fix)


def too_large(where: str, virtual_size: int, disk_gib: int) -> Fault:
    """Return the fault of an image that is larger than the VM's disk, which would be cut off."""
    least = -(-virtual_size // GIB)
    what = f"its virtual size is {virtual_size / GIB:.2f} GiB, bootstrap.disk_gib only {disk_gib}"
    return Fault(where, what, f"`pulumi config set --path bootstrap.disk_gib {least}`")
