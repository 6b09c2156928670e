"""A cluster for faults during a handoff, and assertions of how the handoff ends."""

import json
import os
import signal
import threading
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import pytest

from base.errors import HandoffUnsafeError
from payload.kubeconfig import read_kubeconfig
from providers.vip_handoff.model import VipHandoffOuts
from providers.vip_handoff.okd import CONFIG_MAP, REMOVED, Okd
from testing.kubeconfigs import write_kubeconfig
from testing.namespaces import ip, until_it_forwards
from testing.scene.cluster import DOMAIN, Cluster
from testing.scene.handoff import LiveHandoff
from testing.scene.machine import BRIDGE, RESOURCES, Machine
from wires.api.kubernetes import KubeApi
from wires.api.resources import ETCD

NODES = ["okd-master-0", "okd-master-1", "okd-master-2"]
UNTOUCHED: list[str] = []
ASKED = ["status"]
RELEASED = ["status", "release"]
"""Words on the channel, by how far a handoff went: nothing sent, status asked, VIP released."""
Measured = Callable[[str], None]


@dataclass
class Scene:
    """A cluster before its handoff."""

    cluster: Cluster
    handoff: LiveHandoff
    stack: ExitStack
    measured: Measured

    @property
    def nodes(self) -> list[Machine]:
        return list(self.cluster.nodes.values())

    @property
    def vip(self) -> str:
        return str(self.cluster.vips[0])

    def start(self, *healthy: str) -> None:
        """Start all machines, the API only on the named nodes, and wait until those are healthy."""
        self.cluster.start_all(*healthy)

    def serves_the_signal(self, *, status: str, removed: str) -> None:
        """Serve both parts of OKD's signal, and have the handoff read them with a kubeconfig."""
        folder = self.cluster.bootstrap.folder.parent
        etcd = {"conditions": [{"type": REMOVED, "status": removed}]}
        for path, resource in ((CONFIG_MAP, {"data": {"status": status}}), (ETCD, {"status": etcd})):
            file = folder / RESOURCES / path[1:]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.with_suffix(".new").write_text(json.dumps(resource))
            file.with_suffix(".new").rename(file)
        write_kubeconfig(folder / "payload")
        # An absolute path as the stack's name: joined to the folder of all stacks, it remains unchanged.
        kubeconfig = read_kubeconfig(str(folder))
        assert kubeconfig
        self.handoff.signal = Okd(KubeApi.by(kubeconfig, f"api.{DOMAIN}")).missing

    def fails(self, *words: str) -> str:
        """Assert that the move fails with these words and leaves the VM running; return the error."""
        with pytest.raises(HandoffUnsafeError) as caught:
            self.handoff.move()
        error = str(caught.value)
        assert [word for word in words if word not in error] == [], error
        assert not self.handoff.stopped
        return error

    def refused(self, state: str, *words: str) -> None:
        """Assert that the move is refused at this state with these words, and nothing was moved."""
        self.handoff.time_is_up_at = (f"{state}: ", *words)
        self.fails(f"at {state}: ", *words, "VIP and VM are untouched")

    def done(self, sent: list[str] | None) -> VipHandoffOuts:
        """Assert that the move succeeds after sending these words (None for any); return its outputs."""
        outs = self.handoff.move()
        assert outs.holder in NODES, outs
        assert sent is None or self.handoff.sent == sent
        assert self.handoff.stopped
        assert self.handoff.prove_control_plane() == outs.holder, "later runs agree"
        return outs

    def move_killed(self, line: str) -> None:
        """Move in a child process, and kill that when it has reported a line with this beginning."""
        reached, reach = os.pipe()
        with warnings.catch_warnings(action="ignore"):  # from Python 3.12 on: a fork may meet locks of other threads
            mover = os.fork()
        if not mover:

            def wait_for_the_end() -> None:
                os.write(reach, b".")
                signal.pause()

            self.handoff.when[line] = wait_for_the_end
            try:
                self.handoff.move()
            finally:
                os._exit(1)
        os.close(reach)
        with open(reached, "rb") as end:
            reported = end.read(1)
        os.kill(mover, signal.SIGKILL)
        os.waitpid(mover, 0)
        assert reported, f"the move ended without the line {line!r}"

    def move_killed_after_let_go(self) -> None:
        """Move as in `move_killed`, and kill the mover once the VM has ended, which the state does not record yet."""
        vm = self.cluster.bootstrap.process
        # The killed process is not the VM's parent, so its Popen cannot end the VM.
        self.handoff.when["let go"] = partial(os.kill, vm.pid, signal.SIGKILL)
        self.move_killed("done")
        assert vm.wait(60) == -signal.SIGKILL

    def returned(self, sent: list[str], *words: str) -> None:
        """Assert that the move fails with `words` and is undone, after `sent` and `hold` were sent."""
        self.fails(*words)
        assert self.handoff.sent == [*sent, "hold"]
        assert self.cluster.bootstrap.holds(self.cluster.vips[0])


def completes_late(scene: Scene) -> None:
    """Have OKD remove the bootstrap's member of etcd only once the handoff waits for that."""
    scene.serves_the_signal(status="complete", removed="False")

    def complete() -> None:
        assert not scene.handoff.stopped
        scene.serves_the_signal(status="complete", removed="True")

    scene.handoff.when["await: etcd's condition EtcdBootstrapMemberRemoved: False"] = complete


def drops_own_link_in_soak(scene: Scene) -> None:
    """Have the uplink of `behind_an_uplink` be down for 3 s in the soak, which takes 4 s."""
    scene.handoff.soak_s = 4

    def drop() -> None:
        ip("link set uplink down")
        back = threading.Timer(3, ip, ["link set uplink up"])
        scene.stack.callback(back.join)
        back.start()

    scene.handoff.when["soak"] = drop


def filtered(machine: Machine, rule: str) -> None:
    """Filter a machine's incoming packets."""
    hook = "type filter hook input priority 0;"
    machine.run("nft", f"table inet broken {{ chain input {{ {hook} iifname eth0 {rule}; }}; }}")


def behind_an_uplink(machines: list[Machine]) -> None:
    """Put machines on a separate switch, connected to the provisioner's bridge by a cable."""
    ip("link add switch type bridge")
    ip("link add uplink type veth peer name downlink")
    for command in ("switch up", f"uplink master {BRIDGE} up", "downlink master switch up"):
        ip(f"link set {command}")
    for machine in machines:
        ip(f"link set {machine.port()} master switch")
    for bridge, port in ((BRIDGE, "uplink"), ("switch", "downlink")):
        until_it_forwards(bridge, port)
