"""Decides from inputs and records which hosts an update installs, leaves untouched or refuses."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Self

from base.errors import Fault, OkdBaremetalError, ProvisioningError
from cluster.values.role import Role
from cluster.values.snapshots import store_of
from providers.host_provisioning.model import (
    HostProvisioningOuts,
    HostProvisioningSpec,
    InstallationRecord,
    VrrpNode,
)
from providers.joining.certificates import Approval
from providers.registered import NEW_VM_FIX, gets_new_vm
from wires.bmc.client import spellings
from wires.bmc.identity import UNIDENTIFIED, is_one_machine, is_shared, named

THREE = 3
"""Servers of the control plane to which OKD has one grow, with no way back (mutable-topology.md, 1313bd47)."""
UNLISTED_FIX = (
    "remove it; or lower the replicas to make it a spare, which can join once those were installed again beside it "
    "(docs/how-to/grow-and-shrink.md)"
)

LONE_FIX = (
    "set controlPlane.replicas back to 1, and leave it a spare: the server with etcd's only member cannot be "
    "installed again beside it; for three, destroy the cluster, and install it with its spares"
)


@dataclass(frozen=True)
class InstalledHost:
    """What an update records of a host that it has installed."""

    record: InstallationRecord
    disk: str
    """The disk that the host chose; empty if it could not send it."""
    steps: dict[str, float]
    """Seconds spent in each step."""
    requests: int
    """Number of requests sent to the BMC."""
    vrrp: VrrpNode | None = None
    """What its keepalived.conf says; None if it was adopted."""


@dataclass(frozen=True)
class InstallationPlan:
    """Which hosts of a role an update installs, and which outputs it carries forward."""

    hosts: tuple[str, ...]
    """All hosts of the role."""
    carried: HostProvisioningOuts
    """The earlier outputs of the hosts that are installed: those that are still wanted and still the same machine."""
    reinstall: Mapping[str, str]
    """The installed hosts to wipe, with the UUID or serial of each."""
    replaced: tuple[str, ...]
    """The hosts that were installed, and are other machines now."""
    mixed_up: Mapping[str, str]
    """The hosts whose machines are recorded as other hosts, with the names of these."""
    changes_iso: bool
    """Whether the boot ISOs of hosts that are installed later differ from those before the update."""
    adopted: Set[str] = frozenset()
    """The hosts that are only adopted: replaced and joining ones that run from their disks, as an earlier run has
    installed them; and servers that fence each other, once they run etcd."""

    @classmethod
    def of(cls, old: HostProvisioningSpec | None, outs: HostProvisioningOuts, new: HostProvisioningSpec) -> Self:
        """Decide what an update from `old`, with outputs `outs`, does; without `old`, what the first `up` does."""
        recorded = [host for host in outs.installed if host in new.hosts]
        installed = {host for host in recorded if _is_recorded(old, outs, new, host)}
        replaced = tuple(host for host in recorded if host not in installed)
        reinstall = {host: who for host, who in newly_listed(old, new).items() if host in installed}
        owners = {it: host for host, record in outs.installed.items() for it in spellings(record.uuid)}
        mixed_up = {
            host: owners[it]
            for host in new.hosts
            for it in spellings(new.identity_of(host).own)
            if owners.get(it, host) != host
        }
        changes_iso = old is not None and old.into_iso != new.into_iso
        return cls(tuple(new.hosts), outs.of_hosts(installed), reinstall, replaced, mixed_up, changes_iso)

    @property
    def pending(self) -> tuple[str, ...]:
        """The hosts to install."""
        return tuple(host for host in self.hosts if host in self.reinstall or host not in self.carried.installed)

    def option_of(self, host: str) -> str:
        """Return the option whose line allows a host's disk to be wiped: `reinstall` or `consent`."""
        return "reinstall" if host in self.reinstall else "consent"

    @property
    def without_record(self) -> tuple[str, ...]:
        """The hosts to install for the first time, or as another machine than the recorded one."""
        return tuple(host for host in self.pending if host not in self.reinstall)

    @property
    def joining(self) -> tuple[str, ...]:
        """The hosts that are added to others of their role, which run."""
        return tuple(host for host in self.without_record if host not in self.replaced) if self._runs else ()

    @property
    def untouched(self) -> tuple[str, ...]:
        """The installed hosts that the update does not touch."""
        return tuple(host for host in self.carried.installed if host not in self.reinstall)

    def leaving(self, spec: HostProvisioningSpec) -> tuple[str, ...]:
        """The servers that are taken out of etcd and the cluster before they are wiped.

        One that joins has a part in them only if an earlier run was interrupted.
        """
        again = sorted({*self.reinstall, *self.replaced, *self.joining})
        return tuple(host for host in again if host in spec.out_of_etcd)

    def saves_etcd(self, spec: HostProvisioningSpec) -> bool:
        """Return whether etcd is saved first: the update installs a server of a control plane that runs."""
        return bool(spec.snapshots) and self._runs and not {*self.pending} <= self.adopted

    def grows_from_one(self, spec: HostProvisioningSpec) -> bool:
        """Return whether servers join a control plane of one in production."""
        before = len(self.carried.installed) + len(self.replaced)
        return spec.role is Role.CONTROL_PLANE and bool(spec.out_of_etcd and self.joining) and before == 1

    @property
    def _runs(self) -> bool:
        """Whether hosts of the role have been installed before the update."""
        return bool(self.carried.installed or self.replaced)

    def outputs(
        self, installed: Mapping[str, InstalledHost], approved: Mapping[str, list[Approval]]
    ) -> HostProvisioningOuts:
        """Return the outputs of an update that has installed these hosts and approved these requests."""
        before = self.carried
        disks = {**before.disks, **{name: host.disk for name, host in installed.items()}}
        vrrp = {**before.installed_vrrp, **{name: host.vrrp for name, host in installed.items()}}
        return HostProvisioningOuts(
            installed={**before.installed, **{name: host.record for name, host in installed.items()}},
            disks={name: disk for name, disk in disks.items() if disk},
            steps={**before.steps, **{name: host.steps for name, host in installed.items()}},
            requests={**before.requests, **{name: host.requests for name, host in installed.items()}},
            approved={**before.approved, **approved},
            installed_vrrp={name: node for name, node in vrrp.items() if node},
        )


def _is_recorded(
    old: HostProvisioningSpec | None, outs: HostProvisioningOuts, new: HostProvisioningSpec, host: str
) -> bool:
    """Return whether a host is the machine of its record; other firmware may report a UUID, or no UUID any more."""
    machine, record = new.identity_of(host), outs.installed[host]
    before = old.identity_of(host).identity if old else UNIDENTIFIED.identity
    return not machine.own or machine.identity.answers_to(record.uuid) or is_one_machine(before, machine.identity)


def leaving_hosts(old: HostProvisioningSpec, new: HostProvisioningSpec) -> list[str]:
    """Return the hosts that have left the install-config, and with that a cluster whose nodes have pods to drain."""
    return sorted(old.hosts.keys() - new.hosts.keys()) if new.role is Role.COMPUTE else []


def faults(old: HostProvisioningSpec | None, new: HostProvisioningSpec) -> Iterator[Fault]:
    """Yield the faults of the inputs."""
    yield from _incomplete(new)
    if old and old.hosts:
        yield from _unknown_to_installed_hosts(old, new)
    yield from _wrong_reinstalls(old, new)


def _incomplete(new: HostProvisioningSpec) -> Iterator[Fault]:
    for key, values in (
        ("passwords", new.passwords),
        ("ours", new.own_ignition),
        ("ignition_sha256", new.ignition_sha256),
    ):
        if missing := sorted(new.hosts.keys() - values.keys()):
            yield Fault(key, f"missing for {', '.join(missing)}", "give one for each host")


def _unknown_to_installed_hosts(old: HostProvisioningSpec, new: HostProvisioningSpec) -> Iterator[Fault]:
    """Yield a fault for each added host that the installed ones would have to know beforehand."""
    if new.role is Role.COMPUTE and new.is_proxied:
        for name in sorted(new.boot_macs.keys() - old.hosts.keys()):
            what = f"{name}: the control plane is installed, and its DHCP does not know the MAC {new.boot_macs[name]}"
            yield Fault("hosts", what, "give the host a `…-virtualmedia` address, or make it a spare")


def _wrong_reinstalls(old: HostProvisioningSpec | None, new: HostProvisioningSpec) -> Iterator[Fault]:
    for name, who in newly_listed(old, new).items():
        identity = new.identity_of(name).identity
        if name in new.identities and (not identity.answers_to(who) or is_shared(who)):
            what = f"reinstall.{name} names {who}, the host is {named(identity)}"
            yield Fault("reinstall", what, "name its own serial or UUID, or remove the line")


def planned_faults(plan: InstallationPlan, old: HostProvisioningSpec, new: HostProvisioningSpec) -> Iterator[Fault]:
    """Yield the installed hosts that lose an address, although nothing is written to them any more.

    And those that are to be other machines, although their peers fence them: that ends before `BmcHost` acts. And
    those that join the others, which would not hear them, or not rank them last.
    """
    yield from _stranded(plan, old)
    yield from _unheard(plan, new)
    yield from _together(plan, new)
    yield from _too_few(old, new)
    for name in plan.untouched:
        before, now = (spec.hosts[name].all_addresses for spec in (old, new))
        if lost := [address for address in before if address not in now]:
            what = f"{name} was installed with {' and '.join(lost)}, and is to have {' and '.join(now)}"
            fix = f"keep its address, or have it installed again with `reinstall.{name}`"
            yield Fault(f"hosts.{name}", what, fix)
    for name in plan.untouched:
        known, named_now = old.hosts[name].consent, new.hosts[name].consent
        if known and named_now != known and not old.identity_of(name).identity.answers_to(named_now):
            yield fenced_fault("consent", name)


def _stranded(plan: InstallationPlan, old: HostProvisioningSpec) -> Iterator[Fault]:
    """Yield a fault if the hosts that stay would have another bootstrap VM, which is another cluster (ADR 15).

    They may all be off, and what a provisioner remembers of them be lost: the state knows them nevertheless.
    """
    if left := [name for name in plan.untouched if gets_new_vm(old.hosts[name].address)]:
        what = f"its bootstrap VM would be built anew, as another cluster than that of {' and '.join(sorted(left))}"
        yield Fault(old.role.value, what, NEW_VM_FIX)


def _unheard(plan: InstallationPlan, new: HostProvisioningSpec) -> Iterator[Fault]:
    """Yield the hosts that join others whose files do not list them, or have their priority."""
    known = {host: plan.carried.installed_vrrp.get(host) for host in plan.untouched}
    for name in plan.joining:
        own = new.vrrp.get(name, VrrpNode())
        deaf = [host for host, vrrp in known.items() if vrrp is None or {*own.sources} - {*vrrp.peers}]
        if new.unicast and deaf:
            others = " and ".join(deaf)
            what = f"{name}: not listed as a VRRP peer (unicast) by {others}, so two hosts would claim a VIP"
            yield Fault("hosts", what, LONE_FIX if plan.grows_from_one(new) else UNLISTED_FIX)
        equal = [host for host, vrrp in known.items() if vrrp and own.priority and vrrp.priority == own.priority]
        for host in equal:
            what = f"{name}: its priority for the API VIP would be that of {host}, which is installed"
            yield Fault("hosts", what, f"write {name} behind all servers of its role")


def _together(plan: InstallationPlan, new: HostProvisioningSpec) -> Iterator[Fault]:
    """Yield a fault if a server joins etcd while the copy of another one comes or goes.

    Two join one, at once: with one of them, etcd would have two members, of which none may be lost.
    """
    if not (new.out_of_etcd and plan.joining):
        return
    changing = sorted({*plan.joining, *plan.reinstall, *plan.replaced})
    if plan.grows_from_one(new):
        yield from _from_one(plan, new)
    elif len(changing) > 1:
        what = f"{' and '.join(changing)}: one joins etcd, and another one joins it or is wiped, in one update"
        yield Fault("hosts", what, "install one of them in each `pulumi up`: lower the replicas for now")


def _from_one(plan: InstallationPlan, new: HostProvisioningSpec) -> Iterator[Fault]:
    names = " and ".join(sorted(plan.joining))
    if len(new.hosts) != THREE:
        what = f"{names}: a control plane of one grows to {THREE} servers, and the file has {len(new.hosts)}"
        yield Fault("hosts", what, f"set controlPlane.replicas to {THREE}; or back to 1, and leave them spares")
    if again := [*plan.reinstall, *plan.replaced]:
        what = f"{names}: join etcd, whose only member, that of {again[0]}, is wiped"
        yield Fault("hosts", what, f"keep {again[0]} as it is")
    if not new.snapshots:
        what = f"{names}: on the way, etcd has two members, of which none may be lost; no snapshot is taken before"
        yield Fault("snapshots", what, "name a folder or a bucket (docs/how-to/restore-a-control-plane.md)")


def _too_few(old: HostProvisioningSpec, new: HostProvisioningSpec) -> Iterator[Fault]:
    if new.role is Role.CONTROL_PLANE and new.out_of_etcd and len(new.hosts) < THREE <= len(old.hosts):
        what = f"a control plane of {len(old.hosts)} servers cannot become one of {len(new.hosts)}"
        yield Fault("hosts", what, f"keep {THREE} or more; for fewer, destroy the cluster and install it again")


def fenced_fault(option: str, host: str) -> Fault:
    """Return the fault of an option by which an installed host would be wiped, although its peer fences it."""
    what = "its peer fences the machine that was installed, and would switch it on again"
    return Fault(
        f"{option}.{host}", what, "name the former machine again; to install the cluster again, destroy it first"
    )


def notes(old: HostProvisioningSpec, outs: HostProvisioningOuts, new: HostProvisioningSpec) -> Iterator[str]:
    """Yield a line on hosts that leave, on those whose disks are wiped, and on those that no changed ISO reaches."""
    plan = InstallationPlan.of(old, outs, new)
    if leaving := leaving_hosts(old, new):
        yield f"will be cordoned and drained, then switched off, and their nodes deleted: {', '.join(leaving)}"
    if plan.saves_etcd(new):
        yield f"etcd will be saved into {store_of(new.stack, new.snapshots)} before a server is wiped"
    if again := [host for host in plan.leaving(new) if host not in plan.joining]:
        yield f"will be switched off, then taken out of etcd and the cluster, then wiped: {', '.join(again)}"
    if plan.reinstall:
        yield f"will be wiped and installed again, as `reinstall` requests: {', '.join(sorted(plan.reinstall))}"
    if plan.untouched and plan.changes_iso:
        yield f"installed already, and not touched by this change: {', '.join(sorted(plan.untouched))}"


def newly_listed(old: HostProvisioningSpec | None, new: HostProvisioningSpec) -> dict[str, str]:
    """Return the lines of `reinstall` that are new since the last successful `up`; only these have an effect."""
    before = old.reinstall if old else {}
    return {host: who for host, who in new.reinstall.items() if before.get(host) != who}


def not_taken_out(
    spec: HostProvisioningSpec, failed: Mapping[str, OkdBaremetalError], leaving: int
) -> ProvisioningError:
    """Return the error of an update in which hosts did not leave the cluster; nothing was installed."""
    lines = [line for error in failed.values() for line in str(error).splitlines()]
    what = f"{len(failed)} of {leaving} {spec.role.value} hosts were not taken out of the cluster:"
    return ProvisioningError(what, fix="do what each line says", details=lines)


def not_installed(
    spec: HostProvisioningSpec, failed: Mapping[str, Exception], reinstalled: Set[str]
) -> ProvisioningError:
    """Return the error of an update in which hosts failed.

    A failed update leaves no record, so the next one would repeat every reinstallation. The message therefore names
    the hosts that are reinstalled already.
    """
    lines = [line for name, error in failed.items() for line in f"{name}: {error}".splitlines()]
    count = f"{len(failed)} of {len(spec.hosts)} {spec.role.value} hosts"
    what = f"{count} were not installed:"
    fix = "do what each line says, then run `pulumi up` again, which retries those hosts"
    if reinstalled:
        names = ", ".join(sorted(reinstalled))
        fix += f". Before that, remove from `reinstall` the hosts that are reinstalled already: {names}"
    return ProvisioningError(what, fix=fix, details=[*lines, "All others run"])
