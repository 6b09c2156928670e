"""Faults while the VIP moves: the rows of the table in docs/explanation/handoff.md, each met for real."""

import json
import os
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from providers.probe.kubeconfig import read_kubeconfig
from providers.vip_handoff.okd import CONFIG_MAP, ETCD, REMOVED, Okd
from tests.documents import table
from tests.kubeconfigs import write_kubeconfig
from tests.namespaces import in_own_network, ip, needs_root, neighbour, until_it_forwards
from tests.wire.cluster import DOMAIN, Segment, segment
from tests.wire.live import Live, live
from tests.wire.segment import BRIDGE, RESOURCES, Machine, until

pytestmark = needs_root
STRANGER = "0a:00:00:00:00:01"
NODES = ["okd-master-0", "okd-master-1", "okd-master-2"]
UNTOUCHED: list[str] = []
RELEASED = ["status", "release"]
Measured = Callable[[str], None]


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

    def sees_the_payload(self, *, status: str, removed: str) -> None:
        """The API serves OKD's two signals to the client certificate of a kubeconfig, which is there."""
        folder = self.net.bootstrap.folder.parent
        etcd = {"conditions": [{"type": REMOVED, "status": removed}]}
        for path, resource in ((CONFIG_MAP, {"data": {"status": status}}), (ETCD, {"status": etcd})):
            file = folder / RESOURCES / path[1:]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.with_suffix(".new").write_text(json.dumps(resource))
            file.with_suffix(".new").rename(file)
        write_kubeconfig(folder / "payload")
        # An absolute path is no stack's name, and stays itself where it is joined to those of all stacks.
        kubeconfig = read_kubeconfig(str(folder))
        assert kubeconfig
        self.live.signal = Okd(kubeconfig.api(DOMAIN)).missing

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

    def move_killed(self, line: str) -> None:
        """Make a move in a process of its own, and kill it when it has said a line that begins so."""
        reached, reach = os.pipe()
        with warnings.catch_warnings(action="ignore"):  # from Python 3.12 on: a fork may meet locks of other threads
            mover = os.fork()
        if not mover:

            def stand_still() -> None:
                os.write(reach, b".")
                signal.pause()

            self.live.when[line] = stand_still
            try:
                self.live.move()
            finally:
                os._exit(1)
        os.close(reach)
        with open(reached, "rb") as end:
            said = end.read(1)
        os.kill(mover, signal.SIGKILL)
        os.waitpid(mover, 0)
        assert said, f"the move ended without the line {line!r}"

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
    assert (outs["holder"], scene.live.states) == (held, ["gate", "watch", "await", "let go", "done"])
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
    return scene.done(UNTOUCHED)


def killed_in_watch(scene: Scene) -> dict[str, Any]:
    scene.start(*NODES)
    scene.net.bootstrap.kill("api.py")
    scene.net.until_held_by(*NODES)
    scene.move_killed("watch: ")
    assert scene.live.channel("status") == "held vip=no api=no"
    return scene.done(UNTOUCHED)


def killed_in_back(scene: Scene) -> dict[str, Any]:
    for node in scene.nodes:
        filtered(node, "tcp dport 9445 drop")
    scene.start(*NODES)
    scene.move_killed("back")
    outs = scene.live.move()
    assert "at watch: okd-master-0 holds it; its API is not ready" in outs["error"]
    assert (scene.live.said, scene.live.stopped) == (UNTOUCHED, False)
    return outs


def killed(scene: Scene, line: str, status: str) -> dict[str, Any]:
    """The outcome of the second of two moves; the first is killed when it has said this line.

    Between them the guest's `status` is like that.
    """
    scene.start(*NODES)
    scene.move_killed(line)
    assert re.fullmatch(status, scene.live.channel("status"))
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
