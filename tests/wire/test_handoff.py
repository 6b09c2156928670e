"""Faults while the VIP moves: each row of the table in docs/explanation/handoff.md, on real keepalived."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from providers.vip_handoff.model import VipHandoffOuts
from testing.documents import table
from testing.namespaces import give_up_raw_sockets, in_own_network, needs_root, neighbour
from testing.scene.cluster import cluster_of
from testing.scene.fault import (
    ASKED,
    NODES,
    RELEASED,
    UNTOUCHED,
    Measured,
    Scene,
    behind_an_uplink,
    completes_late,
    drops_own_link_in_soak,
    filtered,
)
from testing.scene.handoff import handoff_of
from testing.scene.machine import BRIDGE, LO_FREE_S, until

pytestmark = needs_root
STRANGER = "0a:00:00:00:00:01"


def moved(scene: Scene) -> VipHandoffOuts:
    """Move the VIP without a fault, and return the outcome."""
    scene.start(*NODES)
    outs = scene.done(RELEASED)
    assert outs.probes_failed == 0, outs.clients
    assert scene.handoff.states == ["gate", "ask", "release", "soak", "await", "let go", "done"]
    assert outs.completion == "not asked: no kubeconfig"
    assert [outs.holders[end]["holder"] for end in (0, -1)] == ["okd-bootstrap", outs.holder]
    assert outs.gap_at_s is not None
    assert 0 < outs.gap_at_s < outs.timeline[-1]["at_s"]
    scene.measured(f"handoff: gap {outs.gap_ms} ms, {outs.probes_sent} probes, {outs.seconds}")
    return outs


def none(scene: Scene) -> None:
    moved(scene)


def ipv6(scene: Scene) -> None:
    moved(scene)


def dual_stack(scene: Scene) -> None:
    holder = scene.cluster.nodes[str(moved(scene).holder)]
    assert all(map(holder.holds, scene.cluster.vips)), "both VIPs are on one node"


def never_ready(scene: Scene) -> None:
    scene.start(*NODES[:2])
    scene.refused("gate", "okd-master-2", "2 of the wanted 3 are ready")
    assert scene.handoff.sent == UNTOUCHED
    assert scene.cluster.holders() == {"okd-bootstrap"}


def holder_dies_in_soak(scene: Scene) -> None:
    scene.start(*NODES)
    # VRRP takes 4 s to move the VIP; haproxy there takes up to 12 s to notice that a member is gone.
    scene.handoff.soak_s = 6
    scene.handoff.when["soak: as wanted"] = scene.cluster.nodes["okd-master-0"].die
    outs = scene.done(RELEASED)
    assert outs.holder == "okd-master-1"
    assert outs.seconds["soak"] > scene.handoff.soak_s + 3, "the soak restarted"
    scene.measured(f"the holder dies in the soak: gap {outs.gap_ms} ms, {outs.seconds}")


def nodes_die_after_release(scene: Scene) -> None:
    scene.start(*NODES)
    answered: list[float] = []

    def die() -> None:
        for node in scene.nodes:
            node.die()
        scene.cluster.nodes.clear()
        answered.append(until("the VIP answered again", lambda: scene.cluster.bootstrap.holds(scene.cluster.vips[0])))
        assert scene.handoff.sent == RELEASED, "by itself: nobody has asked the bootstrap to take it back"

    scene.handoff.when["soak"] = die
    scene.returned(RELEASED, "at soak", "answered by okd-bootstrap", "the VIP is on the bootstrap again")
    scene.measured(f"all nodes die after the release: the VIP is answered again after {answered[0]:.1f} s")


def channel_silent(scene: Scene) -> None:
    scene.start(*NODES)
    scene.cluster.bootstrap.kill("okd-vip-channel")
    scene.refused("ask", "no answer to status")
    assert scene.handoff.sent == ASKED
    assert scene.cluster.holders() == {"okd-bootstrap"}


def own_api_torn_down(scene: Scene) -> None:
    scene.start(*NODES)
    assert scene.handoff.prove_bootstrap() == "okd-bootstrap"
    scene.cluster.bootstrap.kill("stand_in_api.py")
    scene.cluster.until_held_by(*NODES)
    held = scene.handoff.prove_bootstrap()
    outs = scene.done(ASKED)
    assert (outs.holder, scene.handoff.states) == (held, ["gate", "watch", "await", "let go", "done"])


def one_of_two_serves(scene: Scene) -> None:
    first, second = NODES[:2]
    scene.start(first)
    scene.cluster.bootstrap.kill("stand_in_api.py")
    scene.cluster.until_held_by(first)
    assert scene.handoff.prove_bootstrap() == first

    def second_serves() -> None:
        scene.cluster.nodes[second].start_api(scene.cluster.certificate, scene.cluster.answer_ms)

    scene.handoff.when[f"gate: {second}"] = second_serves
    outs = scene.done(ASKED)
    assert not scene.handoff.when, "the gate waited for the second node"
    assert (outs.holder, scene.handoff.states) == (first, ["gate", "watch", "await", "let go", "done"])


def vm_killed_at_gate(scene: Scene) -> None:
    scene.start(*NODES)
    scene.handoff.when["gate"] = scene.cluster.bootstrap.die
    scene.done(ASKED)


def vm_killed_in_soak(scene: Scene) -> None:
    scene.start(*NODES)
    scene.handoff.when["soak"] = scene.cluster.bootstrap.die
    scene.done(RELEASED)


def keepalived_stopped(scene: Scene) -> None:
    scene.start(*NODES)
    scene.cluster.bootstrap.stop_keepalived(scene.cluster.bootstrap_keepalived)
    scene.done(ASKED)


def two_macs(scene: Scene) -> None:
    scene.start(*NODES)
    scene.cluster.bootstrap.kill("keepalived")  # which leaves the VIP on its NIC
    until("a node holds it as well", lambda: len(scene.cluster.holders()) == 2)
    scene.refused("gate", f"okd-bootstrap ({scene.cluster.bootstrap_mac})", "okd-master-0 (")
    assert scene.handoff.sent == UNTOUCHED


def foreign_device(scene: Scene) -> None:
    scene.stack.enter_context(neighbour(BRIDGE, "stranger", STRANGER, f"{scene.vip}/24"))
    scene.start(*NODES)
    scene.refused("gate", f"a stranger ({STRANGER})")
    assert scene.handoff.sent == UNTOUCHED


def not_through_the_vip(scene: Scene) -> None:
    for node in scene.nodes:
        filtered(node, "tcp dport 9445 drop")
    scene.start(*NODES)
    scene.returned(RELEASED, "at soak", "okd-master-0 holds it; its API is not ready")


def own_api_ends_in_soak(scene: Scene) -> None:
    for node in scene.nodes:
        filtered(node, "tcp dport 9445 drop")
    scene.start(*NODES)
    bootstrap = scene.cluster.bootstrap

    def has_seen_it() -> None:
        until("its rank without an API", lambda: bootstrap.priorities()[-1:] == [30])

    scene.handoff.when |= {"soak": partial(bootstrap.kill, "stand_in_api.py"), "back": has_seen_it}
    scene.fails("returning the VIP failed: at back: answered by okd-master-0")
    assert scene.handoff.sent == [*RELEASED, "hold"]
    assert scene.cluster.holders() == {"okd-master-0"}


def multicast_filtered(scene: Scene) -> None:
    for each in [scene.cluster.bootstrap, *scene.nodes]:
        filtered(each, "ip protocol 112 drop")
    scene.cluster.start_bootstrap()
    for name in NODES:
        scene.cluster.start_node(name)
    until("all hold it", lambda: len(scene.cluster.holders()) == 4)
    scene.refused("gate", "okd-bootstrap (", *(f"{name} (" for name in NODES))
    assert scene.handoff.sent == UNTOUCHED


def own_link_drops(scene: Scene) -> None:
    behind_an_uplink(scene.nodes)
    scene.start(*NODES)
    drops_own_link_in_soak(scene)
    outs = scene.done(RELEASED)
    assert outs.gap_ms is not None
    assert outs.gap_ms > 2500, "the client has met the outage"
    assert outs.seconds["soak"] > scene.handoff.soak_s + 2.5, "the soak restarted"


def preempt(scene: Scene) -> None:
    scene.start(*NODES)
    scene.cluster.until_held_by(*NODES)
    assert scene.handoff.prove_bootstrap() in NODES
    scene.done(ASKED)


def without_raw_sockets(scene: Scene) -> None:
    scene.start(*NODES)
    give_up_raw_sockets()
    assert scene.handoff.prove_bootstrap() == "okd-bootstrap"
    scene.done(RELEASED)


def payload_completes_late(scene: Scene) -> None:
    scene.start(*NODES)
    completes_late(scene)
    assert scene.done(RELEASED).completion == "complete"
    assert not scene.handoff.when, "the signal was asked for, and waited for"


def payload_never_complete(scene: Scene) -> None:
    scene.start(*NODES)
    scene.serves_the_signal(status="progressing", removed="True")
    scene.handoff.time_is_up_at = ("await: ConfigMap",)
    bootstrap, vip = scene.cluster.bootstrap, scene.cluster.vips[0]
    began, on_lo = list[float](), list[bool]()
    scene.handoff.when |= {
        "release": lambda: began.append(time.monotonic()),
        "soak": lambda: on_lo.append(bootstrap.has_on_lo(vip)),
    }
    scene.fails("at await: ConfigMap kube-system/bootstrap: status 'progressing', wanted")
    assert scene.handoff.sent == RELEASED
    assert scene.cluster.holders() == {"okd-master-0"}
    assert on_lo == [True], "connections in flight are still accepted"
    until("no VIP on lo", lambda: not bootstrap.has_on_lo(vip), began[0] + LO_FREE_S - time.monotonic())


def killed_at_gate(scene: Scene) -> None:
    killed(scene, "gate: ", "held vip=yes api=yes")


def killed_at_ask(scene: Scene) -> None:
    killed(scene, "ask", "held vip=yes api=yes")


def killed_in_release(scene: Scene) -> None:
    killed(scene, "sent release", "released vip=(yes|no) api=yes")


def killed_in_soak(scene: Scene) -> None:
    killed(scene, "soak: ", "released vip=no api=yes")


def killed_in_await(scene: Scene) -> None:
    killed(scene, "await", "released vip=no api=yes")


def killed_before_let_go(scene: Scene) -> None:
    killed(scene, "let go", "released vip=no api=yes")


def killed_after_let_go(scene: Scene) -> None:
    scene.start(*NODES)
    scene.move_killed_after_let_go()
    scene.handoff.when.clear()
    scene.done(ASKED)


def killed_in_watch(scene: Scene) -> None:
    scene.start(*NODES)
    scene.cluster.bootstrap.kill("stand_in_api.py")
    scene.cluster.until_held_by(*NODES)
    scene.move_killed("watch: ")
    assert scene.handoff.channel("status") == "held vip=no api=no"
    scene.done(ASKED)


def killed_in_back(scene: Scene) -> None:
    for node in scene.nodes:
        filtered(node, "tcp dport 9445 drop")
    scene.start(*NODES)
    scene.move_killed("back")
    scene.returned(ASKED, "at soak: okd-master-0 holds it; its API is not ready")


def killed(scene: Scene, line: str, status: str) -> None:
    """Kill a move once it has reported `line`, then complete a second one.

    Between the two, the guest's answer to `status` matches the pattern `status`.
    """
    scene.start(*NODES)
    scene.move_killed(line)
    assert re.fullmatch(status, scene.handoff.channel("status"))
    scene.done(None)


SCENES: dict[str, Callable[[Scene], None]] = {
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
        one_of_two_serves,
        vm_killed_at_gate,
        vm_killed_in_soak,
        keepalived_stopped,
        two_macs,
        foreign_device,
        not_through_the_vip,
        own_api_ends_in_soak,
        multicast_filtered,
        own_link_drops,
        preempt,
        without_raw_sockets,
        payload_completes_late,
        payload_never_complete,
        killed_at_gate,
        killed_at_ask,
        killed_in_release,
        killed_in_soak,
        killed_in_await,
        killed_before_let_go,
        killed_after_let_go,
        killed_in_watch,
        killed_in_back,
    )
}
CLUSTERS = {
    "multicast-filtered": "multicast",
    "one-of-two-serves": "arbiter",
    **{name: name for name in ("ipv6", "dual-stack", "preempt")},
}
FAULTS = {row["row"].strip("`"): row["end"] for row in table("explanation/handoff.md", "row")}


def test_each_row_of_the_document_has_a_scene() -> None:
    assert list(FAULTS) == list(SCENES)


@contextmanager
def scene_of(name: str, folder: Path, certificate: str, measured: Measured) -> Iterator[Scene]:
    with (
        cluster_of(CLUSTERS.get(name, "rehearsal"), folder, certificate) as cluster,
        handoff_of(cluster) as handoff,
        ExitStack() as stack,
    ):
        yield Scene(cluster, handoff, stack, measured)


ALONE = {"nodes-die-after-release", "none", "ipv6", "dual-stack"}
"""They bound a time, which a busy machine stretches: of the way back, or of each connect, where none may fail."""


ROWS = [
    pytest.param(name, end, id=name, marks=[pytest.mark.alone] if name in ALONE else [])
    for name, end in FAULTS.items()
]


@pytest.mark.parametrize(("name", "end"), ROWS)
def test_a_fault_ends_as_the_document_says(
    name: str, end: str, tmp_path: Path, certificate: str, measured: Measured
) -> None:
    def work() -> None:
        with scene_of(name, tmp_path, certificate, measured) as scene:
            SCENES[name](scene)
            assert scene.handoff.states[-1] == end

    in_own_network(work)
