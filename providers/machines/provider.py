"""Pulumi's calls for `Machines`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

from base.clock import SYSTEM_CLOCK
from base.errors import BmcError, BusyError, ConfigError, Fault
from base.progress import Progress
from cluster.values.bmc_url import parse_bmc_url
from cluster.values.consent import missing_consent
from providers.machines.model import MachinesOuts, MachinesSpec
from providers.machines.rules import Answer, Change, answered_faults, outputs, planned_faults
from providers.pulumi import plugin
from providers.pulumi.dynamic import Provider
from providers.pulumi.workers import by_host
from providers.registered import note_phase, register
from wires.bmc.client import BmcClient, Identity, Power
from wires.bmc.identity import is_one_machine, named, usable
from wires.bmc.steps import Steps, run_steps
from wires.bmc_clients import client_of, exclusive

REPLACED_S = 30.0
"""Time for the BMC of a machine that is replaced, since it may be gone for good."""


class MachinesProvider(Provider[MachinesSpec, MachinesOuts]):
    """Create and update ask the BMCs of new and changed hosts which machines they are. No BMC is written to."""

    def _faults(self, old: MachinesSpec | None, new: MachinesSpec) -> Iterator[Fault]:
        for host, entry in sorted(new.hosts.items()):
            if entry.role and not entry.consent.strip():
                yield missing_consent(host, entry.bmc.address)

    def _plan(self, old: MachinesSpec, outs: MachinesOuts, new: MachinesSpec) -> None:
        change = Change(old, outs, new)
        _refuse(planned_faults(change))
        register(change.new_machines({}), change.undrained)
        note_phase(new.phase)

    def _create(self, spec: MachinesSpec) -> tuple[str, MachinesOuts]:
        return "machines", _identify(Change(spec.changed(hosts={}, passwords={}), MachinesOuts(), spec))

    def _update(self, old: MachinesSpec, outs: MachinesOuts, new: MachinesSpec) -> MachinesOuts:
        return _identify(Change(old, outs, new))


def _identify(change: Change) -> MachinesOuts:
    """Ask the BMCs, and return the new record.

    Raises:
        ConfigError: A BMC does not answer, or leads to a machine that its host may not be; a line for each host.
    """
    _refuse(planned_faults(change))
    report = plugin.row(change.new.urn)
    report(Progress("asking the BMCs", f"{len(change.to_ask)} of {len(change.new.hosts)} hosts"))
    asked = by_host(change.to_ask, lambda host: _answer(change, host))
    answers = {host: answer for host, answer in asked.items() if isinstance(answer, Answer)}
    silent = [replace(answer.fault, machine=host) for host, answer in asked.items() if not isinstance(answer, Answer)]
    _refuse([*silent, *answered_faults(change, answers)])
    warn = plugin.warnings(change.new.urn)
    running = by_host(_replaced(change, answers), lambda host: _former_runs(change, host, warn))
    _refuse(fault for fault in running.values() if fault)
    report(Progress("identified", f"{len(change.new.hosts)} hosts"))
    outs = outputs(change, answers)
    register(outs.machines, change.undrained)
    note_phase(change.new.phase)
    return outs


def _replaced(change: Change, answers: Mapping[str, Answer]) -> list[str]:
    """Return the servers that are other machines now. A new consent may name a service tag that is not recorded."""
    recorded = change.outs.machines
    return [
        host
        for host in change.replaced
        if host not in answers or not is_one_machine(answers[host].machine, recorded[host].identity)
    ]


def _answer(change: Change, host: str) -> Answer | BmcError | BusyError:
    """Return which machine a host's BMC is that of, or why that is unknown."""
    spec = change.new
    try:
        with _bmc(spec, host) as bmc:
            machine = _identity(bmc, spec.hosts[host].consent, spec.deadline_s)
            is_on = bool(change.outs.former) and _power(bmc, spec.deadline_s) is not Power.OFF
            return Answer(machine, bmc.url, is_on)
    except (BmcError, BusyError) as error:
        return error


def _former_runs(change: Change, host: str, warn: Callable[[str], None]) -> Fault | None:
    """Return the fault of a host whose former machine still runs, with the host's name and addresses.

    The former machine is asked through its own BMC, which may be gone for good.
    """
    old, machine = change.old, change.outs.machines[host].identity
    before, now = (parse_bmc_url(spec.hosts[host].bmc.address).server for spec in (old, change.new))
    if before == now:
        warn(f"{host}: its BMC's address leads to the new machine. Fix: make sure that {named(machine)} is off")
        return None
    try:
        with _bmc(old, host) as bmc:
            found = _identity(bmc, usable(machine), REPLACED_S)
            unknown = "" if is_one_machine(found, machine) else f"its former BMC is that of {named(found)} now"
            if not unknown and _power(bmc, REPLACED_S) is Power.OFF:
                return None
    except (BmcError, BusyError) as error:
        unknown = error.fault.what
    if unknown:
        warn(f"{host}: {unknown}. Fix: make sure that its former machine, {named(machine)}, is off")
        return None
    what = f"its former machine, {named(machine)}, still runs with the name and the addresses of {host}"
    fix = "take it out of the cluster, switch it off, and run `pulumi up` again"
    return Fault(f"{host} ({bmc.url})", f"{what}; nothing was changed", fix, machine=host)


def _identity(bmc: BmcClient, name: str, deadline_s: float) -> Identity:
    steps = Steps(bmc, SYSTEM_CLOCK, SYSTEM_CLOCK.now() + deadline_s)
    return run_steps(steps.identity(name), SYSTEM_CLOCK)


def _power(bmc: BmcClient, deadline_s: float) -> Power:
    steps = Steps(bmc, SYSTEM_CLOCK, SYSTEM_CLOCK.now() + deadline_s)
    return run_steps(steps.current_power(), SYSTEM_CLOCK)


def _bmc(spec: MachinesSpec, host: str) -> AbstractContextManager[BmcClient]:
    return exclusive(client_of(spec.access(host), spec.passwords[host]))


def _refuse(faults: Iterable[Fault]) -> None:
    if found := list(faults):
        raise ConfigError(*found)
