"""Refuses a provisioner or a base image that is not ready, and fetches the image that a URL names."""

from base.progress import Report
from boot_media.base_image import DISK_SOURCE
from boot_media.disk_image import DiskImage
from boot_media.download import ensure_base
from cluster.values.phase import Phase
from providers.preflight import PreflightResult
from providers.provisioner_preflight.engine import check_provisioner, has_base_volume
from providers.provisioner_preflight.image import image_findings, image_path
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.provisioner_preflight.probe import LocalProbe
from wires.libvirt.hypervisor import HostFacts


def checked(
    spec: ProvisionerPreflightSpec, report: Report, *, again: bool = False
) -> tuple[PreflightResult, HostFacts | None]:
    """Check the provisioner; fetch an image that a URL names once all else is ready, and check that, too.

    Args:
        spec: What the cluster needs.
        report: Shows the progress.
        again: Whether an earlier run has found it ready. Then leave out the media port, on which the server of a run
            that was killed may listen some seconds longer.

    Raises:
        BootMediaError: The image cannot be fetched.
        PreflightError: `up` would fail; nothing was touched.
    """
    probe = LocalProbe(report)
    result, facts = check_provisioner(spec, probe, again=again)
    result.refuse()
    uploads = spec.phase is Phase.BOOTSTRAP and spec.image_by_url and not has_base_volume(spec, facts)
    if uploads and not probe.cached(spec.image_sha256).exists():
        ensure_base(DISK_SOURCE, spec.image_sha256, spec.image_source, report)
        result, facts = check_provisioner(spec, probe, again=again)
        result.refuse()
    return result, facts


def provided_image(spec: ProvisionerPreflightSpec, report: Report) -> DiskImage:
    """Fetch the image of a URL if the cache lacks it, and return what the image is.

    Raises:
        BootMediaError: It cannot be fetched.
        PreflightError: The file is not the image that the stack names, or the VM cannot use it.
    """
    probe = LocalProbe(report)
    if spec.image_by_url:
        ensure_base(DISK_SOURCE, spec.image_sha256, spec.image_source, report)
    result = PreflightResult(tuple(image_findings(spec, probe)))
    result.refuse("the base image", "its volume was not made")
    return probe.disk_image(image_path(spec, probe))
