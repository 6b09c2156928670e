"""Faults while the VIP moves: the rows of the table in docs/explanation/handoff.md, each met for real."""

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from testing.documents import table
from testing.namespaces import give_up_raw_sockets, in_own_network, ip, needs_root, neighbour
from testing.scene.cluster import segment
from testing.scene.live import live
from testing.scene.scene import ASKED, NODES, RELEASED, UNTOUCHED, Measured, Scene, behind_an_uplink, filtered
from testing.scene.segment import BRIDGE, until

pytestmark = needs_root
STRANGER = "0a:00:00:00:00:01"


def none(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    outs = scene.done(RELEASED)
    assert (outs["probes_failed"], scene.live.states) == (
        0,
        ["gate", "ask", "release", "soak", "await", "let go", "done"],
    )
    assert outs["completion"] == "not asked: no kubeconfig"
    assert [outs["holders"][end]["holder"] for end in (0, -1)] == ["okd-bootstrap", outs["holder"]]
    assert 0 < outs["gap_at_s"] < outs["timeline"][-1]["at_s"]
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
    outs = scene.returned(RELEASED, "at soak", "answered by okd-bootstrap", "the VIP is on the bootstrap again")
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
    outs = scene.done(ASKED)
    assert (outs["holder"], scene.live.states) == (held, ["gate", "watch", "await", "let go", "done"])
    return outs


def vm_killed_at_gate(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    scene.live.when["gate"] = scene.net.bootstrap.die
    return scene.done(ASKED)


def vm_killed_in_soak(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    scene.live.when["soak"] = scene.net.bootstrap.die
    return scene.done(RELEASED)


def keepalived_stopped(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    scene.net.bootstrap.stop_keepalived(scene.net.bootstrap_keepalived)
    return scene.done(ASKED)


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
    return scene.returned(RELEASED, "at soak", "okd-master-0 holds it; its API is not ready")


def own_api_ends_in_soak(scene: Scene) -> dict[str, Any]:
    for node in scene.nodes:
        filtered(node, "tcp dport 9445 drop")
    scene.start(*NODES)
    bootstrap = scene.net.bootstrap

    def has_seen_it() -> None:
        until("its rank without an API", lambda: bootstrap.priorities()[-1:] == [30])

    scene.live.when |= {"soak": partial(bootstrap.kill, "api.py"), "back": has_seen_it}
    outs = scene.live.move()
    assert "giving it back failed: at back: answered by okd-master-0" in outs["error"]
    assert (scene.live.said, scene.live.stopped) == ([*RELEASED, "hold"], False)
    assert scene.net.holders() == {"okd-master-0"}
    return outs


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
    return scene.done(ASKED)


def without_raw_sockets(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    give_up_raw_sockets()
    assert scene.live.prove_bootstrap()["holder"] == "okd-bootstrap"
    return scene.done(RELEASED)


def payload_completes_late(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    scene.sees_the_payload(status="complete", removed="False")

    def complete() -> None:
        assert not scene.live.stopped
        scene.sees_the_payload(status="complete", removed="True")

    scene.live.when["await: etcd's condition EtcdBootstrapMemberRemoved: False"] = complete
    outs = scene.done(RELEASED)
    assert outs["completion"] == "complete"
    assert not scene.live.when, "it was asked, and waited for"
    return outs


def payload_never_complete(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    scene.sees_the_payload(status="progressing", removed="True")
    scene.live.deadline_s = 6
    outs = scene.live.move()
    assert "at await: ConfigMap kube-system/bootstrap: status 'progressing', wanted" in outs["error"]
    assert (scene.live.said, scene.live.stopped) == (RELEASED, False)
    assert scene.net.holders() == {"okd-master-0"}
    return outs


def killed_at_gate(scene: Scene) -> dict[str, Any]:
    return killed(scene, "gate: ", "held vip=yes api=yes")


def killed_at_ask(scene: Scene) -> dict[str, Any]:
    return killed(scene, "ask", "held vip=yes api=yes")


def killed_in_release(scene: Scene) -> dict[str, Any]:
    return killed(scene, "release: ", "released vip=(yes|no) api=yes")


def killed_in_soak(scene: Scene) -> dict[str, Any]:
    return killed(scene, "soak: ", "released vip=no api=yes")


def killed_in_await(scene: Scene) -> dict[str, Any]:
    return killed(scene, "await", "released vip=no api=yes")


def killed_before_let_go(scene: Scene) -> dict[str, Any]:
    return killed(scene, "let go", "released vip=no api=yes")


def killed_after_let_go(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    vm = scene.net.bootstrap.process
    # The process that is killed is no parent of the VM's, so that its Popen cannot end it there.
    scene.live.when["let go"] = partial(os.kill, vm.pid, signal.SIGKILL)
    scene.move_killed("done")
    assert vm.wait(5) == -signal.SIGKILL
    scene.live.when.clear()
    return scene.done(ASKED)


def killed_in_watch(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    scene.net.bootstrap.kill("api.py")
    scene.net.until_held_by(*NODES)
    scene.move_killed("watch: ")
    assert scene.live.channel("status") == "held vip=no api=no"
    return scene.done(ASKED)


def killed_in_back(scene: Scene) -> dict[str, Any]:
    for node in scene.nodes:
        filtered(node, "tcp dport 9445 drop")
    scene.start(*NODES)
    scene.move_killed("back")
    return scene.returned(ASKED, "at soak: okd-master-0 holds it; its API is not ready")


def killed(scene: Scene, line: str, status: str) -> dict[str, Any]:
    """The outcome of the second of two moves; the first is killed when it has said this line.

    Between them the guest's `status` is like that.
    """
    scene.start(*NODES)
    scene.move_killed(line)
    assert re.fullmatch(status, scene.live.channel("status"))
    return scene.done(None)


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
