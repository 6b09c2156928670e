"""A handoff engine over a fake cluster, with a fake clock."""

from typing import Any

import pytest

from base.errors import HandoffUnsafeError
from cluster.values.balancer import Balancer
from providers.vip_handoff.engine import HandoffEngine
from providers.vip_handoff.model import VipHandoffOuts, VipHandoffSpec
from testing.fakes.clock import FakeClock
from testing.fakes.lan import BOOTSTRAP, MACS, SPEC, VIP, FakeLan
from testing.progress import into

FIRST, SECOND = "192.0.2.21", "192.0.2.22"
TAKEN = frozenset({MACS[SECOND]})
HELD = frozenset({BOOTSTRAP})
BOTH = f"okd-bootstrap ({BOOTSTRAP}) and master-1 ({MACS[SECOND]})"
TOOK_IT: dict[str, Any] = {"macs": [(0, TAKEN)]}
RELEASED: dict[str, Any] = {"macs": [(0, TAKEN)], "state": "released"}
"""A node took the VIP after the `release` of a run that was killed."""


class Rig:
    """A handoff engine and its fake cluster."""

    def __init__(self, spec: VipHandoffSpec = SPEC, *, signals: bool = False, **lan: Any) -> None:
        self.clock = FakeClock()
        self.lan = FakeLan(self.clock, **lan)
        self.lines: list[str] = []
        signal = self.lan.missing if signals or spec.balancer is Balancer.OPERATOR else None
        kept = self.lan.kept if spec.fenced else None
        self.engine = HandoffEngine(
            spec, self.lan, self.lan, signal, self.lan.save, self.lan.client, self.clock, into(self.lines), kept
        )

    def move(self) -> VipHandoffOuts:
        return self.engine.move()

    def fails(self) -> HandoffUnsafeError:
        """Move, and return the error with which the move must fail."""
        with pytest.raises(HandoffUnsafeError) as caught:
            self.move()
        assert not self.lan.stopped_at, "the VM must still run"
        assert "\n" not in str(caught.value)
        assert VIP in str(caught.value)
        return caught.value

    @property
    def states(self) -> list[str]:
        return [entry["state"] for entry in self.engine.timeline]

    def at(self, state: str) -> float:
        return float(next(entry["at_s"] for entry in self.engine.timeline if entry["state"] == state))
