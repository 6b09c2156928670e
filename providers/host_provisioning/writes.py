"""What each change of a `HostProvisioning` may write: the rows by which a write plan lists it beforehand."""

from collections.abc import Collection, Iterator

from base.writes import Write
from boot_media.disk import wipe, wipe_stale
from cluster.values.boot_method import SECURE_BOOT, BootMethod
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec, HostSpec
from providers.host_provisioning.records import InstallationPlan, leaving_hosts
from providers.joining.certificates import APPROVAL
from wires.api.resources import EVICTION, NODE_LIST, POD
from wires.api.writes import to_api
from wires.bmc import writes
from wires.bmc.client import CD, HDD, HTTP, ONCE, PXE, SETUP, Power, mode_of
from wires.etcd.writes import folder_of, out_of_etcd, to_folder

TARGETS = {BootMethod.VIRTUAL_CD: CD, BootMethod.IPXE: PXE, BootMethod.UEFI_HTTP: HTTP}


def planned(
    old: HostProvisioningSpec | None,
    outs: HostProvisioningOuts,
    new: HostProvisioningSpec | None,
    other_machines: Collection[str],
) -> Iterator[Write]:
    """Yield what a creation, an update or a deletion may write.

    Args:
        old: The inputs in the state; None for a creation.
        outs: The outputs in the state.
        new: The inputs to come; None for a deletion.
        other_machines: The hosts that may turn out to be other machines, which are then installed.
    """
    if new is None:
        return
    plan = InstallationPlan.of(old, outs, new)
    if old:
        yield from _taken_out(old, new)
    pending = {*plan.pending, *other_machines} & new.hosts.keys()
    if new.snapshots and outs.installed and pending:
        yield to_folder(folder_of(new.stack, new.snapshots))
    for name in sorted({*plan.leaving(new), *({*other_machines} & outs.installed.keys() & {*new.out_of_etcd})}):
        yield out_of_etcd(new.api_name, name)
        yield to_api(new.api_name, f"{NODE_LIST}/{name}", "delete")
    for name in sorted(pending):
        host = new.hosts[name]
        yield wipe(name, host.root_device)
        yield from (wipe_stale(name, disk) for disk in host.wipe_disks)
        yield from (writes.to_bmc(host.bmc.address, action) for action in _installed(name, host))
    if pending and new.approve_certificates:
        yield to_api(new.api_name, APPROVAL.format(""))


def _taken_out(old: HostProvisioningSpec, new: HostProvisioningSpec) -> Iterator[Write]:
    """Yield what takes the servers out of the cluster that have left the install-config."""
    for name in leaving_hosts(old, new):
        yield to_api(new.api_name, f"{NODE_LIST}/{name}")
        yield to_api(new.api_name, POD.format("", "") + EVICTION, "create")
        for action in (writes.SHUT_DOWN, writes.power(Power.OFF)):
            yield writes.to_bmc(old.hosts[name].bmc.address, action)
        yield to_api(new.api_name, f"{NODE_LIST}/{name}", "delete")


def _installed(name: str, host: HostSpec) -> Iterator[str]:
    """Yield what installs a server: each step may be repeated, and is in another order after an interruption."""
    method = host.bmc.boot_method
    yield from (writes.power(Power.OFF), writes.power(Power.ON))
    yield writes.override(TARGETS[method], ONCE)
    if method is BootMethod.VIRTUAL_CD:
        yield from (writes.ENABLE_MEDIA, writes.TRUST, writes.insert(f"{name}.iso"), writes.EJECT)
    yield writes.boot_mode(mode_of(host.bmc.boot_mode))
    if host.bmc.boot_mode == SECURE_BOOT:
        yield writes.secure_boot(enabled=True)
    yield writes.override(SETUP, ONCE)  # in which the firmware applies a boot mode or Secure Boot
    yield from (writes.override(HDD, ONCE), writes.NO_OVERRIDE)
