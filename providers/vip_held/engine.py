"""Proves that exactly one of the machines that may hold a VIP does, and that a router serves there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from base.clock import Clock, Wait
from base.errors import VipError
from base.progress import Progress, Report, with_time_left
from base.shown import few
from cluster.values.balancer import Balancer
from wires.segment.vip_holder import vip_holder

SITE_BALANCER = "the site's balancer"
"""Name in place of a holder."""
FIX = {
    Balancer.CLUSTER: "look at the routers and keepalived there",
    Balancer.OPERATOR: "look at the routers, and at the pods of keepalived in openshift-kni-infra there",
    Balancer.SITE: f"look at the routers, and at the backends of {SITE_BALANCER} on 443",
}


@dataclass(frozen=True)
class VipHeldEngine:
    """Probes of one VIP."""

    vip: str
    nodes: Mapping[str, str]
    """Address of each machine that may hold it, by name."""
    macs_of: Callable[[str], frozenset[str]]
    router: Callable[[str], str | None]
    """Returns why no router serves at an address; None if one does."""
    clock: Clock
    report: Report
    balancer: Balancer = Balancer.CLUSTER

    def holder(self) -> tuple[str | None, list[str]]:
        """Return the one machine that holds the VIP, or None, and every MAC that answers it."""
        if self.balancer is Balancer.SITE:
            return SITE_BALANCER, []
        macs = self.macs_of(self.vip)
        return vip_holder([macs], self.nodes, self.macs_of), sorted(macs)

    def prove(self, *, deadline_s: float) -> tuple[str, list[str]]:
        """Wait until exactly one machine holds the VIP and serves there, and return it and every MAC that answers.

        Raises:
            VipError: After `deadline_s` seconds no machine, several, or a stranger held it, or no router served.
        """
        proof = list[tuple[str, list[str]]]()

        def missing() -> str | None:
            holder, macs = self.holder()
            if not holder:
                answering = " and ".join(few(macs)) or "nobody"
                return f"answered by {answering}, wanted exactly one of {', '.join(self.nodes)}"
            if problem := self.router(self.vip):
                return f"held by {holder}, but no router serves there ({problem})"
            proof.append((holder, macs))
            return None

        if late := Wait(self.clock, deadline_s).until(missing, with_time_left(self.report, "waiting")):
            raise VipError(f"{late}, after {deadline_s:g} s", where=f"VIP {self.vip}", fix=FIX[self.balancer])
        [(holder, macs)] = proof
        self.report(Progress("proved", f"held by {holder}"))
        return holder, macs
