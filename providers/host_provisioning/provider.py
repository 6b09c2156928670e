"""Pulumi's calls for `HostProvisioning`."""

from collections.abc import Iterable, Iterator

from assets.contract import ETCD_PORT, KUBELET_PORT
from base.errors import ConfigError, Fault, OkdBaremetalError
from providers.asleep import STACK
from providers.host_provisioning import records
from providers.host_provisioning.composition import locked_bmc, mark_of
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec
from providers.host_provisioning.provision import provision, take_out
from providers.host_provisioning.records import InstallationPlan
from providers.pulumi import plugin
from providers.pulumi.dynamic import Provider
from providers.pulumi.workers import by_host
from wires.bmc.client import Power
from wires.shown_certificate import expiry_warning


class HostProvisioningProvider(Provider[HostProvisioningSpec, HostProvisioningOuts]):
    """Create and update install the hosts without a record; a host with one is touched only by `reinstall`."""

    def _plan(self, old: HostProvisioningSpec, outs: HostProvisioningOuts, new: HostProvisioningSpec) -> None:
        """Name in the preview the hosts whose disks the change wipes, and those that it does not touch."""
        if faults := [*records.planned_faults(InstallationPlan.of(old, outs, new), old, new)]:
            raise ConfigError(*faults)
        for line in records.notes(old, outs, new):
            plugin.notes(new.urn)(line)

    def _faults(self, old: HostProvisioningSpec | None, new: HostProvisioningSpec) -> Iterator[Fault]:
        yield from records.faults(old, new)

    def _create(self, spec: HostProvisioningSpec) -> tuple[str, HostProvisioningOuts]:
        plan = InstallationPlan.of(None, HostProvisioningOuts(), spec)
        return f"{spec.stack}-{spec.role.value}", provision(spec, plan)

    def _update(
        self, old: HostProvisioningSpec, outs: HostProvisioningOuts, new: HostProvisioningSpec
    ) -> HostProvisioningOuts:
        take_out(old, new)
        _forget(old, old.hosts.keys() - new.hosts.keys())
        return provision(new, InstallationPlan.of(old, outs, new))

    def _delete(self, spec: HostProvisioningSpec, outs: HostProvisioningOuts) -> None:
        """Forget the installations: the next `up` wipes these servers."""
        _forget(spec, spec.hosts.keys())

    def _read(self, spec: HostProvisioningSpec, outs: HostProvisioningOuts) -> HostProvisioningOuts | None:
        """Warn of installed hosts that are off, unless the cluster sleeps: `BmcHost` does not know what is to run."""
        installed = [name for name in spec.hosts if name in outs.installed]
        powers = by_host([] if STACK.sleeps else installed, lambda name: _power(spec, name))
        if off := [name for name, power in powers.items() if power is Power.OFF]:
            plugin.warnings(spec.urn)(f"installed, but off: {', '.join(off)}")
        for line in filter(None, by_host(installed, lambda name: _expiry(spec, name)).values()):
            plugin.warnings(spec.urn)(line)
        return outs


def _forget(spec: HostProvisioningSpec, hosts: Iterable[str]) -> None:
    for name in hosts:
        mark_of(spec, name).remove()


def _expiry(spec: HostProvisioningSpec, name: str) -> str | None:
    """Return the line on a host's certificate that expires soon, of its kubelet, else its etcd. None: none does."""
    ports = {"kubelet": KUBELET_PORT, "etcd": ETCD_PORT} if spec.role.holds_etcd else {"kubelet": KUBELET_PORT}
    lines = ((what, expiry_warning(spec.hosts[name].address, port)) for what, port in ports.items())
    return next((f"{name}: the certificate of its {what} {soon}" for what, soon in lines if soon), None)


def _power(spec: HostProvisioningSpec, name: str) -> Power | None:
    """Return the host's power state, or None if it cannot be read; the refresh of its `BmcHost` reports why."""
    try:
        with locked_bmc(spec, name) as bmc:
            return bmc.power()
    except OkdBaremetalError:
        return None
