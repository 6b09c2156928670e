"""Faults while the VIP moves on platform baremetal: each row of its table in docs/explanation/handoff.md.

The bootstrap has the rendered files; the nodes have a keepalived as the machine-config operator sets it up.
"""

import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from base.errors import ConfigError
from providers.vip_handoff.model import VipHandoffOuts
from providers.vip_handoff.states import CONFIGURED_S
from testing import clusters
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
LEFT = [*RELEASED, "leave"]
STRANGER = "0a:00:00:00:00:01"
AWAY_S = 40
"""Limit for the bootstrap to give the VIP up after its API has ended: 18 s, and as much again on a busy machine."""


def start(scene: Scene, *healthy: str) -> None:
    """Start all machines; the clock then skips the time that the operator's monitor needs."""
    scene.start(*healthy)
    scene.handoff.when["gate: as wanted"] = partial(skip, scene, CONFIGURED_S)


def skip(scene: Scene, seconds: float) -> None:
    scene.handoff.clock.skipped_s += seconds


def moved(scene: Scene, lost: int = 0) -> VipHandoffOuts:
    """Move the VIP without a fault, and return the outcome. At most `lost` connects may fail."""
    start(scene, *NODES)
    outs = scene.done(LEFT)
    assert outs.clients["connects_failed"] <= lost, outs.clients["problems"]
    assert outs.clients["requests_failed_after_retry"] == 0, outs.clients["problems"]
    assert scene.handoff.states == ["gate", "ask", "release", "leave", "soak", "await", "let go", "done"]
    scene.measured(f"handoff on platform baremetal: gap {outs.gap_ms} ms, {outs.probes_sent} probes, {outs.seconds}")
    return outs


def none(scene: Scene) -> None:
    moved(scene)


def ipv6(scene: Scene) -> None:
    """A SYN between announcement and route is lost (ADR 47), and comes again only after a connect's limit."""
    moved(scene, lost=2)


def never_ready(scene: Scene) -> None:
    scene.start(*NODES[:2])
    scene.refused("gate", "okd-master-2", "2 of the wanted 3 are ready")
    assert scene.handoff.sent == UNTOUCHED


def keepalived_not_configured(scene: Scene) -> None:
    """The operator's monitor has not written keepalived.conf on any node."""
    scene.cluster.start_bootstrap()
    for name in NODES:
        scene.cluster.start_services(name)
    scene.cluster.until_held_by("okd-bootstrap")
    scene.handoff.when["gate: as wanted"] = partial(skip, scene, CONFIGURED_S)
    scene.handoff.time_is_up_at = ("release: ", "answered by okd-bootstrap")
    scene.returned(RELEASED, "at release: answered by okd-bootstrap", "the VIP is on the bootstrap again")


def nodes_die_after_release(scene: Scene) -> None:
    start(scene, *NODES)

    def die() -> None:
        for node in scene.nodes:
            node.die()
        scene.cluster.nodes.clear()

    scene.handoff.when["soak"] = die
    began = time.monotonic()
    scene.returned(LEFT, "at soak", "the VIP is on the bootstrap again")
    scene.measured(f"all nodes die after the bootstrap left: returned after {time.monotonic() - began:.0f} s")


def holder_dies_in_soak(scene: Scene) -> None:
    start(scene, *NODES)
    scene.handoff.soak_s = 6
    first = list[str]()

    def die() -> None:
        (holder,) = scene.cluster.holders()
        first.append(holder)
        scene.cluster.nodes.pop(holder).die()

    scene.handoff.when["soak: as wanted"] = die
    outs = scene.done(LEFT)
    assert [outs.holder] != first
    assert outs.seconds["soak"] > scene.handoff.soak_s + 3, "the soak restarted"


def channel_silent(scene: Scene) -> None:
    start(scene, *NODES)
    scene.cluster.bootstrap.kill("okd-vip-channel")
    scene.refused("ask", "no answer to status")
    assert scene.handoff.sent == ASKED


def own_api_ends(scene: Scene, *healthy: str) -> None:
    """End the bootstrap's own API, and wait until only a healthy node has the VIP."""
    scene.cluster.bootstrap.kill("stand_in_api.py")
    until("the bootstrap gave the VIP up", lambda: "okd-bootstrap" not in scene.cluster.holders(), AWAY_S)
    scene.cluster.until_held_by(*healthy)


def own_api_torn_down(scene: Scene) -> None:
    start(scene, *NODES)
    own_api_ends(scene, *NODES)
    assert scene.handoff.prove_bootstrap() in NODES
    scene.done(ASKED)
    assert scene.handoff.states == ["gate", "watch", "await", "let go", "done"]


def one_of_two_serves(scene: Scene) -> None:
    first, second = NODES[:2]
    start(scene, first)
    own_api_ends(scene, first)
    assert scene.handoff.prove_bootstrap() == first

    def second_serves() -> None:
        scene.cluster.nodes[second].start_api(scene.cluster.certificate, scene.cluster.answer_ms)

    scene.handoff.when[f"gate: {second}"] = second_serves
    outs = scene.done(ASKED)
    assert not scene.handoff.when, "the gate waited for the second node"
    assert (outs.holder, scene.handoff.states) == (first, ["gate", "watch", "await", "let go", "done"])


def vm_killed_at_gate(scene: Scene) -> None:
    start(scene, *NODES)
    scene.handoff.when["gate"] = scene.cluster.bootstrap.die
    scene.done(ASKED)


def vm_killed_in_soak(scene: Scene) -> None:
    start(scene, *NODES)
    scene.handoff.when["soak"] = scene.cluster.bootstrap.die
    scene.done(LEFT)


def keepalived_stopped(scene: Scene) -> None:
    start(scene, *NODES)
    scene.cluster.bootstrap.stop_keepalived(scene.cluster.bootstrap_keepalived)
    scene.done(ASKED)


def two_macs(scene: Scene) -> None:
    start(scene, *NODES)
    scene.cluster.bootstrap.kill("keepalived")  # which leaves the VIP on its NIC
    until("a node holds it as well", lambda: len(scene.cluster.holders()) == 2)
    scene.handoff.time_is_up_at = ("answered by", "okd-bootstrap", "okd-master-")
    both = f"okd-bootstrap ({scene.cluster.bootstrap_mac})", "okd-master-"
    scene.fails("at leave: answered by ", *both, "returning the VIP failed")
    assert scene.handoff.sent == [*LEFT, "hold"]


def foreign_device(scene: Scene) -> None:
    scene.stack.enter_context(neighbour(BRIDGE, "stranger", STRANGER, f"{scene.vip}/24"))
    start(scene, *NODES)
    scene.refused("gate", f"a stranger ({STRANGER})")
    assert scene.handoff.sent == UNTOUCHED


def not_through_the_vip(scene: Scene) -> None:
    for node in scene.nodes:
        filtered(node, "tcp dport 9445 drop")
    start(scene, *NODES)
    scene.returned(LEFT, "at soak", "holds it; its API is not ready")


def own_api_ends_in_soak(scene: Scene) -> None:
    for node in scene.nodes:
        filtered(node, "tcp dport 9445 drop")
    start(scene, *NODES)
    scene.handoff.when |= {"soak": partial(scene.cluster.bootstrap.kill, "stand_in_api.py")}
    scene.fails("returning the VIP failed: at back: answered by okd-master-")
    assert scene.handoff.sent == [*LEFT, "hold"]
    assert scene.cluster.holders() < {*NODES}


def own_link_drops(scene: Scene) -> None:
    behind_an_uplink(scene.nodes)
    start(scene, *NODES)
    drops_own_link_in_soak(scene)
    outs = scene.done(LEFT)
    assert outs.seconds["soak"] > scene.handoff.soak_s + 2.5, "the soak restarted"


def without_raw_sockets(scene: Scene) -> None:
    start(scene, *NODES)
    give_up_raw_sockets()
    scene.done(LEFT)


def payload_completes_late(scene: Scene) -> None:
    start(scene, *NODES)
    completes_late(scene)
    assert scene.done(LEFT).completion == "complete"


def payload_never_complete(scene: Scene) -> None:
    start(scene, *NODES)
    scene.serves_the_signal(status="progressing", removed="True")
    scene.handoff.time_is_up_at = ("await: ConfigMap",)
    scene.fails("at await: ConfigMap kube-system/bootstrap: status 'progressing', wanted")
    assert scene.handoff.sent == LEFT
    assert scene.cluster.holders() < {*NODES}
    vip = scene.cluster.vips[0]
    until("no VIP on lo", lambda: not scene.cluster.bootstrap.has_on_lo(vip), LO_FREE_S)


def killed_after_let_go(scene: Scene) -> None:
    start(scene, *NODES)
    scene.move_killed_after_let_go()
    start_again(scene)
    scene.done(ASKED)


def killed_in_watch(scene: Scene) -> None:
    start(scene, *NODES)
    own_api_ends(scene, *NODES)
    scene.move_killed("watch: ")
    assert scene.handoff.channel("status") == "held vip=no api=no"
    start_again(scene)
    scene.done(ASKED)


def killed_in_back(scene: Scene) -> None:
    for node in scene.nodes:
        filtered(node, "tcp dport 9445 drop")
    start(scene, *NODES)
    scene.move_killed("back")
    start_again(scene)
    scene.returned(ASKED, "at soak: okd-master-", "its API is not ready")


def killed(scene: Scene, line: str, status: str) -> None:
    """Kill a move once it has reported `line`, then complete a second one; `status` is the guest's answer between."""
    start(scene, *NODES)
    scene.move_killed(line)
    assert re.fullmatch(status, scene.handoff.channel("status"))
    start_again(scene)
    scene.done(None)


def start_again(scene: Scene) -> None:
    scene.handoff.when = {"gate: as wanted": partial(skip, scene, CONFIGURED_S)}


KILLED = {
    "killed-at-gate": ("gate: ", "held vip=yes api=yes"),
    "killed-at-ask": ("ask", "held vip=yes api=yes"),
    "killed-in-release": ("sent release", "released vip=yes api=yes"),
    "killed-in-leave": ("sent leave", "released vip=(yes|no) api=yes"),
    "killed-in-soak": ("soak: ", "released vip=no api=yes"),
    "killed-in-await": ("await", "released vip=no api=yes"),
    "killed-before-let-go": ("let go", "released vip=no api=yes"),
}
"""The line after which the provider is killed, and the guest's answer then. The next `up` completes each move."""
SCENES: dict[str, Callable[[Scene], None]] = {
    **{
        scene.__name__.replace("_", "-"): scene
        for scene in (
            none,
            ipv6,
            never_ready,
            keepalived_not_configured,
            nodes_die_after_release,
            holder_dies_in_soak,
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
            own_link_drops,
            without_raw_sockets,
            payload_completes_late,
            payload_never_complete,
            killed_after_let_go,
            killed_in_watch,
            killed_in_back,
        )
    },
    **{name: partial(killed, line=line, status=status) for name, (line, status) in KILLED.items()},
}
REFUSED = {
    "dual-stack": ("dual-stack", "platform.baremetal.apiVIPs"),
    "multicast-filtered": ("multicast", "vrrp.api"),
    "preempt": ("preempt", "vrrp.policy"),
}
"""Faults of platform none that no cluster of platform baremetal has: its cluster, and the setting that is refused."""
BAREMETAL = {"platform": "baremetal"}
CLUSTERS: dict[str, tuple[str, dict[str, Any]]] = {
    "ipv6": ("baremetal-ipv6", {}),
    "one-of-two-serves": ("arbiter", BAREMETAL),
}
FAULTS = {
    row["on platform baremetal"].strip("`"): row["end"]
    for row in table("explanation/handoff.md", "on platform baremetal")
}
ALONE = {"none", "ipv6"}
"""None of their connects may fail, and a busy machine stretches each."""


def test_each_row_of_the_document_has_a_scene() -> None:
    assert list(FAULTS) == list(SCENES)


def test_each_fault_of_platform_none_is_a_row_here_or_refused() -> None:
    others = [row["row"].strip("`") for row in table("explanation/handoff.md", "row")]
    assert [name for name in others if name not in FAULTS] == [*REFUSED]
    for cluster, where in REFUSED.values():
        with pytest.raises(ConfigError, match=rf"{where}: .* the machine-config operator's keepalived"):
            clusters.plan(cluster, **BAREMETAL)


ROWS = [
    pytest.param(name, end, id=name, marks=[pytest.mark.alone] if name in ALONE else [])
    for name, end in FAULTS.items()
]


@pytest.mark.parametrize(("name", "end"), ROWS)
def test_a_fault_on_baremetal_ends_as_the_document_says(
    name: str, end: str, tmp_path: Path, certificate: str, measured: Measured
) -> None:
    kind, options = CLUSTERS.get(name, ("baremetal", {}))

    def work() -> None:
        with (
            cluster_of(kind, tmp_path, certificate, **options) as cluster,
            handoff_of(cluster) as handoff,
            ExitStack() as stack,
        ):
            scene = Scene(cluster, handoff, stack, measured)
            SCENES[name](scene)
            assert scene.handoff.states[-1] == end

    in_own_network(work)
