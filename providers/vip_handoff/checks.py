"""What is looked at in each state of the handoff: nothing is missing, or what is."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from providers.vip_handoff.model import Cluster, Segment, Signal

Seen = Sequence[frozenset[str]]
"""MACs that answer each VIP."""
NOBODY, NO_ONE_MACHINE = "nobody", "no one machine"
"""Who holds the VIPs, where it is no machine of the cluster alone."""


@dataclass(frozen=True)
class Look:
    """One look at the cluster."""

    cluster: Cluster
    segment: Segment
    signal: Signal | None
    """None: the payload has none, or nothing to ask it with."""
    note: Callable[[str], None]
    """Told who holds the VIPs, each time that they are looked at."""

    def vips_served(self) -> str | None:
        """One known machine answers the VIPs, with API and config server behind them."""
        seen, holder = self.census()
        if holder is None:
            return self._told(seen)
        if problem := self._problem():
            return f"{holder} holds it; {problem}"
        served = all(self.segment.serves_config(vip) for vip in self.cluster.vips)
        return None if served else f"{holder} holds it; no config server yet"

    def control_plane_ready(self) -> str | None:
        """`min_ready` nodes answer /readyz on 6443, one serves 22623, one known machine answers the VIPs."""
        unready = [f"{name} ({at})" for name, at in self.cluster.nodes.items() if self.segment.problem(at)]
        ready = len(self.cluster.nodes) - len(unready)
        if ready < self.cluster.min_ready:
            wanted = f"{ready} of the wanted {self.cluster.min_ready} are ready"
            return f"{' and '.join(unready)} without answer to /readyz on 6443; {wanted}"
        if not any(self.segment.serves_config(address) for address in self.cluster.nodes.values()):
            return "no node of the control plane serves 22623"
        return self._held_by([self.cluster.bootstrap_name, *self.cluster.nodes])

    def control_plane_holds(self) -> str | None:
        """One control-plane node answers the VIPs."""
        return self._held_by(self.cluster.nodes)

    def control_plane_serves(self) -> str | None:
        """One control-plane node answers the VIPs, and the API is ready through them."""
        seen, holder = self.census()
        if holder not in self.cluster.nodes:
            return self._told(seen)
        problem = self._problem()
        return f"{holder} holds it; {problem}" if problem else None

    def payload_complete(self) -> str | None:
        """As in *soak*; and where the payload has its `auth/kubeconfig`, OKD says that its bootstrap may go."""
        missing = self.control_plane_serves()
        return self.signal(self.cluster.vips[0]) if self.signal and not missing else missing

    def bootstrap_holds(self) -> str | None:
        """The bootstrap alone answers the VIPs."""
        return self._held_by([self.cluster.bootstrap_name])

    def census(self) -> tuple[Seen, str | None]:
        """MACs that answer each VIP, and the machine that alone answers all; None: nobody, several, or a stranger."""
        seen = self.segment.vip_macs()
        holder = self._holder(seen)
        self.note(holder or (NO_ONE_MACHINE if any(seen) else NOBODY))
        return seen, holder

    def _holder(self, seen: Seen) -> str | None:
        return holder_of(seen, self.cluster, self.segment.macs_of)

    def _held_by(self, wanted: Collection[str]) -> str | None:
        seen, holder = self.census()
        return None if holder in wanted else self._told(seen)

    def _problem(self) -> str | None:
        problem = next(filter(None, map(self.segment.problem, self.cluster.vips)), None)
        return f"its API is not ready ({problem})" if problem else None

    def _told(self, seen: Seen) -> str:
        if len(set(seen)) == 1:
            return f"answered by {self._names(seen[0])}"
        each = (f"{vip} by {self._names(macs)}" for vip, macs in zip(self.cluster.vips, seen, strict=True))
        return f"answered: {', '.join(each)}"

    def _names(self, macs: frozenset[str]) -> str:
        owners = {mac: self._holder([frozenset({mac})]) for mac in sorted(macs)}
        return " and ".join(f"{owner or 'a stranger'} ({mac})" for mac, owner in owners.items()) or NOBODY


def holder_of(seen: Seen, cluster: Cluster, macs_of: Callable[[str], frozenset[str]]) -> str | None:
    """Name of the machine that alone answers all VIPs; None: nobody, several, or a stranger."""
    macs = seen[0]
    if len(macs) != 1 or set(seen) != {macs}:
        return None
    if macs == {cluster.bootstrap_mac}:
        return cluster.bootstrap_name
    return next((name for name, address in cluster.nodes.items() if macs_of(address) == macs), None)
