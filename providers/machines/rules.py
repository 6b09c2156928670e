"""The rules on machines and hosts: over all pairs of hosts, of before, now and after.

A host is a name; a machine is what its UUID or serial says. A disk is wiped only on the machine that the newest
consent of its host names, and only if no other host of this stack is, or was, that machine and still runs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from base.errors import Fault
from cluster.values.consent import consent_command
from cluster.values.phase import Phase
from cluster.values.role import Role
from providers.consent import consent_fault, naming
from providers.machines.model import FormerMachine, HostMachine, MachinesOuts, MachinesSpec
from wires.bmc.client import Identity, spellings
from wires.bmc.identity import is_one_machine, is_shared, named, same, usable

APART = "in one `pulumi up`, and add {} in a later one"


@dataclass(frozen=True)
class Answer:
    """What the BMC of one host says."""

    machine: Identity
    url: str
    """URL of the system, without credentials."""
    is_on: bool = False
    """Whether the machine runs; read only if the stack has had other machines."""


@dataclass(frozen=True)
class Change:
    """What an update changes about the hosts of a stack."""

    old: MachinesSpec
    outs: MachinesOuts
    """The machines as recorded before."""
    new: MachinesSpec

    def recorded(self, host: str) -> Identity | None:
        """Return the machine that a host was before."""
        machine = self.outs.machines.get(host)
        return machine.identity if machine else None

    @property
    def to_ask(self) -> tuple[str, ...]:
        """The hosts whose BMCs may now be those of other machines than the recorded ones."""
        changed = self.new.changed_since(self.old)
        return tuple(host for host in self.new.hosts if host in changed or host not in self.outs.machines)

    @property
    def removed(self) -> tuple[str, ...]:
        """The hosts that the update removes. Pulumi switches a removed server off at the end of the update."""
        return tuple(host for host in self.old.hosts if host not in self.new.hosts)

    @property
    def undrained(self) -> set[str]:
        """The compute that this update or an earlier one has removed from a cluster in production."""
        if self.new.phase is not Phase.PRODUCTION:
            return set()
        gone = {host for host, entry in self.old.hosts.items() if entry.role is Role.COMPUTE}
        gone |= {former.host for former in self.outs.former if former.role is Role.COMPUTE}
        return gone - {host for host, entry in self.new.hosts.items() if entry.role}

    @property
    def replaced(self) -> tuple[str, ...]:
        """The servers whose new consent names another machine than the recorded one."""
        servers = [host for host, entry in self.new.hosts.items() if entry.role and host in self.old.hosts]
        return tuple(host for host in servers if self._is_replaced(host))

    def new_machines(self, answers: Mapping[str, Answer]) -> dict[str, HostMachine]:
        """Return the machine of each host after the update: what its BMC answered, else what is recorded."""
        read = {host: HostMachine.of(it.machine) for host, it in answers.items()}
        known = self.outs.machines | read
        return {host: known[host] for host in self.new.hosts if host in known}

    def _is_replaced(self, host: str) -> bool:
        before, was = self.old.hosts[host], self.recorded(host)
        consent = self.new.hosts[host].consent
        return was is not None and before.role is not None and bool(consent) and not was.answers_to(consent)


def planned_faults(change: Change) -> Iterator[Fault]:
    """Yield what a preview sees: from the inputs and the record, without a question to a BMC."""
    mixed_up = dict(_taken_machines(change))
    yield from mixed_up.values()
    yield from _new_roles(change)
    yield from (fault for host, fault in _taken_addresses(change) if host not in mixed_up)
    yield from _several_members(change)
    yield from _last_compute(change)
    yield from _fenced(change)


def _taken_machines(change: Change) -> Iterator[tuple[str, Fault]]:
    """Yield by host the consents that name the recorded machine of another host."""
    register = _Register(change.outs.machines)
    for host, entry in sorted(change.new.hosts.items()):
        own, owner = change.recorded(host), register.named(entry.consent)
        if owner and owner != host and not (own and own.answers_to(entry.consent)):
            yield host, _mix_up(change, host, owner, f"consent.{host}", f"{entry.consent} is")


def _mix_up(change: Change, host: str, owner: str, where: str, what: str) -> Fault:
    """Return the fault of a host whose BMC or consent is that of another host's machine."""
    if owner not in change.new.hosts:
        what = f"{what} the machine of {owner}, and a server gets another name only by another installation"
        return Fault(where, what, f"keep the name {owner}; or remove {owner} {APART.format(host)}")
    own = change.recorded(host)
    if own is None:
        return Fault(where, f"{what} the machine of {owner}", f"name the machine of {host} itself, or remove {host}")
    what = f"{what} the machine of {owner}; that of {host} is {usable(own)}"
    consent = f", and its consent: {consent_command(host, usable(own))}" if change.new.hosts[host].role else ""
    return Fault(where, what, f"give {host} the bmc.address of its own machine{consent}")


def _new_roles(change: Change) -> Iterator[Fault]:
    """Yield the servers whose role changes: an installed system keeps its role, so `up` would wait for the other."""
    for host, entry in sorted(change.new.hosts.items()):
        before = change.old.hosts.get(host)
        if before and before.role and entry.role and before.role is not entry.role and host in change.outs.machines:
            what = f"{host} is {before.role} and is to be {entry.role}, which takes another installation"
            fix = f"leave its role; or remove {host} {APART.format('it')}"
            yield Fault(f"hosts.{host}", what, fix)


def _taken_addresses(change: Change) -> Iterator[tuple[str, Fault]]:
    """Yield by name the new servers with the address of one that runs until the end of the update."""
    old = change.old.hosts
    servers = {host for host, entry in change.new.hosts.items() if entry.role}
    leaving = {entry.address: host for host, entry in old.items() if entry.role and host not in servers}
    for host, entry in sorted(change.new.hosts.items()):
        is_new = host in servers and not (host in old and old[host].role)
        if entry.address and is_new and (owner := leaving.get(entry.address)):
            what = f"{entry.address} is the address of {owner}, which runs until the end of this update"
            fix = f"choose another address; or remove {owner} {APART.format(host)}"
            yield host, Fault(f"hosts.{host}", what, fix)


def _several_members(change: Change) -> Iterator[Fault]:
    """Yield a fault if an update in production takes more than one server out of etcd."""
    old, new = change.old, change.new
    members = [host for host, entry in old.hosts.items() if entry.role and entry.role.holds_etcd]
    kept = {host for host, entry in new.hosts.items() if entry.role and entry.role.holds_etcd}
    again = {host for host, who in new.reinstall.items() if old.reinstall.get(host) != who}
    out = [host for host in members if host in again or host in change.replaced or host not in kept]
    if new.phase is Phase.PRODUCTION and len(out) > 1:
        what = f"{' and '.join(out)}, {len(out)} of the {len(members)} servers that hold copies of etcd"
        what_else = "to destroy the cluster, undo this first"
        fix = f"reinstall, replace or remove one of them in each `pulumi up`, a dead one first; {what_else}"
        yield Fault("hosts", what, fix)


def _last_compute(change: Change) -> Iterator[Fault]:
    """Yield a fault if an update in production removes all compute, which has the Ingress VIP and the routers.

    What it adds runs only once the others are off: they leave first.
    """
    old, new = (
        {host for host, entry in it.hosts.items() if entry.role is Role.COMPUTE} for it in (change.old, change.new)
    )
    stays = old & new if change.old.phase is Phase.PRODUCTION else new
    if old and not stays and change.new.phase is Phase.PRODUCTION:
        what = f"{' and '.join(sorted(old))}: no compute would be left, and no other server holds the Ingress VIP"
        added = ", until what is added has joined" if new else ""
        yield Fault("hosts", what, f"leave one of them{added}; to destroy the cluster, undo this first")


def _fenced(change: Change) -> Iterator[Fault]:
    """Yield the servers that are other machines now, although their peer fences them, before `BmcHost` acts."""
    for host in change.replaced if change.new.fenced and change.new.phase is Phase.PRODUCTION else ():
        if change.new.hosts[host].role is Role.CONTROL_PLANE:
            what = "names another machine, and the peer of the installed one fences it: it would be switched on again"
            fix = "name the former machine; to install the cluster again, destroy it first"
            yield Fault(f"consent.{host}", what, fix)


def answered_faults(change: Change, answers: Mapping[str, Answer]) -> Iterator[Fault]:
    """Yield what only the BMCs can tell, of the hosts that were asked.

    Args:
        change: The update.
        answers: By host; the other hosts are as recorded.
    """
    before, now = _Register(change.outs.machines), _Register(change.new_machines(answers))
    for host, answer in sorted(answers.items()):
        entry, machine = change.new.hosts[host], answer.machine
        twin = now.other(host, machine)
        fault = (
            _of_another_host(change, answers, host, before.other(host, machine))
            or _still_running(change, answer, host)
            or (_twins(host, twin, machine) if twin else None)
            or _of_another_consent(change, host, machine)
            or (consent_fault(host, entry.consent, machine) if entry.role else None)
            or _without_new_consent(change, host, machine)
        )
        if fault:
            where, what = f"{host} ({answer.url})", f"{fault.what}; nothing was changed"
            yield Fault(where, what, fault.fix, machine=host)


def _of_another_host(change: Change, answers: Mapping[str, Answer], host: str, owner: str | None) -> Fault | None:
    """Return the fault of a host whose BMC is that of `owner`, as recorded; None if there is no such host."""
    if owner is None:
        return None
    own = change.recorded(host)
    if own and owner in answers and is_one_machine(answers[owner].machine, own):
        what = f"its BMC is that of {owner}, and the BMC of {owner} is that of {host}"
        return Fault("", what, f"exchange the bmc.address of {host} and {owner}, and leave their consents")
    return _mix_up(change, host, owner, "", "its BMC is that of")


def _still_running(change: Change, answer: Answer, host: str) -> Fault | None:
    """Return the fault of a host whose machine was a host before, and still runs; None if it does not.

    `BmcHost` would switch it off. A host that is removed and added again with its own machine may still be recorded.
    """
    former = [it for it in change.outs.former if is_one_machine(it.identity, answer.machine)]
    if not (former and answer.is_on):
        return None
    what = f"its machine was {former[-1].host} before, and still runs"
    off = "switch it off, and run `pulumi up` again"
    if former[-1].host != host:
        return Fault("", what, f"if nothing on it is needed any more, {off}")
    return Fault("", what, f"{off}; if that installs nothing, switch it on") if host in change.replaced else None


def _of_another_consent(change: Change, host: str, machine: Identity) -> Fault | None:
    """Return the fault of a host whose BMC is that of the machine that only the consent of another host names."""
    entries = change.new.hosts
    if not entries[host].role or machine.answers_to(entries[host].consent):
        return None
    for other, entry in sorted(entries.items()):
        if other != host and machine.answers_to(entry.consent) and not is_shared(entry.consent):
            what = f"its BMC is that of the machine that consent.{other} names"
            fix = f"find out which machine {host} is, and correct its bmc.address, or both consents if that is right"
            return Fault("", what, fix)
    return None


def _without_new_consent(change: Change, host: str, machine: Identity) -> Fault | None:
    """Return the fault of a server that is another machine, to which its old consent happens to be one, too."""
    own, before, entry = change.recorded(host), change.old.hosts.get(host), change.new.hosts[host]
    if own is None or same(own, machine) or host in change.replaced:
        return None
    if not (before and before.role and entry.role):
        return None
    what = f"the record is of {named(own)}; the BMC is that of {named(machine)}"
    return Fault("", what, f"correct its bmc.address; or, if that machine replaces it, {naming(host, machine)}")


def _twins(host: str, twin: str, machine: Identity) -> Fault:
    what = f"its BMC and that of {twin} lead to one machine, {named(machine)}"
    return Fault("", what, f"correct the bmc.address of {host} or {twin}, or remove one of the two hosts")


def outputs(change: Change, answers: Mapping[str, Answer]) -> MachinesOuts:
    """Return the record after an update without faults."""
    machines = change.new_machines(answers)
    left = [
        FormerMachine(host=host, role=_role(change.old, host), uuid=machine.uuid, serial=machine.serial)
        for host, machine in change.outs.machines.items()
        if host not in machines or not is_one_machine(machine.identity, machines[host].identity)
    ]
    current = [machine.identity for machine in machines.values()]
    former = [
        it for it in (*change.outs.former, *left) if not any(is_one_machine(it.identity, own) for own in current)
    ]
    return MachinesOuts(machines=machines, former=former)


def _role(spec: MachinesSpec, host: str) -> Role | None:
    return spec.hosts[host].role if host in spec.hosts else None


class _Register:
    """Machines by their unique UUIDs, serials and service tags."""

    def __init__(self, machines: Mapping[str, HostMachine]) -> None:
        self.machines = machines
        self.hosts: dict[str, list[str]] = {}
        for host, machine in machines.items():
            own = machine.identity
            for value in spellings(own.uuid) | {own.serial.lower(), own.tag.lower()}:
                if not is_shared(value):
                    self.hosts.setdefault(value, []).append(host)

    def named(self, name: str) -> str | None:
        """Return the host whose machine has this UUID, serial or service tag."""
        return next(iter(self._at(name.strip())), None)

    def other(self, host: str, machine: Identity) -> str | None:
        """Return a host other than `host` that is this machine."""
        near = [other for value in (machine.uuid, machine.serial) for other in self._at(value)]
        same = (other for other in near if is_one_machine(self.machines[other].identity, machine))
        return next((other for other in same if other != host), None)

    def _at(self, value: str) -> list[str]:
        """Return the hosts under a value, if it is a UUID in any order of its bytes."""
        return [host for spelling in sorted(spellings(value)) for host in self.hosts.get(spelling, ())]
