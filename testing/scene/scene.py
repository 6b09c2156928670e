"""Faults about to be met while the VIP moves, and the ends that they may have."""

import json
import os
import signal
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from payload.kubeconfig import read_kubeconfig
from providers.vip_handoff.okd import CONFIG_MAP, ETCD, REMOVED, Okd
from testing.kubeconfigs import write_kubeconfig
from testing.namespaces import ip, until_it_forwards
from testing.scene.cluster import DOMAIN, Segment
from testing.scene.live import Live
from testing.scene.segment import BRIDGE, RESOURCES, Machine

NODES = ["okd-master-0", "okd-master-1", "okd-master-2"]
UNTOUCHED: list[str] = []
ASKED = ["status"]
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

    def returned(self, said: list[str], *words: str) -> dict[str, Any]:
        """The outcome of a move that is taken back after these words to the guest: an error with these words."""
        outs = self.live.move()
        assert all(word in outs["error"] for word in words), outs
        assert self.live.said == [*said, "hold"]
        assert not self.live.stopped
        assert self.net.bootstrap.holds(self.net.vips[0])
        return outs


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
