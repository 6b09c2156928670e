"""The handoff of the API VIPs: runs from state to state as the table in states.py says."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from providers.base.clock import Clock
from providers.base.errors import HandoffUnsafeError, OkdBaremetalError
from providers.base.progress import Report
from providers.vip_handoff.checks import Look
from providers.vip_handoff.model import UNMEASURED, Client, Cluster, Guest, Segment, Signal
from providers.vip_handoff.states import ENDS, TABLE, Row, State, seconds, was_released

POLL_S = 0.5
HEARTBEAT_S = 5.0
NOT_ASKED = "not asked: no kubeconfig"


@dataclass
class HandoffEngine:
    """One look at, or one move of, the API VIPs."""

    cluster: Cluster
    segment: Segment
    guest: Guest
    signal: Signal | None
    """None: there is no kubeconfig to ask the payload with."""
    client: Callable[[], AbstractContextManager[Client]]
    clock: Clock
    report: Report
    timeline: list[dict[str, Any]] = field(default_factory=list)
    """States so far, each with the second it began at."""
    holders: list[dict[str, Any]] = field(default_factory=list)
    """Who was seen to hold the VIPs so far, each with the second it was first seen at."""
    _faults: list[OkdBaremetalError] = field(default_factory=list)
    _beat: float = 0.0
    _started: float = 0.0

    def prove_bootstrap(self) -> dict[str, Any]:
        """Phase `bootstrap`: the VIPs are answered by the bootstrap VM, with API and config server behind them.

        A control plane that took them by itself is right as well: a payload may tear the bootstrap's API down.

        Returns:
            The outputs of `VipHandoff`.

        Raises:
            HandoffUnsafeError: Not so within `bootstrap_s`.
        """
        return self._run(State.PROVE)

    def prove_control_plane(self) -> dict[str, Any]:
        """Phase `production`, VIPs moved long ago: a control-plane node answers them.

        Raises:
            HandoffUnsafeError: Not so within `deadline_s`.
        """
        return self._run(State.CONFIRM)

    def move(self) -> dict[str, Any]:
        """Move the VIPs from the bootstrap to the control plane, or leave everything as it was.

        Raises:
            HandoffUnsafeError: Refused, nothing touched; or taken back. The VM was kept.
        """
        return self._run(State.GATE)

    def _run(self, state: State) -> dict[str, Any]:
        self._started, felt = self.clock.now(), None
        with ExitStack() as measuring:
            while True:
                self._begin(state)
                row = TABLE.get(state)
                if row is None:
                    break
                if not row.measured:
                    measuring.close()
                elif felt is None:
                    felt = measuring.enter_context(self.client())
                state = self._leave(state, row)
        if state is not State.DONE:
            raise self._error(state)
        return self._result(felt)

    def _begin(self, state: State) -> None:
        self.timeline.append({"state": state.value, "at_s": self._at_s()})
        self._beat = 0.0
        self.report(state)

    def _leave(self, state: State, row: Row) -> State:
        """Do and check what the row says; the next state."""
        look = self._look()
        try:
            if row.does:
                row.does(self.guest)
            late = self._missing(state, row, look)
            moved = None if late else self._moved(row, look)
        except OkdBaremetalError as error:
            self._blame(state, error.what, error.fix or row.fix, error)
            return row.failure
        if late:
            self._blame(state, f"{late}, after {seconds(self.cluster, row.within):g} s", row.fix, None)
            return row.late
        return moved or row.success

    def _moved(self, row: Row, look: Look) -> State | None:
        """Where it leads that the VIPs have moved already; None: they have not."""
        if row.moved is None or look.control_plane_holds() is not None:
            return None
        return row.resumed if was_released(self.guest) else row.moved

    def _missing(self, state: State, row: Row, look: Look) -> str | None:
        """Poll until nothing has been missing for long enough; by the deadline, what was missing last."""
        if not row.check:
            return None
        since: float | None = None
        missed = ""
        deadline = self.clock.now() + seconds(self.cluster, row.within)
        while True:
            seen, now = row.check(look), self.clock.now()
            if seen:
                since, missed = None, seen
            else:
                since = now if since is None else since
                left = seconds(self.cluster, row.steady) - (now - since)
                if left <= 0:
                    return None
                seen = f"as wanted; steady for {left:.0f} s more"
            if now >= deadline:
                return missed or seen
            if now >= self._beat:
                self._beat = now + HEARTBEAT_S
                self.report(f"{state}: {seen}; {deadline - now:.0f} s left")
            self.clock.sleep(POLL_S)

    def _look(self) -> Look:
        return Look(self.cluster, self.segment, self.signal, self._note)

    def _note(self, holder: str) -> None:
        if not self.holders or self.holders[-1]["holder"] != holder:
            self.holders.append({"holder": holder, "at_s": self._at_s()})

    def _at_s(self) -> float:
        return round(self.clock.now() - self._started, 2)

    def _blame(self, state: State, what: str, fix: str, cause: OkdBaremetalError | None) -> None:
        fault = HandoffUnsafeError(f"at {state}: {what}", fix=fix)
        fault.__cause__ = cause
        self._faults.append(fault)

    def _error(self, end: State) -> HandoffUnsafeError:
        first, *later = self._faults
        outcome = "giving it back failed: " + "; ".join(fault.what for fault in later) if later else ENDS[end]
        where = f"API VIP {' and '.join(self.cluster.vips)}"
        error = HandoffUnsafeError(f"{first.what}; {outcome}", where=where, fix=first.fix)
        error.__cause__ = first
        return error

    def _result(self, felt: Client | None) -> dict[str, Any]:
        seen, holder = self._look().census()
        macs = sorted(frozenset().union(*seen))
        return {
            "holder": holder,
            "mac": macs[0] if holder else None,
            "macs": macs,
            "completion": self._completion(),
            "timeline": self.timeline,
            "holders": self.holders,
            "seconds": seconds_per_state(self.timeline),
            **(felt.figures(self._started) if felt else UNMEASURED),
        }

    def _completion(self) -> str | None:
        if all(entry["state"] != State.AWAIT for entry in self.timeline):
            return None
        return "complete" if self.signal else NOT_ASKED


def seconds_per_state(timeline: list[dict[str, Any]]) -> dict[str, float]:
    """How long each state of a timeline took; its last is the end."""
    return {entry["state"]: round(after["at_s"] - entry["at_s"], 2) for entry, after in pairwise(timeline)}
