"""The checks of the handoff's states; each returns what is missing, or None."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from assets.contract import ALIVE_PORT, API_PORT, CONFIG_PORT
from base.errors import HandoffUnsafeError
from base.shown import few
from payload.reading import payload_folder
from providers.vip_handoff.model import ClusterProbe, Save, Signal, VipHandoffSpec
from wires.segment.neighbours import asked_again
from wires.segment.vip_holder import CONTROL_PLANE, NO_ONE_MACHINE, NOBODY, AnsweringMacs, vip_holder


@dataclass(frozen=True)
class Checks:
    """The checks of one cluster."""

    spec: VipHandoffSpec
    probe: ClusterProbe
    signal: Signal | None
    """None if there is no kubeconfig."""
    save: Save
    note: Callable[[str, AnsweringMacs], None]
    """Called with the holder of the VIPs, and the MACs that answer each, after each probe of them."""
    handed_over: Signal | None = None
    """Asks whether Pacemaker runs etcd; None unless two nodes fence each other."""

    def vips_served(self) -> str | None:
        """One known machine answers the VIPs, with API and config server behind them."""
        answering, holder = self._census()
        if holder is None:
            return self._answered_by(answering)
        if problem := self._problem():
            return f"{holder} holds it; {problem}"
        served = all(self.probe.serves_config(vip) for vip in self.spec.vips)
        return None if served else f"{holder} holds it; no config server yet"

    def control_plane_ready(self) -> str | None:
        """`min_ready` nodes answer /readyz on 6443, one serves 22623, one known machine answers the VIPs."""
        return self._unready() or self._held_by([self.spec.bootstrap_name, *self.spec.nodes])

    def control_plane_balances(self) -> str | None:
        """As above; haproxy of `min_ready` nodes answers on 9444; a node may answer beside a released bootstrap."""
        if missing := self._unready():
            return missing
        nodes = self.spec.nodes.items()
        silent = [f"{name} ({at})" for name, at in nodes if not self.probe.accepts(at, ALIVE_PORT)]
        if len(nodes) - len(silent) < self.spec.min_ready:
            return f"haproxy of {' and '.join(silent)} does not answer on {ALIVE_PORT}"
        answering, holder = self._census()
        return None if holder or self._node_among(answering) else self._answered_by(answering)

    def etcd_saved(self) -> str | None:
        """Etcd gives a snapshot, which is kept in the store of `snapshots`."""
        return self.save()

    def node_answers(self) -> str | None:
        """One control-plane node answers the VIPs, alone or beside the bootstrap."""
        answering, _ = self._census()
        return None if self._node_among(answering) else self._answered_by(answering)

    def control_plane_holds(self) -> str | None:
        """One control-plane node answers the VIPs."""
        return self._held_by(self.spec.nodes)

    def control_plane_serves(self) -> str | None:
        """One control-plane node answers the VIPs, and the API is ready through them."""
        answering, holder = self._census()
        if holder not in self.spec.nodes:
            return self._answered_by(answering)
        problem = self._problem()
        return f"{holder} holds it; {problem}" if problem else None

    def payload_complete(self) -> str | None:
        """As in *soak*; with a kubeconfig in the payload, OKD also reports that its bootstrap is complete."""
        return self.control_plane_serves() or self._incomplete()

    def bootstrap_holds(self) -> str | None:
        """Only the bootstrap answers the VIPs."""
        return self._held_by([self.spec.bootstrap_name])

    def bootstrap_gone(self) -> str | None:
        """The bootstrap VM does not answer its own address any more, under whatever libvirt it runs."""
        name, at, mac = self.spec.bootstrap_name, self.spec.bootstrap_address, self.spec.bootstrap_mac
        if at and mac in asked_again(partial(self.probe.macs_of, at)):
            return f"{name} still answers {at} by its MAC {mac}: it runs under another libvirt than this one"
        return None

    def balancer_leads(self) -> str | None:
        """API and config server answer through the balancer."""
        missing = self._not_through()
        behind = self._noted_behind()
        if missing and behind == self.spec.bootstrap_name:
            return f"{missing}; {behind} ({self.spec.bootstrap_address}) itself is ready"
        return missing

    def balancer_leads_to_the_cluster(self) -> str | None:
        """API and config server answer through the balancer; the bootstrap itself or, after it, a node is ready."""
        addresses = (self.spec.bootstrap_address, *self.spec.nodes.values())
        if (missing := self.balancer_leads()) or any(self.probe.problem(address) is None for address in addresses):
            return missing
        name, at = self.spec.bootstrap_name, self.spec.bootstrap_address
        return f"the API answers through the balancer, but neither {name} ({at}) nor a node is ready itself"

    def balancer_leads_from_ready(self) -> str | None:
        """`min_ready` nodes answer /readyz on 6443, one serves 22623, both answer through the balancer."""
        return self._unready() or self.balancer_leads()

    def bootstrap_not_needed(self) -> str | None:
        """API and config server answer through the balancer, and the bootstrap accepts no connection for either."""
        missing = self._not_through()
        self._noted_behind()
        name, at = self.spec.bootstrap_name, self.spec.bootstrap_address
        if ports := [port for port in (API_PORT, CONFIG_PORT) if self.probe.accepts(at, port)]:
            numbers = " and ".join(map(str, ports))
            return f"{name} ({at}) still accepts connections on {numbers}, so the balancer may lead to it"
        return f"{missing}; {name} no longer serves: does the balancer still lead to it?" if missing else None

    def bootstrap_not_needed_and_complete(self) -> str | None:
        """As in *soak*; with a kubeconfig in the payload, OKD also reports that its bootstrap is complete."""
        return self.bootstrap_not_needed() or self._incomplete()

    def _census(self) -> tuple[AnsweringMacs, str | None]:
        """Return the MACs that answer each VIP, and the one machine of the cluster that answers all, or None."""
        answering = self.probe.vip_macs()
        holder = self._holder(answering)
        self.note(holder or (NO_ONE_MACHINE if any(answering) else NOBODY), answering)
        return answering, holder

    def _unready(self) -> str | None:
        if self.signal is None and self.spec.only_okd_knows_the_end:
            what = "no kubeconfig beside the payload, and only OKD itself knows when the bootstrap may end"
            fix = f"put auth/kubeconfig of the payload's own run into {payload_folder(self.spec.stack)}"
            raise HandoffUnsafeError(what, fix=fix)
        unready = [f"{name} ({at})" for name, at in self.spec.nodes.items() if self.probe.problem(at)]
        ready = len(self.spec.nodes) - len(unready)
        if ready < self.spec.min_ready:
            wanted = f"{ready} of the wanted {self.spec.min_ready} are ready"
            return f"{' and '.join(unready)} without answer to /readyz on 6443; {wanted}"
        if not any(self.probe.serves_config(address) for address in self.spec.nodes.values()):
            return "no node of the control plane serves 22623"
        return self._asked(self.handed_over)

    def _incomplete(self) -> str | None:
        return self._asked(self.signal) or self._asked(self.handed_over)

    def _asked(self, signal: Signal | None) -> str | None:
        return signal(self.spec.vips[0]) if signal else None

    def _behind(self) -> str:
        """Return who serves behind the balancer: the bootstrap, as long as its own API is ready; then the nodes."""
        if self.probe.problem(self.spec.bootstrap_address) is None:
            return self.spec.bootstrap_name
        return NOBODY if self.probe.problem(self.spec.vips[0]) else CONTROL_PLANE

    def _noted_behind(self) -> str:
        behind = self._behind()
        self.note(behind, ())
        return behind

    def _not_through(self) -> str | None:
        """Return what does not answer through the balancer."""
        for vip in self.spec.vips:
            if problem := self.probe.problem(vip):
                return f"the API is not ready through {vip} ({problem})"
            if not self.probe.serves_config(vip):
                return f"no config server answers through {vip} on {CONFIG_PORT}"
        return None

    def _holder(self, answering: AnsweringMacs) -> str | None:
        return known_vip_holder(self.spec, answering, self.probe.macs_of)

    def _node_among(self, answering: AnsweringMacs) -> str | None:
        """Return the one node that answers, whether or not the bootstrap does."""
        nodes = [macs - {self.spec.bootstrap_mac} for macs in answering]
        return vip_holder(nodes, self.spec.nodes, self.probe.macs_of)

    def _held_by(self, wanted: Collection[str]) -> str | None:
        answering, holder = self._census()
        return None if holder in wanted else self._answered_by(answering)

    def _problem(self) -> str | None:
        problem = next(filter(None, map(self.probe.problem, self.spec.vips)), None)
        return f"its API is not ready ({problem})" if problem else None

    def _answered_by(self, answering: AnsweringMacs) -> str:
        if len(set(answering)) == 1:
            return f"answered by {self._names(answering[0])}"
        answers = (f"{vip} by {self._names(macs)}" for vip, macs in zip(self.spec.vips, answering, strict=True))
        return f"answered: {', '.join(answers)}"

    def _names(self, macs: frozenset[str]) -> str:
        def named(mac: str) -> str:
            return f"{self._holder([frozenset({mac})]) or 'a stranger'} ({mac})"

        return " and ".join(named(each) if each in macs else each for each in few(macs)) or NOBODY


def known_vip_holder(
    spec: VipHandoffSpec, answering: AnsweringMacs, macs_of: Callable[[str], frozenset[str]]
) -> str | None:
    """Return the one machine of the cluster that answers all VIPs, or None. The bootstrap is known by its MAC."""
    if set(answering) == {frozenset({spec.bootstrap_mac})}:
        return spec.bootstrap_name
    return vip_holder(answering, spec.nodes, macs_of)
