"""The real handoff engine over machines in network namespaces: real probes, the real script on the guest's side.

What stands in: a pseudo-terminal for the virtio channel, and the end of a machine's namespaces for its power button.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from providers.base.clock import SystemClock
from providers.base.errors import HandoffUnsafeError, HypervisorError
from providers.vip_handoff.engine import HandoffEngine
from providers.vip_handoff.model import Cluster, Signal
from providers.vip_handoff.provider import Lan, measuring
from testing.certificates import authority
from testing.scene.cluster import DOMAIN, Segment
from testing.scene.segment import vip_channel
from wires.api.api import Api

STABLE_S, SOAK_S = 1.0, 2.0


@dataclass
class Live:
    """A segment, and what the engine needs of it. Implements its `Guest`."""

    net: Segment
    channel: Callable[[str], str]
    signal: Signal | None = None
    said: list[str] = field(default_factory=list)
    """Words on the channel."""
    when: dict[str, Callable[[], object]] = field(default_factory=dict)
    """What to do when a line of progress begins so, once."""
    deadline_s: float = 60
    soak_s: float = SOAK_S
    states: list[str] = field(default_factory=list)
    """Those of the last move."""
    stopped: bool = False

    def say(self, word: str) -> str:
        """See `Guest`."""
        self.said.append(word)
        try:
            return self.channel(word)
        except TimeoutError as error:
            raise HypervisorError(str(error)) from error

    def stop(self) -> None:
        """See `Guest`."""
        self.stopped = True
        self.net.bootstrap.die()

    def move(self) -> dict[str, Any]:
        """The move of phase `production`; of one that failed, the error's text as `error`."""
        engine = self._engine()
        try:
            return _outcome(engine.move)
        finally:
            self.states = [entry["state"] for entry in engine.timeline]

    def prove_bootstrap(self) -> dict[str, Any]:
        """The proof of phase `bootstrap`."""
        return _outcome(self._engine().prove_bootstrap)

    def prove_control_plane(self) -> dict[str, Any]:
        """The proof of a later `up` in phase `production`."""
        return _outcome(self._engine().prove_control_plane)

    def _engine(self) -> HandoffEngine:
        plan, vips = self.net.plan, tuple(map(str, self.net.vips))
        cluster = Cluster(
            vips=vips,
            bootstrap_name=plan.bootstrap.name,
            bootstrap_mac=self.net.bootstrap_mac,
            nodes={server.name: str(server.address) for server in plan.control_plane},
            min_ready=len(plan.control_plane),
            stable_s=STABLE_S,
            soak_s=self.soak_s,
            deadline_s=self.deadline_s,
            bootstrap_s=60,
        )
        api = Api(DOMAIN, authority("test-ca").pem)
        work = (partial(measuring, vips, api), SystemClock(engine=""), self._hear)
        return HandoffEngine(cluster, Lan(vips, api), self, self.signal, *work)

    def _hear(self, line: str) -> None:
        for begin in [begin for begin in self.when if line.startswith(begin)]:
            self.when.pop(begin)()


def _outcome(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return work()
    except HandoffUnsafeError as error:
        return {"error": str(error)}


@contextmanager
def live(net: Segment) -> Iterator[Live]:
    """The guest's script at work."""
    with vip_channel(net.bootstrap) as say:
        yield Live(net, say)
