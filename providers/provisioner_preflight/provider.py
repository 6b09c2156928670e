"""Pulumi's calls for `ProvisionerPreflight`."""

from base.spec import Outs
from boot_media.base_image import DISK_SOURCE
from boot_media.download import ensure_base
from providers.provisioner_preflight.engine import dotted, judge
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.provisioner_preflight.probe import LocalProbe
from providers.pulumi.dynamic import Provider
from providers.pulumi.plugin import row, warnings


class ProvisionerPreflightOuts(Outs):
    """Findings of the preflight."""

    libvirt_version: str | None = None
    """None if the phase needs no libvirt."""
    kvm: bool | None = None
    """Whether the bootstrap VM's host has KVM; None if the phase needs no libvirt."""
    warnings: list[str] = []
    """Findings that did not stop `up`, one line each."""
    unseen: list[str] = []
    """Things that the preflight could not probe, and why."""


class ProvisionerPreflightProvider(Provider[ProvisionerPreflightSpec, ProvisionerPreflightOuts]):
    """Create and update probe, judge and fetch the base image, read probes and warns, delete does nothing."""

    def _create(self, spec: ProvisionerPreflightSpec) -> tuple[str, ProvisionerPreflightOuts]:
        return "provisioner", _judged(spec)

    def _update(
        self, old: ProvisionerPreflightSpec, outs: ProvisionerPreflightOuts, new: ProvisionerPreflightSpec
    ) -> ProvisionerPreflightOuts:
        return _judged(new)

    def _read(self, spec: ProvisionerPreflightSpec, outs: ProvisionerPreflightOuts) -> ProvisionerPreflightOuts:
        warn = warnings(spec.urn)
        verdict, _ = judge(spec, LocalProbe(row(spec.urn)))
        for fault in verdict.faults:
            warn(str(fault))
        return outs


def _judged(spec: ProvisionerPreflightSpec) -> ProvisionerPreflightOuts:
    verdict, facts = judge(spec, LocalProbe(row(spec.urn)))
    verdict.refuse()
    verdict.report(warnings(spec.urn), row(spec.urn))
    if spec.fetches_image:
        ensure_base(DISK_SOURCE, spec.image_sha256, spec.image_source, row(spec.urn))
    return ProvisionerPreflightOuts(
        libvirt_version=dotted(facts.version) if facts else None,
        kvm=facts.kvm if facts else None,
        warnings=verdict.warnings,
        unseen=verdict.unseen,
    )
