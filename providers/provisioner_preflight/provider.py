"""Pulumi's calls for `ProvisionerPreflight`."""

from collections.abc import Iterator

from base.errors import Fault
from cluster.installed import network_faults
from cluster.values.phase import Phase
from providers.provisioner_preflight.engine import check_provisioner, dotted
from providers.provisioner_preflight.model import ProvisionerPreflightOuts, ProvisionerPreflightSpec
from providers.provisioner_preflight.probe import LocalProbe
from providers.provisioner_preflight.ready import checked
from providers.pulumi.dynamic import Provider
from providers.pulumi.plugin import row, warnings

STOP_USING = "stop using them first (docs/how-to/prepare-a-provisioner.md#pulumi-libvirt-is-unmaintained)"


class ProvisionerPreflightProvider(Provider[ProvisionerPreflightSpec, ProvisionerPreflightOuts]):
    """Create and update check the provisioner and fetch the base image; read only checks and warns."""

    def _faults(self, old: ProvisionerPreflightSpec | None, new: ProvisionerPreflightSpec) -> Iterator[Fault]:
        if old and new.phase is Phase.PRODUCTION:
            yield from network_faults(old.topology, new.topology)
            yield from _moved_pool(old, new)

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


def _moved_pool(old: ProvisionerPreflightSpec, new: ProvisionerPreflightSpec) -> Iterator[Fault]:
    """Yield the changes of a pool that may still be that of a running VM: only a later step of this run ends it."""
    if not (old.manage and new.manage):
        return
    moved = ("provisioner.pool_path", old.pool_path, new.pool_path), ("bootstrap.pool", old.pool, new.pool)
    for option, was, now in moved:
        if was and now != was:  # an older state lacks the folder
            what = f"{now}, but pool and base volume were made with {was}, and would be deleted first"
            yield Fault(option, what, f"write {was}; in production, {STOP_USING}, then make them with the new value")
    if new.libvirt_uri != old.libvirt_uri:  # which may hold a password
        what = "changed, but pool, base volume and networks are on the former host"
        yield Fault("platform.baremetal.libvirtURI", what, f"write the former one; in production, {STOP_USING}")


def _checked(spec: ProvisionerPreflightSpec) -> ProvisionerPreflightOuts:
    result, facts = checked(spec, row(spec.urn))
    result.report(warnings(spec.urn), row(spec.urn))
    return ProvisionerPreflightOuts(
        libvirt_version=dotted(facts.version) if facts else None,
        kvm=facts.kvm if facts else None,
        warnings=result.warnings,
        unseen=result.not_probed,
    )
