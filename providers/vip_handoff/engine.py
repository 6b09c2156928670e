"""The handoff of the API VIP: gate, release, measure, soak, let go; or back."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from providers.clock import Clock
from providers.errors import HandoffUnsafeError, OkdBaremetalError
from providers.progress import Report

POLL_S = 0.5
MOVE_S = 30.0  # VRRP needs up to 3 adverts and a skew, 3.8 s; the rest is for machines under load
BACK_S = 30.0
SOAKS = 4  # a break in the soak starts it anew; after this many soaks' time the VIP goes back
HEARTBEAT_S = 5.0


class Segment(Protocol):
    """What can be seen of the cluster from the provisioner."""

    def vip_macs(self) -> frozenset[str]:
        """MACs that answer the API VIP."""
        ...

    def macs_of(self, address: str) -> frozenset[str]:
        """MACs that answer an address."""
        ...

    def is_ready(self, address: str) -> bool:
        """Whether the API behind an address is ready."""
        ...

    def serves_config(self, address: str) -> bool:
        """Whether a config server answers behind an address."""
        ...


class Guest(Protocol):
    """The bootstrap VM."""

    def say(self, word: str) -> str:
        """Say `release`, `hold` or `status` on the channel; the answer."""
        ...

    def stop(self) -> None:
        """Shut the VM down, by deadline."""
        ...


class Client(Protocol):
    """A client of the VIP; see providers.probe.client."""

    def figures(self) -> dict[str, Any]:
        """What it met so far."""
        ...


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Who may hold the VIP, and how long each step may take (seconds)."""

    vip: str
    bootstrap_name: str
    bootstrap_mac: str
    nodes: Mapping[str, str]
    """Address of each control-plane node, by name."""
    stable_s: float
    soak_s: float
    deadline_s: float
    bootstrap_s: float


@dataclass
class HandoffEngine:
    """One look at, or one move of, the API VIP."""

    cluster: Cluster
    segment: Segment
    clock: Clock
    report: Report
    timeline: list[dict[str, Any]] = field(default_factory=list)
    _started: float = 0.0
    _beat: float = 0.0

    def prove_bootstrap(self) -> dict[str, Any]:
        """Phase `bootstrap`: one MAC answers the VIP, the bootstrap VM's, and behind it API and config server.

        A control plane that took the VIP by itself is right as well: a payload may tear the bootstrap's API down.

        Raises:
            HandoffUnsafeError: Not so within `bootstrap_s`.
        """

        def proven() -> str | None:
            macs = self.segment.vip_macs()
            holder = self._holder(macs)
            if holder is None:
                return _census(macs)
            if not self.segment.is_ready(self.cluster.vip):
                return f"{holder} holds it; its API is not ready"
            return (
                None if self.segment.serves_config(self.cluster.vip) else f"{holder} holds it; no config server yet"
            )

        self._begin("prove")
        self._until(
            proven, self.cluster.bootstrap_s, "Look at the console of the bootstrap VM, then run `pulumi up` again"
        )
        return self._result({})

    def prove_control_plane(self) -> dict[str, Any]:
        """Phase `production`, VIP moved long ago: a control-plane node answers it.

        Raises:
            HandoffUnsafeError: Not so within `deadline_s`.
        """

        def proven() -> str | None:
            macs = self.segment.vip_macs()
            holder = self._holder(macs)
            return None if holder in self.cluster.nodes else _census(macs)

        self._begin("prove")
        self._until(proven, self.cluster.deadline_s, "Look at keepalived on the control plane")
        return self._result({})

    def move(self, guest: Guest, client: Callable[[], AbstractContextManager[Client]]) -> dict[str, Any]:
        """Move the VIP from the bootstrap to the control plane, or leave everything as it was.

        Raises:
            HandoffUnsafeError: Refused at the gate, nothing touched; or taken back. The VM was kept.
        """
        already = self._gate()
        with client() as felt:
            try:
                if not already:
                    self._release(guest)
                self._soak()
            except OkdBaremetalError as error:
                if not already:
                    self._back(guest, error)
                raise
        self._begin("let go")
        guest.stop()
        return self._result(felt.figures())

    def _gate(self) -> bool:
        """Whether the control plane holds the VIP already."""
        self._begin("gate")
        since: float | None = None

        def stable() -> str | None:
            nonlocal since
            if missing := self._unready():
                since = None
                return missing
            since = self.clock.now() if since is None else since
            left = self.cluster.stable_s - (self.clock.now() - since)
            return None if left <= 0 else f"all of the control plane ready; steady for {left:.0f} s more"

        hint = "VIP and VM are untouched; see why it is not ready, then run `pulumi up` again"
        self._until(stable, self.cluster.deadline_s, hint)
        return self._holder(self.segment.vip_macs()) in self.cluster.nodes

    def _unready(self) -> str | None:
        for name, address in self.cluster.nodes.items():
            if not self.segment.is_ready(address):
                return f"{name} ({address}) does not answer /readyz on 6443"
        if not any(self.segment.serves_config(address) for address in self.cluster.nodes.values()):
            return "no node of the control plane serves 22623"
        macs = self.segment.vip_macs()
        return None if self._holder(macs) else _census(macs)

    def _release(self, guest: Guest) -> None:
        self._begin("release")
        answer = guest.say("release")
        if not answer.startswith("released"):
            raise HandoffUnsafeError(f"the bootstrap answered {answer!r}, wanted released", where=self._vip)

        def moved() -> str | None:
            macs = self.segment.vip_macs()
            return None if self._holder(macs) in self.cluster.nodes else _census(macs)

        self._until(moved, MOVE_S, "Look at keepalived on the control plane")

    def _soak(self) -> None:
        self._begin("soak")
        since: float | None = None

        def soaked() -> str | None:
            nonlocal since
            macs = self.segment.vip_macs()
            holder = self._holder(macs)
            if holder not in self.cluster.nodes:
                since = None
                return _census(macs)
            if not self.segment.is_ready(self.cluster.vip):
                since = None
                return f"{holder} holds it; its API is not ready"
            since = self.clock.now() if since is None else since
            left = self.cluster.soak_s - (self.clock.now() - since)
            return None if left <= 0 else f"{holder} holds it and serves; {left:.0f} s of the soak left"

        self._until(soaked, SOAKS * self.cluster.soak_s, "Look at the API of the control plane")

    def _back(self, guest: Guest, cause: OkdBaremetalError) -> None:
        """Give the VIP back to the bootstrap, and say so in the error.

        The bootstrap can serve again only while its own API is up; a payload that has ended it made its choice.
        """
        self._begin("back")

        def back() -> str | None:
            macs = self.segment.vip_macs()
            return None if self._holder(macs) == self.cluster.bootstrap_name else _census(macs)

        try:
            answer = guest.say("status")
            if "api=yes" in answer:
                guest.say("hold")
                self._until(back, BACK_S, "Look at keepalived on the bootstrap")
                outcome = f"the VIP is on {self.cluster.bootstrap_name} again, nothing was lost"
            else:
                outcome = f"the bootstrap's own API is down ({answer}), so the VIP was left where it is"
        except OkdBaremetalError as error:
            outcome = f"giving it back failed: {error.what}"
        raise HandoffUnsafeError(f"{cause.what}; {outcome}", where=self._vip, hint=cause.hint) from cause

    def _holder(self, macs: frozenset[str]) -> str | None:
        return holder_of(macs, self.cluster, self.segment.macs_of)

    def _until(self, missing: Callable[[], str | None], deadline_s: float, hint: str) -> None:
        """Poll until nothing is missing."""
        until = self.clock.now() + deadline_s
        while seen := missing():
            left = until - self.clock.now()
            if left <= 0:
                what = f"at {self.timeline[-1]['state']}: {seen}, after {deadline_s:g} s"
                raise HandoffUnsafeError(what, where=self._vip, hint=hint)
            if self.clock.now() >= self._beat:
                self._beat = self.clock.now() + HEARTBEAT_S
                self.report(f"{self.timeline[-1]['state']}: {seen}; {left:.0f} s left")
            self.clock.sleep(POLL_S)

    def _begin(self, state: str) -> None:
        if not self.timeline:
            self._started = self.clock.now()
        self.timeline.append({"state": state, "at_s": round(self.clock.now() - self._started, 2)})
        self._beat = 0.0
        self.report(state)

    def _result(self, felt: dict[str, Any]) -> dict[str, Any]:
        macs = self.segment.vip_macs()
        self._begin("done")
        return {"holder": self._holder(macs), "macs": sorted(macs), "timeline": self.timeline, "felt": felt}

    @property
    def _vip(self) -> str:
        return f"API VIP {self.cluster.vip}"


def holder_of(macs: frozenset[str], cluster: Cluster, macs_of: Callable[[str], frozenset[str]]) -> str | None:
    """Name of the machine that alone answers the VIP; None: nobody, several, or a stranger."""
    if macs == {cluster.bootstrap_mac}:
        return cluster.bootstrap_name
    alone = len(macs) == 1
    return next((name for name, address in cluster.nodes.items() if alone and macs_of(address) == macs), None)


def _census(macs: frozenset[str]) -> str:
    return f"answered by {' and '.join(sorted(macs))}" if macs else "answered by nobody"
