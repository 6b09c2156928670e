"""Runs the handoff of the API VIPs, from state to state, by a table in states.py."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from base.clock import Clock, Wait
from base.errors import Fault, HandoffUnsafeError, OkdBaremetalError, as_own
from base.progress import Progress, Report, with_time_left
from cluster.installed import CERTIFICATES, NODES, OKD, PLATFORM, fixed
from cluster.values.balancer import Balancer
from cluster.values.phase import Phase
from providers.vip_handoff.checks import Checks
from providers.vip_handoff.model import (
    HOLDING,
    BootstrapGuest,
    ClusterProbe,
    MeasuringClient,
    Save,
    Signal,
    VipHandoffOuts,
    VipHandoffSpec,
)
from providers.vip_handoff.states import ENDS, State, Transition, table_of, was_released
from wires.segment.vip_holder import CONTROL_PLANE, NOBODY, AnsweringMacs

HEARTBEAT_S = 5.0
NOT_ASKED = "not asked: no kubeconfig"


def input_faults(old: VipHandoffSpec | None, new: VipHandoffSpec) -> Iterator[Fault]:
    """Yield a fault if the phase goes backwards, or begins with production, or if a cluster would change.

    Args:
        old: Inputs in the state; None for a new stack.
        new: Inputs of this run.
    """
    if old:
        yield from fixed("platform", old.platform, new.platform, PLATFORM)
    if new.phase is Phase.BOOTSTRAP:
        if old and old.phase is Phase.PRODUCTION:
            what = "a cluster in production cannot go back to bootstrap"
            yield Fault("phase", what, "set it to production again")
    elif old:
        yield from fixed("<metadata.name>.<baseDomain>", old.domain, new.domain, CERTIFICATES)
        kind = "platform.baremetal.loadBalancer.type"
        yield from fixed(kind, _kind(old.balancer), _kind(new.balancer), NODES)
        yield from fixed("fencing of the control plane", _whether(old.fenced), _whether(new.fenced), OKD)
    elif not new.import_production:
        what = "the stack is empty, has a cluster of another metadata.name, or has lost a part of its state"
        fix = "start an empty stack with phase bootstrap; write a changed name as it was; set import_production"
        yield Fault("phase", what, f"{fix} if the cluster runs, and its state was lost (docs/how-to/recover.md)")


def _whether(fenced: bool) -> str:
    return "there" if fenced else "not there"


def _kind(balancer: Balancer) -> str:
    return "UserManaged" if balancer is Balancer.SITE else "OpenShiftManagedDefault"


@dataclass
class HandoffEngine:
    """One proof of the API VIPs' holder, or one move of the VIPs."""

    spec: VipHandoffSpec
    probe: ClusterProbe
    guest: BootstrapGuest
    signal: Signal | None
    """None if there is no kubeconfig."""
    save: Save
    client: Callable[[], AbstractContextManager[MeasuringClient]]
    clock: Clock
    report: Report
    handed_over: Signal | None = None
    """See `Checks`."""
    timeline: list[dict[str, Any]] = field(default_factory=list)
    """States so far, each with the second at which it began."""
    holders: list[dict[str, Any]] = field(default_factory=list)
    """Holders of the VIPs so far, each with the second at which it was first seen."""
    _answering: AnsweringMacs = ()
    _faults: list[OkdBaremetalError] = field(default_factory=list)
    _started: float = 0.0

    def reach(self, old: Phase, outs: VipHandoffOuts) -> VipHandoffOuts:
        """Bring the VIPs to the machine that holds them in the wanted phase.

        Args:
            old: Phase in the state.
            outs: Outputs in the state; those of an earlier move stay.

        Raises:
            HandoffUnsafeError: See `prove_bootstrap`, `prove_control_plane` and `move`.
        """
        if self.spec.phase is Phase.BOOTSTRAP:
            return self.prove_bootstrap()
        if old is Phase.PRODUCTION:
            now = self.prove_control_plane()
            return outs.changed(**{name: getattr(now, name) for name in HOLDING})
        return self.move()

    def prove_bootstrap(self) -> VipHandoffOuts:
        """Prove, in phase `bootstrap`, that the bootstrap VM answers the VIPs, with API and config server.

        A control plane that took the VIPs by itself is accepted too: a payload may end the bootstrap's API.

        Raises:
            HandoffUnsafeError: No machine did so within `bootstrap_s`.
        """
        return self._run(State.PROVE)

    def prove_control_plane(self) -> VipHandoffOuts:
        """Prove, in phase `production` after the move, that a control-plane node answers the VIPs.

        Raises:
            HandoffUnsafeError: No node did so within `deadline_s`.
        """
        return self._run(State.CONFIRM)

    def move(self) -> VipHandoffOuts:
        """Move the VIPs from the bootstrap VM to the control plane, and end the VM.

        Raises:
            HandoffUnsafeError: The move was refused, was taken back, or stopped; see `ENDS`. The VM was kept.
        """
        return self._run(State.GATE)

    def _run(self, state: State) -> VipHandoffOuts:
        self._started, client = self.clock.now(), None
        table = table_of(self.spec)
        with ExitStack() as measuring:
            while True:
                self._begin(state)
                row = table.get(state)
                if row is None:
                    break
                if not row.measured:
                    measuring.close()
                elif client is None:
                    client = measuring.enter_context(self.client())
                state = self._leave(state, row)
        if state is not State.DONE:
            raise self._error(state)
        return self._result(client)

    def _begin(self, state: State) -> None:
        self.timeline.append({"state": state.value, "at_s": self._at_s()})
        self.report(Progress(state.value))

    def _leave(self, state: State, row: Transition) -> State:
        """Do and check what the row says, and return the next state."""
        checks = self._checks()
        try:
            if row.does:
                row.does(self.guest)
            late = self._missing(state, row, checks)
            moved = None if late else self._moved(row, checks)
        except (OkdBaremetalError, OSError) as refusal:
            error = as_own(refusal)
            self._blame(state, error.fault.what, error.fault.fix or row.fix, error)
            return row.failure
        if late:
            self._blame(state, f"{late}, after {row.within.of(self.spec):g} s", row.fix, None)
            return row.late
        return moved or row.success

    def _moved(self, row: Transition, checks: Checks) -> State | None:
        """Return the next state if the control plane holds the VIPs already, or None."""
        if row.moved is None or checks.control_plane_holds() is not None:
            return None
        return row.resumed if was_released(self.guest) else row.moved

    def _missing(self, state: State, row: Transition, checks: Checks) -> str | None:
        """Poll until nothing has been missing for long enough; return what was missing last at the deadline."""
        if not row.check:
            return None
        wait = Wait(self.clock, row.within.of(self.spec), row.steady.of(self.spec), report_s=HEARTBEAT_S)
        return wait.until(partial(row.check, checks), with_time_left(self.report, state.value))

    def _checks(self) -> Checks:
        return Checks(self.spec, self.probe, self.signal, self.save, self._note, self.handed_over)

    def _note(self, holder: str, answering: AnsweringMacs) -> None:
        self._answering = answering
        if not self.holders or self.holders[-1]["holder"] != holder:
            self.holders.append({"holder": holder, "at_s": self._at_s()})

    def _at_s(self) -> float:
        return round(self.clock.now() - self._started, 2)

    def _blame(self, state: State, what: str, fix: str, cause: OkdBaremetalError | None) -> None:
        error = HandoffUnsafeError(f"at {state}: {what}", fix=fix)
        error.__cause__ = cause
        self._faults.append(error)

    def _error(self, end: State) -> HandoffUnsafeError:
        first, *later = self._faults
        outcome = ENDS[end]
        if later:
            outcome = "returning the VIP failed: " + "; ".join(error.fault.what for error in later)
        error = HandoffUnsafeError(f"{first.fault.what}; {outcome}", where=self.spec.where, fix=first.fault.fix)
        error.__cause__ = first
        return error

    def _result(self, client: MeasuringClient | None) -> VipHandoffOuts:
        # As the last check saw them: one more request might go unanswered, and would prove nothing.
        holder = self.holders[-1]["holder"]
        macs = sorted(frozenset[str]().union(*self._answering))
        return VipHandoffOuts(
            # With a balancer of the site, it serves even if the probe of who is behind it was slow.
            holder=CONTROL_PLANE if holder == NOBODY else holder,
            mac=macs[0] if macs else None,
            macs=macs,
            completion=self._completion(),
            timeline=self.timeline,
            holders=self.holders,
            seconds=seconds_per_state(self.timeline),
            **(client.figures(self._started) if client else {}),
        )

    def _completion(self) -> str | None:
        if all(entry["state"] != State.AWAIT for entry in self.timeline):
            return None
        return "complete" if self.signal else NOT_ASKED


def seconds_per_state(timeline: list[dict[str, Any]]) -> dict[str, float]:
    """Return the seconds that each state of a timeline took; the last entry only marks the end."""
    return {entry["state"]: round(after["at_s"] - entry["at_s"], 2) for entry, after in pairwise(timeline)}
