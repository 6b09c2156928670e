"""Pulumi's calls for `ProvisionerPreflight`."""

from collections.abc import Iterator

from base.errors import Fault
from boot_media.base_image import DISK_SOURCE
from boot_media.download import ensure_base
from cluster.installed import network_faults
from cluster.options import Phase
from providers.provisioner_preflight.engine import check_provisioner, dotted
from providers.provisioner_preflight.model import ProvisionerPreflightOuts, ProvisionerPreflightSpec
from providers.provisioner_preflight.probe import LocalProbe
from providers.pulumi.dynamic import Provider
from providers.pulumi.plugin import row, warnings


class ProvisionerPreflightProvider(Provider[ProvisionerPreflightSpec, ProvisionerPreflightOuts]):
    """Create and update check the provisioner and fetch the base image; read only checks and warns."""

    def _faults(self, old: ProvisionerPreflightSpec | None, new: ProvisionerPreflightSpec) -> Iterator[Fault]:
        if old and new.phase is Phase.PRODUCTION:
            yield from network_faults(old.topology, new.topology)

    def _create(self, spec: ProvisionerPreflightSpec) -> tuple[str, ProvisionerPreflightOuts]:
        return "provisioner", _checked(spec)

    def _update(
        self, old: ProvisionerPreflightSpec, outs: ProvisionerPreflightOuts, new: ProvisionerPreflightSpec
    ) -> ProvisionerPreflightOuts:
        return _checked(new)

    def _read(self, spec: ProvisionerPreflightSpec, outs: ProvisionerPreflightOuts) -> ProvisionerPreflightOuts:
        warn = warnings(spec.urn)
        result, _ = check_provisioner(spec, LocalProbe(row(spec.urn)))
        for fault in result.faults:
            warn(str(fault))
        return outs


def _checked(spec: ProvisionerPreflightSpec) -> ProvisionerPreflightOuts:
    result, facts = check_provisioner(spec, LocalProbe(row(spec.urn)))
    result.refuse()
    result.report(warnings(spec.urn), row(spec.urn))
    if spec.fetches_image:
        ensure_base(DISK_SOURCE, spec.image_sha256, spec.image_source, row(spec.urn))
    return ProvisionerPreflightOuts(
        libvirt_version=dotted(facts.version) if facts else None,
        kvm=facts.kvm if facts else None,
        warnings=result.warnings,
        unseen=result.not_probed,
    )
