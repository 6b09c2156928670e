"""Faults while the VIP moves: the rows of the table in docs/explanation/handoff.md, each met for real."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.documents import table
from tests.namespaces import in_own_network, ip, needs_root, neighbour, until_it_forwards
from tests.wire.cluster import Segment, segment
from tests.wire.live import Live, live
from tests.wire.segment import BRIDGE, Machine, until

pytestmark = needs_root
STRANGER = "0a:00:00:00:00:01"
NODES = ["okd-master-0", "okd-master-1", "okd-master-2"]
UNTOUCHED: list[str] = []
RELEASED = ["status", "release"]
Measured = Callable[[str], None]


class Killed(BaseException):
    """The provider is gone: nothing more is said or done."""


@dataclass
class Scene:
    """A fault about to be met."""

    net: Segment
    live: Live
    stack: ExitStack
    measured: Measured

    @property
    def nodes(self) -> list[Machine]:
        return list(self.net.nodes.values())

    @property
    def vip(self) -> str:
        return str(self.net.vips[0])

    def start(self, *healthy: str) -> None:
        """All machines; the API runs on the nodes that are named, and their keepalived has all that it can have."""
        self.net.start_bootstrap()
        self.net.until_held_by("okd-bootstrap")
        for name in NODES:
            self.net.start_node(name, healthy=name in healthy)
        self.net.until_healthy(*healthy)

    def refused(self, *words: str) -> dict[str, Any]:
        """The outcome of a move that is refused: an error with these words, and nothing was moved."""
        self.live.deadline_s = 6
        outs = self.live.move()
        assert all(word in outs["error"] for word in words), outs
        assert "VIP and VM are untouched" in outs["error"]
        assert not self.live.stopped
        return outs

    def done(self, said: list[str] | None) -> dict[str, Any]:
        """The outcome of a move that is made, with these words to the guest (None: whichever)."""
        outs = self.live.move()
        assert outs.get("holder") in NODES, outs
        assert said is None or self.live.said == said
        assert self.live.stopped
        assert self.live.prove_control_plane()["holder"] == outs["holder"], "later runs agree"
        return outs

    def returned(self, *words: str) -> dict[str, Any]:
        """The outcome of a move that is taken back."""
        outs = self.live.move()
        assert all(word in outs["error"] for word in words), outs
        assert self.live.said[-2:] == ["status", "hold"]
        assert not self.live.stopped
        assert self.net.bootstrap.holds(self.net.vips[0])
        return outs


def none(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    outs = scene.done(RELEASED)
    assert (outs["probes_failed"], scene.live.states) == (0, ["gate", "ask", "release", "soak", "let go", "done"])
    scene.measured(f"handoff: gap {outs['gap_ms']} ms, {outs['probes_sent']} probes, {outs['seconds']}")
    return outs


def ipv6(scene: Scene) -> dict[str, Any]:
    return none(scene)


def dual_stack(scene: Scene) -> dict[str, Any]:
    outs = none(scene)
    holder = scene.net.nodes[outs["holder"]]
    assert all(map(holder.holds, scene.net.vips)), "both VIPs are on one node"
    return outs


def never_ready(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES[:2])
    outs = scene.refused("at gate", "okd-master-2", "2 of the wanted 3 are ready")
    assert scene.live.said == UNTOUCHED
    assert scene.net.holders() == {"okd-bootstrap"}
    return outs


def holder_dies_in_soak(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    # VRRP takes 4 s of it, and haproxy there up to 12 s to see that a member is gone.
    scene.live.soak_s = 6
    scene.live.when["soak: as wanted"] = scene.net.nodes["okd-master-0"].die
    outs = scene.done(RELEASED)
    assert outs["holder"] == "okd-master-1"
    assert outs["seconds"]["soak"] > scene.live.soak_s + 3, "the soak began anew"
    scene.measured(f"the holder dies in the soak: gap {outs['gap_ms']} ms, {outs['seconds']}")
    return outs


def nodes_die_after_release(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    answered: list[float] = []

    def die() -> None:
        for node in scene.nodes:
            node.die()
        scene.net.nodes.clear()
        answered.append(until("the VIP answered again", lambda: scene.net.bootstrap.holds(scene.net.vips[0])))

    scene.live.when["soak"] = die
    outs = scene.returned("at soak", "answered by okd-bootstrap", "the VIP is on the bootstrap again")
    assert answered[0] < 5
    scene.measured(f"all nodes die after the release: the VIP is answered again after {answered[0]:.1f} s")
    return outs


def channel_silent(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    scene.net.bootstrap.kill("okd-vip-channel")
    outs = scene.refused("at ask", "no answer to status")
    assert scene.net.holders() == {"okd-bootstrap"}
    return outs


def own_api_torn_down(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    assert scene.live.prove_bootstrap()["holder"] == "okd-bootstrap"
    scene.net.bootstrap.kill("api.py")
    scene.net.until_held_by(*NODES)
    held = scene.live.prove_bootstrap()["holder"]
    outs = scene.done(UNTOUCHED)
    assert (outs["holder"], scene.live.states) == (held, ["gate", "watch", "let go", "done"])
    return outs


def vm_killed_at_gate(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    scene.live.when["gate"] = scene.net.bootstrap.die
    return scene.done(UNTOUCHED)


def vm_killed_in_soak(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    scene.live.when["soak"] = scene.net.bootstrap.die
    return scene.done(RELEASED)


def keepalived_stopped(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    scene.net.bootstrap.stop_keepalived(scene.net.bootstrap_keepalived)
    return scene.done(UNTOUCHED)


def two_macs(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    scene.net.bootstrap.kill("keepalived")  # which leaves the VIP on its NIC
    until("a node holds it as well", lambda: len(scene.net.holders()) == 2)
    outs = scene.refused("at gate", f"okd-bootstrap ({scene.net.bootstrap_mac})", "okd-master-0 (")
    assert scene.live.said == UNTOUCHED
    return outs


def foreign_device(scene: Scene) -> dict[str, Any]:
    scene.stack.enter_context(neighbour(BRIDGE, "stranger", STRANGER, f"{scene.vip}/24"))
    scene.start(*NODES)
    outs = scene.refused("at gate", f"a stranger ({STRANGER})")
    assert scene.live.said == UNTOUCHED
    return outs


def not_through_the_vip(scene: Scene) -> dict[str, Any]:
    for node in scene.nodes:
        filtered(node, "tcp dport 9445 drop")
    scene.start(*NODES)
    return scene.returned("at soak", "okd-master-0 holds it; its API is not ready")


def multicast_filtered(scene: Scene) -> dict[str, Any]:
    for each in [scene.net.bootstrap, *scene.nodes]:
        filtered(each, "ip protocol 112 drop")
    scene.net.start_bootstrap()
    for name in NODES:
        scene.net.start_node(name)
    until("all hold it", lambda: len(scene.net.holders()) == 4)
    outs = scene.refused("at gate", "okd-bootstrap (", *(f"{name} (" for name in NODES))
    assert scene.live.said == UNTOUCHED
    return outs


def own_link_drops(scene: Scene) -> dict[str, Any]:
    behind_an_uplink(scene.nodes)
    scene.start(*NODES)
    scene.live.soak_s = 4

    def drop() -> None:
        ip("link set uplink down")
        back = threading.Timer(3, ip, ["link set uplink up"])
        scene.stack.callback(back.join)
        back.start()

    scene.live.when["soak"] = drop
    outs = scene.done(RELEASED)
    assert outs["gap_ms"] > 2500, "the client has seen it"
    assert outs["seconds"]["soak"] > scene.live.soak_s + 2.5, "the soak began anew"
    return outs


def preempt(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    scene.net.until_held_by(*NODES)
    assert scene.live.prove_bootstrap()["holder"] in NODES
    return scene.done(UNTOUCHED)


def killed_in_release(scene: Scene) -> dict[str, Any]:
    return killed(scene, "release: ")


def killed_in_soak(scene: Scene) -> dict[str, Any]:
    return killed(scene, "soak: ")


def killed_before_let_go(scene: Scene) -> dict[str, Any]:
    return killed(scene, "let go")


def killed(scene: Scene, line: str) -> dict[str, Any]:
    """The outcome of the second of two moves; the first ends without a word when it would say this line."""
    scene.start(*NODES)

    def kill() -> None:
        raise Killed

    scene.live.when[line] = kill
    with pytest.raises(Killed):
        scene.live.move()
    assert scene.live.said == RELEASED
    assert not scene.live.stopped
    return scene.done(None)


def filtered(machine: Machine, rule: str) -> None:
    """A filter on what comes in."""
    hook = "type filter hook input priority 0;"
    machine.run("nft", f"table inet broken {{ chain input {{ {hook} iifname eth0 {rule}; }}; }}")


def behind_an_uplink(machines: list[Machine]) -> None:
    """Put machines on a switch of their own, which a cable joins to the provisioner's bridge."""
    ip("link add switch type bridge")
    ip("link add uplink type veth peer name downlink")
    for command in ("switch up", f"uplink master {BRIDGE} up", "downlink master switch up"):
        ip(f"link set {command}")
    for machine in machines:
        ip(f"link set p{machine.pid} master switch")
    for bridge, port in ((BRIDGE, "uplink"), ("switch", "downlink")):
        until_it_forwards(bridge, port)


SCENES: dict[str, Callable[[Scene], dict[str, Any]]] = {
    scene.__name__.replace("_", "-"): scene
    for scene in (
        none,
        ipv6,
        dual_stack,
        never_ready,
        holder_dies_in_soak,
        nodes_die_after_release,
        channel_silent,
        own_api_torn_down,
        vm_killed_at_gate,
        vm_killed_in_soak,
        keepalived_stopped,
        two_macs,
        foreign_device,
        not_through_the_vip,
        multicast_filtered,
        own_link_drops,
        preempt,
        killed_in_release,
        killed_in_soak,
        killed_before_let_go,
    )
}
CLUSTERS = {"multicast-filtered": "multicast", **{name: name for name in ("ipv6", "dual-stack", "preempt")}}
FAULTS = {row["row"].strip("`"): row["end"] for row in table("explanation/handoff.md", "row")}


def test_the_documents_rows_are_the_tests() -> None:
    assert list(FAULTS) == list(SCENES)


@contextmanager
def scene_of(name: str, folder: Path, certificate: str, measured: Measured) -> Iterator[Scene]:
    with (
        segment(CLUSTERS.get(name, "rehearsal"), folder, certificate) as net,
        live(net) as at_work,
        ExitStack() as stack,
    ):
        yield Scene(net, at_work, stack, measured)


@pytest.mark.parametrize(("name", "end"), FAULTS.items(), ids=FAULTS)
def test_a_fault_ends_as_the_document_says(
    name: str, end: str, tmp_path: Path, certificate: str, measured: Measured
) -> None:
    def work() -> None:
        with scene_of(name, tmp_path, certificate, measured) as scene:
            outs = SCENES[name](scene)
            assert scene.live.states[-1] == end, outs

    in_own_network(work)
