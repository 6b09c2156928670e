"""Pulumi's calls for `BmcHost`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace

from base.clock import SYSTEM_CLOCK
from base.errors import (
    BmcAuthError,
    BmcError,
    BmcIdentityError,
    BmcRefusedError,
    BmcTimeoutError,
    BmcTransientError,
    BusyError,
    ConfigError,
    Fault,
    word,
)
from base.progress import Progress
from cluster.values.bmc_url import BmcUrlError, parse_bmc_url
from cluster.values.consent import missing_consent
from providers.bmc_host.engine import BmcHostEngine
from providers.bmc_host.hardware import changed_since_inventory
from providers.bmc_host.model import AsFound, BmcHostOuts, BmcHostSpec
from providers.bmc_host.node import node_fault
from providers.mark_file import MarkFile
from providers.pulumi import declared, plugin
from providers.pulumi.dynamic import Provider
from providers.registered import knows_who_left, may_have_pods, other_host, running_clusters
from wires.bmc.client import Identity
from wires.bmc.identity import named, usable
from wires.bmc_clients import client_of, exclusive
from wires.shown_certificate import expiry_warning

READ_DEADLINE_S = 30.0  # for a refresh: an unreachable BMC must not hold up the others
UNASKED = "it runs, and may be a node, for which a run with --target or --exclude asks nobody; nothing was changed"
WHOLE = "run `pulumi up` without them; or, if it runs no cluster, switch it off, then run this command again"
CHECK_FIX = "check its address, network and power, and run this command again"


class BmcHostProvider(Provider[BmcHostSpec, BmcHostOuts]):
    """Create takes a server over, update compares it with the record, read probes it, delete leaves it off.

    For a spare, each of them but delete records what its BMC shows now. Delete does not ask its BMC, nor that of a
    machine that is another host now.
    """

    def _faults(self, old: BmcHostSpec | None, new: BmcHostSpec) -> Iterator[Fault]:
        try:
            parse_bmc_url(new.bmc.address)
        except BmcUrlError as error:
            yield error.fault.within("bmc")
        if not new.spare and not new.consent.strip():
            yield missing_consent(new.host, new.bmc.address)

    def _create(self, spec: BmcHostSpec) -> tuple[str, BmcHostOuts]:
        with _engine(spec) as engine:
            if spec.spare:
                identity, found = engine.observe()
            else:
                identity, found = _begun_with(engine, spec)
            return usable(identity), _outs(engine, identity, found)

    def _update(self, old: BmcHostSpec, outs: BmcHostOuts, new: BmcHostSpec) -> BmcHostOuts:
        if not new.asks_since(old):
            return outs
        with _engine(new, outs.identity) as engine:
            if new.spare:
                identity, found = engine.observe()
            elif new.consent != old.consent and engine.is_replaced():
                plugin.notes(new.urn)(f"replaces {named(outs.identity)}, which is left as it is")
                identity, found = _begun_with(replace(engine, recorded=None), new)
            else:
                # A part of the state was lost: without the record of its installation, it must not be installed.
                imported = new.running and not old.running
                identity, found = engine.record()[0] if imported else engine.identify(), outs.found
                if new.bmc.boot_mode != old.bmc.boot_mode:
                    found = engine.with_secure_boot(found)
            if new.bmc.address != old.bmc.address:
                _follow(old, new)
            return _outs(engine, identity, found)

    def _read(self, spec: BmcHostSpec, outs: BmcHostOuts) -> BmcHostOuts | None:
        quick = spec.changed(deadline_s=READ_DEADLINE_S)
        found, warn = outs.found, plugin.warnings(spec.urn)
        try:
            with _engine(quick, outs.identity, from_state=True) as engine:
                identity, found = engine.observe() if spec.spare else (engine.identify(), found)
                now = _outs(engine, identity, found)
                # Power and media change during an installation: show them, but keep them out of the state.
                line, warnings = engine.drift(found)
                hardware = "" if spec.spare else changed_since_inventory(quick)
        except (BmcTimeoutError, BmcTransientError, BusyError) as error:
            warn(f"kept the recorded values: {error}")
            return outs
        except BmcRefusedError as error:
            raise _refused_by_state(error.fault) from None
        plugin.row(spec.urn)(Progress("state", line))
        for warning in [] if spec.spare else warnings:
            warn(warning)
        server = spec.bmc.url
        if server.transport == "https" and (soon := expiry_warning(server.host, server.port)):
            warn(f"{spec.host}: the certificate of its BMC {soon}")
        if hardware:
            warn(hardware)
        return now

    def _delete(self, spec: BmcHostSpec, outs: BmcHostOuts) -> None:
        if spec.spare:
            return
        if owner := other_host(spec.host, outs.identity):
            plugin.notes(spec.urn)(f"{named(outs.identity)} is {owner} now, and is left as it is")
            return
        if spec.protected:
            what = "it belongs to a cluster in production that is not destroyable; it was left as it is"
            fix = "with the host in the install-config, run `pulumi config set destroyable true && pulumi up` first"
            raise ConfigError(Fault(spec.host, what, fix))
        # Of an installation that was killed, there is no `HostProvisioning` that would forget it.
        _mark_of(spec).remove()
        try:
            with _engine(spec, outs.identity, from_state=True) as engine:
                # With --exclude, `Machines` may be no part of an `up`; a destroy declares nothing.
                if may_have_pods(spec.host) or (declared.DECLARED and not knows_who_left()):
                    engine.refuse_while_on()
                for fault in engine.release(outs.found):
                    plugin.warnings(spec.urn)(f"not as found: {fault}")
        except BmcError as error:
            raise _undeletable(error, spec.urn) from None


def _begun_with(engine: BmcHostEngine, spec: BmcHostSpec) -> tuple[Identity, AsFound]:
    """Take a machine over that has no record; or record it as it runs, if the state has lost it."""
    if spec.running:
        return engine.record()

    def node_of(machine: Identity) -> Fault | None:
        if (clusters := running_clusters()) is None:
            return Fault(spec.host, UNASKED, WHOLE)
        asked = (node_fault(spec.host, machine, it, SYSTEM_CLOCK, engine.report) for it in clusters)
        return next(filter(None, asked), None)

    return engine.take_over(_mark_of(spec).remove, node_of)


def _mark_of(spec: BmcHostSpec) -> MarkFile:
    return MarkFile.of(spec.bmc.address, plugin.warnings(spec.urn))


def _follow(old: BmcHostSpec, new: BmcHostSpec) -> None:
    """Have the mark of an installation that was killed be found at the BMC's new address, and none be left."""
    before, now = _mark_of(old), _mark_of(new)
    if ended := before.read():
        now.set(ended)
        before.remove()


def _refused_by_state(fault: Fault) -> BmcRefusedError:
    """Return the error of a refresh, which asks with the address and the certificate of the last `up`."""
    then = "a refresh knows only the last `up`: once options were changed, run `pulumi up` first, without --refresh"
    return BmcRefusedError(fault.what, where=fault.where, fix="; ".join(filter(None, (fault.fix, then))))


def _undeletable(error: BmcError, urn: str) -> BmcError:
    """Return the error of a server that cannot be given up, with the way out for a BMC that will never answer."""
    kind = BmcTimeoutError if isinstance(error, BmcTransientError) else type(error)
    match error:
        case BmcAuthError():  # whose own fix is an `up` of all: it would install what half of a destroy has deleted
            own = ""
        case BmcIdentityError():  # whose own fix names another consent: the host may be gone from the install-config
            own = CHECK_FIX
        case _:
            own = error.fault.fix or CHECK_FIX
    # Pulumi saves the option: it would take the protection off the cluster with the next `up`.
    kept = "if the cluster stays, `pulumi config rm destroyable` at the end"
    again = f"run `pulumi up --target {word(urn)} --config destroyable=true` first, and, {kept}"
    what = "another address, login or certificate"
    moved = f"if its BMC has {what} now, write that, with the host in the file, and {again}"
    gone = f"if its machine is gone for good, switch it off, and run `pulumi state delete {word(urn)}`"
    fix = "; ".join(filter(None, (own, moved, gone)))
    return kind(error.fault.what, where=error.fault.where, fix=fix)


def _outs(engine: BmcHostEngine, identity: Identity, found: AsFound) -> BmcHostOuts:
    reported = asdict(identity)
    del reported["tag"]  # a consent may name it, and `Machines` has it
    return BmcHostOuts(**reported, bmc_version=engine.bmc_version(), found=found)


@contextmanager
def _engine(
    spec: BmcHostSpec, recorded: Identity | None = None, *, from_state: bool = False
) -> Iterator[BmcHostEngine]:
    report = plugin.row(spec.urn)
    with exclusive(client_of(spec.bmc, spec.password, from_state=from_state)) as bmc:
        yield BmcHostEngine(
            bmc, SYSTEM_CLOCK, report, spec.host, spec.consent, spec.deadline_s, recorded, spec.fenced
        )
