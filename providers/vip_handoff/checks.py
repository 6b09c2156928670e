"""The checks of the handoff's states; each returns what is missing, or None."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from providers.vip_handoff.model import ClusterProbe, Signal, VipHandoffSpec
from wires.segment.holder import Seen, holder_of

NOBODY, NO_ONE_MACHINE = "nobody", "no one machine"
"""Names in place of a holder: no machine answers the VIPs; several machines or a stranger do."""


@dataclass(frozen=True)
class Checks:
    """The checks of one cluster."""

    spec: VipHandoffSpec
    probe: ClusterProbe
    signal: Signal | None
    """None if there is no kubeconfig."""
    note: Callable[[str], None]
    """Called with the holder of the VIPs after each probe of them."""

    def vips_served(self) -> str | None:
        """One known machine answers the VIPs, with API and config server behind them."""
        seen, holder = self.census()
        if holder is None:
            return self._answered_by(seen)
        if problem := self._problem():
            return f"{holder} holds it; {problem}"
        served = all(self.probe.serves_config(vip) for vip in self.spec.vips)
        return None if served else f"{holder} holds it; no config server yet"

    def control_plane_ready(self) -> str | None:
        """`min_ready` nodes answer /readyz on 6443, one serves 22623, one known machine answers the VIPs."""
        unready = [f"{name} ({at})" for name, at in self.spec.nodes.items() if self.probe.problem(at)]
        ready = len(self.spec.nodes) - len(unready)
        if ready < self.spec.min_ready:
            wanted = f"{ready} of the wanted {self.spec.min_ready} are ready"
            return f"{' and '.join(unready)} without answer to /readyz on 6443; {wanted}"
        if not any(self.probe.serves_config(address) for address in self.spec.nodes.values()):
            return "no node of the control plane serves 22623"
        return self._held_by([self.spec.bootstrap_name, *self.spec.nodes])

    def control_plane_holds(self) -> str | None:
        """One control-plane node answers the VIPs."""
        return self._held_by(self.spec.nodes)

    def control_plane_serves(self) -> str | None:
        """One control-plane node answers the VIPs, and the API is ready through them."""
        seen, holder = self.census()
        if holder not in self.spec.nodes:
            return self._answered_by(seen)
        problem = self._problem()
        return f"{holder} holds it; {problem}" if problem else None

    def payload_complete(self) -> str | None:
        """As in *soak*; with a kubeconfig in the payload, OKD also reports that its bootstrap is complete."""
        missing = self.control_plane_serves()
        return self.signal(self.spec.vips[0]) if self.signal and not missing else missing

    def bootstrap_holds(self) -> str | None:
        """The bootstrap alone answers the VIPs."""
        return self._held_by([self.spec.bootstrap_name])

    def census(self) -> tuple[Seen, str | None]:
        """Return the MACs that answer each VIP, and the one machine of the cluster that answers all, or None."""
        seen = self.probe.vip_macs()
        holder = self._holder(seen)
        self.note(holder or (NO_ONE_MACHINE if any(seen) else NOBODY))
        return seen, holder

    def _holder(self, seen: Seen) -> str | None:
        return holder_in(self.spec, seen, self.probe.macs_of)

    def _held_by(self, wanted: Collection[str]) -> str | None:
        seen, holder = self.census()
        return None if holder in wanted else self._answered_by(seen)

    def _problem(self) -> str | None:
        problem = next(filter(None, map(self.probe.problem, self.spec.vips)), None)
        return f"its API is not ready ({problem})" if problem else None

    def _answered_by(self, seen: Seen) -> str:
        if len(set(seen)) == 1:
            return f"answered by {self._names(seen[0])}"
        each = (f"{vip} by {self._names(macs)}" for vip, macs in zip(self.spec.vips, seen, strict=True))
        return f"answered: {', '.join(each)}"

    def _names(self, macs: frozenset[str]) -> str:
        owners = {mac: self._holder([frozenset({mac})]) for mac in sorted(macs)}
        return " and ".join(f"{owner or 'a stranger'} ({mac})" for mac, owner in owners.items()) or NOBODY


def holder_in(spec: VipHandoffSpec, seen: Seen, macs_of: Callable[[str], frozenset[str]]) -> str | None:
    """Return the one machine of the cluster that answers all VIPs, or None. The bootstrap is known by its MAC."""
    if set(seen) == {frozenset({spec.bootstrap_mac})}:
        return spec.bootstrap_name
    return holder_of(seen, spec.nodes, macs_of)
