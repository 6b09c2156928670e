"""Pulumi's calls for `HostProvisioning`."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from pulumi.dynamic import DiffResult

from base import lock, log
from base.errors import Fault, OkdBaremetalError
from providers.host_provisioning import records
from providers.host_provisioning.composition import bmc_of
from providers.host_provisioning.installation.scheduler import THREADS
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec
from providers.host_provisioning.provision import provision
from providers.host_provisioning.records import InstallationPlan
from providers.pulumi import plugin
from providers.pulumi.dynamic import Props, Provider
from wires.redfish.bmc import Power


class HostProvisioningProvider(Provider[HostProvisioningSpec, HostProvisioningOuts]):
    """Create and update install the hosts without a record; a host with one is touched only by `reinstall`."""

    def diff(self, _id: str, _olds: Props, _news: Props) -> DiffResult:
        """Name in the preview the hosts whose disks the change wipes, and those that it does not touch."""
        old, new = self.known_spec(_olds), self.known_spec(_news)
        if old and new:
            for line in records.notes(old, self.outs_of(_olds), new):
                plugin.notes(new.urn)(line)
        return super().diff(_id, _olds, _news)

    def _faults(self, old: HostProvisioningSpec | None, new: HostProvisioningSpec) -> Iterator[Fault]:
        yield from records.faults(old, new)

    def _create(self, spec: HostProvisioningSpec) -> tuple[str, HostProvisioningOuts]:
        plan = InstallationPlan.of(None, HostProvisioningOuts(), spec)
        return f"{spec.stack}-{spec.role.value}", provision(spec, plan)

    def _update(
        self, old: HostProvisioningSpec, outs: HostProvisioningOuts, new: HostProvisioningSpec
    ) -> HostProvisioningOuts:
        return provision(new, InstallationPlan.of(old, outs, new))

    def _read(self, spec: HostProvisioningSpec, outs: HostProvisioningOuts) -> HostProvisioningOuts | None:
        """Warn of installed hosts that are off; `BmcHost` does not know that they should run."""
        installed = [name for name in spec.hosts if name in outs.installed]
        contexts = [copy_context() for _ in installed]
        with ThreadPoolExecutor(THREADS) as pool:
            powers = list(pool.map(lambda context, name: context.run(_power, spec, name), contexts, installed))
        if off := [name for name, power in zip(installed, powers, strict=True) if power is Power.OFF]:
            plugin.warnings(spec.urn)(f"installed, but off: {', '.join(off)}")
        return outs


def _power(spec: HostProvisioningSpec, name: str) -> Power | None:
    """Return the host's power state, or None if it cannot be read; the refresh of its `BmcHost` reports why."""
    log.about(name)
    bmc = bmc_of(spec, name)
    try:
        with lock.held(bmc.url):
            return bmc.power()
    except OkdBaremetalError:
        return None
    finally:
        bmc.close()
