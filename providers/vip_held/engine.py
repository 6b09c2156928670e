"""Proves that exactly one of the machines that may hold a VIP does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from providers.base.clock import Clock
from providers.base.errors import VipError
from providers.base.progress import Report
from wires.segment.holder import holder_of

POLL_S = 0.5


@dataclass(frozen=True)
class VipHeldEngine:
    """Probes of one VIP."""

    vip: str
    nodes: Mapping[str, str]
    """Address of each machine that may hold it, by name."""
    macs_of: Callable[[str], frozenset[str]]
    clock: Clock
    report: Report

    def holder(self) -> tuple[str | None, list[str]]:
        """Return the one machine that holds the VIP, or None, and every MAC that answers it."""
        macs = self.macs_of(self.vip)
        return holder_of([macs], self.nodes, self.macs_of), sorted(macs)

    def prove(self, *, deadline_s: float) -> tuple[str, list[str]]:
        """Wait until exactly one machine holds the VIP, and return it and every MAC that answers.

        Raises:
            VipError: No machine, several, or a stranger held it after `deadline_s` seconds.
        """
        until = self.clock.now() + deadline_s
        reported = None
        while True:
            holder, macs = self.holder()
            if holder:
                self.report(f"held by {holder}")
                return holder, macs
            if self.clock.now() >= until:
                seen = " and ".join(macs) or "nobody"
                what = f"answered by {seen}, wanted exactly one of {', '.join(self.nodes)}, after {deadline_s:g} s"
                fix = "look at the routers and keepalived there"
                raise VipError(what, where=f"VIP {self.vip}", fix=fix)
            if macs != reported:
                self.report(f"answered by {' and '.join(macs) or 'nobody'}; {until - self.clock.now():.0f} s left")
                reported = macs
            self.clock.sleep(POLL_S)
