"""Which node leads network boots on: two nodes with their rendered files, run by real keepalived and haproxy."""

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from assets.render import render_role, render_server
from assets.services import PROXY
from boot_media.iso import Iso
from boot_media.media_server import MediaServer
from boot_media.netboot import ROOTFS, LiveFiles
from cluster.plan import Intent, Role
from testing import clusters
from testing.namespaces import MORTAL, SBIN, in_own_network, ip, needs_root, neighbour
from testing.scene.machine import Machine, bridge, machine, plug_in, until

pytestmark = needs_root
Measured = Callable[[str], None]

BRIDGE = "provisioning"
CLIENT = "okd-worker-0"
FIRST, SECOND = "okd-master-0", "okd-master-1"
VIP = "172.22.0.3"
CLAIM = "(okd_PROVISIONING_0) Entering MASTER STATE"
ROOTFS_BYTES = 256 << 20
RESET = 56
"""Exit code of curl for a connection that the other side does not know."""


@dataclass(frozen=True)
class Site:
    """Two nodes of the control plane and a server that boots; the test itself is the provisioner."""

    plan: Intent
    nodes: Mapping[str, Machine]
    client: list[str]
    """The prefix of the booting server's commands."""

    def start_keepalived(self, name: str) -> None:
        vips = [address for vip in self.plan.vips_of(Role.CONTROL_PLANE) for address in vip.addresses]
        self.nodes[name].start_keepalived(vips)

    def start_proxy(self, name: str) -> None:
        """As its unit does."""
        self.nodes[name].start_service(PROXY, "-W", "-db", "-f", "/etc/okd-baremetal/provisioning.cfg")

    def until_held_by(self, name: str) -> float:
        """Wait until only this node holds the VIP; return the seconds."""
        return until(f"the VIP on {name} alone", lambda: self.holders() == [name])

    def holders(self) -> list[str]:
        """Return the names of the nodes that hold the VIP."""
        assert self.plan.provisioning.cluster_ip
        return [name for name, node in self.nodes.items() if node.holds(self.plan.provisioning.cluster_ip)]

    def fetches(self) -> bool:
        """Whether the client gets the first script through the VIP."""
        command = [*self.client, "curl", "-sm", "5", f"http://{VIP}:6180/boot.ipxe"]
        run = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": SBIN})
        return run.stdout.startswith("#!ipxe\n")

    @contextmanager
    def downloading(self, path: str, into: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Have the client download a file for minutes, from some bytes of it before the block on."""
        # It asks an idle peer whether it is still there, as iPXE does, only sooner.
        slow = ["--limit-rate", "1M", "--keepalive-time", "1"]
        command = [*MORTAL, *self.client, "curl", "-s", *slow, "-o", str(into), f"http://{VIP}:6180/{path}"]
        with subprocess.Popen(command, env={"PATH": SBIN}) as download:
            try:
                until("bytes of the download", lambda: into.exists() and into.stat().st_size > 0)
                yield download
            finally:
                download.kill()


@contextmanager
def site(folder: Path, media: MediaServer, cluster: str = "managed") -> Iterator[Site]:
    """Make the machines; no program runs on the nodes yet."""
    plan = clusters.intent(cluster)
    assert plan.provisioning.cidr
    networks, shared = [plan.provisioning.cidr], render_role(plan, Role.CONTROL_PLANE)
    nodes = dict[str, Machine]()
    with ExitStack() as stack:
        stack.enter_context(bridge(plan.machine_networks))
        stack.enter_context(bridge(networks, BRIDGE))
        for server in plan.control_plane[:2]:
            assert server.provisioning_address
            node = stack.enter_context(machine(folder, plan, server, (*shared, *render_server(plan, server))))
            nodes[server.name] = node
            plug_in(node, "eth1", BRIDGE, networks, [server.provisioning_address])
        client = stack.enter_context(neighbour(BRIDGE, "client", "52:54:00:11:10:18", "172.22.0.13/24"))
        with (folder / "iso").open("wb") as base:
            base.truncate(ROOTFS_BYTES)
        files = LiveFiles({ROOTFS: (0, ROOTFS_BYTES)}, "")
        media.publish(CLIENT, Iso(folder / "iso", ROOTFS_BYTES, (), "digest", files))
        yield Site(plan, nodes, client)


def test_a_disconnected_holder_loses_the_vip_and_takes_it_back_later(tmp_path: Path, measured: Measured) -> None:
    def scenario() -> None:
        with MediaServer("172.22.0.1", 8080) as media, site(tmp_path, media) as here:
            for name in here.nodes:
                here.start_proxy(name)
                here.start_keepalived(name)
            here.until_held_by(FIRST)
            cable = here.nodes[FIRST].port("eth1")
            with here.downloading(f"digest/{CLIENT}/rootfs.img", tmp_path / "got") as download:
                ip(f"link set {cable} down")
                answered_s = until("an answer of the other node", here.fetches)
                assert here.holders() == [SECOND]
                assert download.wait(60) == RESET
            ip(f"link set {cable} up")
            back_s = here.until_held_by(FIRST)
            until("an answer of the first node", here.fetches)
            measured(f"provisioning VIP: holder cut off, answered in {answered_s:.1f} s, back in {back_s:.1f} s")

    in_own_network(scenario)


@pytest.mark.parametrize("cluster", ["managed", "balancer-managed"])
def test_a_node_whose_proxy_is_dead_does_not_claim_the_vip(cluster: str, tmp_path: Path) -> None:
    def scenario() -> None:
        with MediaServer("172.22.0.1", 8080) as media, site(tmp_path, media, cluster) as here:
            for name in here.nodes:
                here.start_keepalived(name)
            here.start_proxy(SECOND)
            here.until_held_by(SECOND)
            assert CLAIM not in here.nodes[FIRST].log("keepalived")
            until("an answer of the only node", here.fetches)
            here.start_proxy(FIRST)
            here.until_held_by(FIRST)
            assert CLAIM in here.nodes[FIRST].log("keepalived")
            here.nodes[FIRST].kill("provisioning.cfg")
            here.until_held_by(SECOND)
            until("an answer of the other node", here.fetches)

    in_own_network(scenario)
