"""Installs the hosts that an `InstallationPlan` names."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from base.clock import SYSTEM_CLOCK, utc_now
from base.errors import ConfigError, EngineGoneError, Fault, OkdBaremetalError, SnapshotError
from boot_media.host_isos import IsoMedia
from payload.kubeconfig import Kubeconfig, needed, read_kubeconfig
from providers.etcd.snapshot import EtcdSnapshots
from providers.host_provisioning import composition
from providers.host_provisioning.departure import Departure
from providers.host_provisioning.etcd_guard import IN_PRODUCTION, ONE_EACH
from providers.host_provisioning.installation.engine import Installation
from providers.host_provisioning.installation.scheduler import install_all
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec, InstallationRecord
from providers.host_provisioning.records import (
    InstallationPlan,
    InstalledHost,
    fenced_fault,
    leaving_hosts,
    not_installed,
    not_taken_out,
)
from providers.host_provisioning.removal import Removal
from providers.joining.approvals import Joining
from providers.node_joining import joining_of
from providers.pulumi import plugin
from providers.pulumi.workers import by_host
from providers.registered import let_go


def provision(spec: HostProvisioningSpec, plan: InstallationPlan) -> HostProvisioningOuts:
    """Install the pending hosts, and return the new outputs.

    Raises:
        OkdBaremetalError: Nothing was touched: an input file is missing, etcd counts on a host, or was not saved.
        ProvisioningError: At least one host failed; the next run finds the others installed.
    """
    if not plan.pending:
        return plan.carried
    _refuse_mix_ups(plan)
    recipe, kubeconfig = composition.recipe_of(spec), read_kubeconfig(spec.stack)
    plan = replace(plan, adopted=_adopted(spec, plan, kubeconfig))
    departures = _departures(spec, plan, kubeconfig)
    if plan.saves_etcd(spec):
        _save_etcd(spec)
    joining = _joining(spec, plan, kubeconfig) if kubeconfig else None
    missing = composition.missing_of(spec, recipe, kubeconfig, joining)
    with composition.image_server_of(spec) as server, IsoMedia(server, recipe, plugin.row(spec.urn)) as media:
        installations = composition.installations_of(spec, plan, media, missing, joining)
        for name, departure in departures.items():
            installations[name].adapters = composition.leaving(installations[name].adapters, departure, joining)
        failed = install_all(installations, clock=SYSTEM_CLOCK)
    if failed:
        raise not_installed(spec, failed, plan.reinstall.keys() - failed.keys())
    return plan.outputs(_results(spec, installations), joining.approved if joining else {})


def _joining(spec: HostProvisioningSpec, plan: InstallationPlan, kubeconfig: Kubeconfig) -> Joining:
    together = plan.joining if spec.out_of_etcd else ()
    return joining_of(spec, kubeconfig, together=together, replaced=plan.replaced)


def take_out(old: HostProvisioningSpec, new: HostProvisioningSpec) -> None:
    """Take the hosts that have left the install-config out of the cluster, side by side, and say so in this process.

    Raises:
        ProvisioningError: At least one is not out; the others are, and the next run finds them so.
    """
    if not (leaving := leaving_hosts(old, new)):
        return
    kubeconfig = needed(new.stack, read_kubeconfig(new.stack), "platform.baremetal.hosts", removable=False)
    removals = {name: composition.removal_of(old, new, kubeconfig, name) for name in leaving}
    answers = by_host(leaving, lambda name: _taken_out(removals[name]))
    let_go(name for name, error in answers.items() if error is None)
    if failed := {name: error for name, error in answers.items() if error}:
        raise not_taken_out(new, failed, len(leaving))


def _taken_out(removal: Removal) -> OkdBaremetalError | None:
    try:
        removal.take_out()
    except EngineGoneError:
        raise
    except OkdBaremetalError as error:
        return error
    return None


def _save_etcd(spec: HostProvisioningSpec) -> None:
    snapshots = EtcdSnapshots.of(spec.stack, spec.api_name, spec.api_vip, spec.snapshots, plugin.row(spec.urn))
    try:
        snapshots.take()
    except SnapshotError as error:
        what, details = error.fault.what, error.fault.details
        fix = f"{error.fault.fix}; to have `pulumi up` go on without a snapshot, remove the option `snapshots`"
        raise SnapshotError(what, where=error.fault.where, fix=fix, details=details) from None


def _refuse_mix_ups(plan: InstallationPlan) -> None:
    """Return if no host is the machine that another one is recorded as; `Machines` has refused what it could see."""
    if plan.mixed_up:
        raise ConfigError(*(_mix_up(plan, host, owner) for host, owner in plan.mixed_up.items()))


def _mix_up(plan: InstallationPlan, host: str, owner: str) -> Fault:
    fix = "give each host the bmc.address and the consent of its own machine"
    if owner not in plan.hosts:
        fix = f"keep the name {owner}; or remove {host} in one `pulumi up`, and add it in a later one"
    return Fault(host, f"its machine is installed as {owner}", fix)


def _adopted(spec: HostProvisioningSpec, plan: InstallationPlan, kubeconfig: Kubeconfig | None) -> frozenset[str]:
    """Return the hosts that are not touched, see `InstallationPlan.adopted`."""
    if spec.fenced:
        known = needed(spec.stack, kubeconfig, "controlPlane.fencing", removable=False)
        return frozenset(plan.pending if composition.quorum_of(spec, known).fences() else ())
    joining = plan.joining if spec.out_of_etcd else ()  # in phase bootstrap, no other check keeps them from a wipe
    asked = (*plan.replaced, *joining) if spec.role.holds_etcd else ()
    runs = by_host(asked, lambda name: composition.runs_from_disk(spec, kubeconfig, name))
    return frozenset(name for name, is_running in runs.items() if is_running)


def _departures(
    spec: HostProvisioningSpec, plan: InstallationPlan, kubeconfig: Kubeconfig | None
) -> dict[str, Departure]:
    """Return by host how it leaves etcd before it is wiped again, by whatever option, once etcd can do without it.

    One that joins in production leaves it, too: it has no part in it, unless an earlier run was interrupted.
    """
    again = sorted({*plan.reinstall, *plan.replaced}) if spec.role.holds_etcd else []
    _refuse_together(spec, plan, again)
    departures = dict[str, Departure]()
    if not spec.out_of_etcd:
        servers = {name: spec.hosts[name].addresses for name in again if name not in plan.adopted}
        if servers and kubeconfig:  # OKD writes one with each payload; without it, this is no OKD
            composition.quorum_of(spec, kubeconfig).refuse_members(servers)
        return departures
    for name in (*again, *plan.joining):
        if name in plan.adopted:
            if kubeconfig and not spec.fenced:
                departures[name] = composition.departure_of(spec, kubeconfig, name)  # up, too, once it is a member
            continue
        known = needed(spec.stack, kubeconfig, f"{plan.option_of(name)}.{name}")
        if name in plan.joining:
            composition.control_plane_of(spec, known).prove(name)
        departures[name] = composition.departure_of(spec, known, name)
        departures[name].prove()
    return departures


def _refuse_together(spec: HostProvisioningSpec, plan: InstallationPlan, again: Sequence[str]) -> None:
    """Return if what is wiped again is no more than one server with a copy of etcd, and none that is fenced."""
    if spec.fenced and again:
        raise ConfigError(*(fenced_fault(plan.option_of(name), name) for name in again))
    if spec.out_of_etcd and len(again) > 1:
        fix = f"{ONE_EACH}{IN_PRODUCTION}"
        raise ConfigError(Fault("hosts", f"{' and '.join(again)} hold copies of etcd", fix))


def _results(spec: HostProvisioningSpec, installations: Mapping[str, Installation]) -> dict[str, InstalledHost]:
    at = utc_now()
    return {
        name: InstalledHost(
            record=InstallationRecord(uuid=spec.identity_of(name).own, iso_sha256=done.iso_sha256, at=at),
            disk=done.disk,
            steps=done.seconds,
            requests=done.adapters.bmc.requests,
            vrrp=spec.vrrp.get(name) if done.iso_sha256 else None,
        )
        for name, done in installations.items()
    }
