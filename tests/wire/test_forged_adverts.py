"""Adverts from beyond a router: rendered files of two machines, run by real keepalived, and one that attacks them.

The test is the router. Machines on the segment itself can take a VIP: docs/explanation/handoff.md says so.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.values.address import IPV4, Address
from testing.documents import commands
from testing.namespaces import in_own_network, ip, needs_root
from testing.scene.cluster import Cluster, cluster_of
from testing.scene.foreign_machines import Router, foreign_router
from testing.scene.machine import BRIDGE, Machine, until
from wires.segment.vrrp import adverts

pytestmark = needs_root

ADVERTS = 4
"""More than the three that a MASTER may miss before another machine takes its VIP."""
BEYOND = "beyond"
NEW = r"^.*(TTL|unicast_ttl|check_unicast_src).*\n| min_ttl .*"
"""What version 0.1.0 did not write."""


@contextmanager
def attacker(cluster: Cluster, forged: bool, folder: Path) -> Iterator[None]:
    """Run a keepalived beyond the router that claims the API VIP with a higher priority.

    It sends from its own address, or from that of a peer, which it then has, too.
    """
    (vip,) = cluster.vips
    is_ipv4 = vip.version == IPV4
    router, own, bits = ("198.51.100.1", "198.51.100.9", 24) if is_ipv4 else ("2001:db8::1", "2001:db8::9", 64)
    peer = cluster.plan.control_plane[1].address_of(vip.version)
    targets = [str(cluster.bootstrap.addresses[0]), str(cluster.nodes["okd-master-0"].addresses[0])]
    claim = Router(
        cluster.plan.api.vrid,
        f"{vip}/{vip.max_prefixlen}",
        version=2 if is_ipv4 else 3,
        peers=targets,
        source=str(peer) if forged else own,
    )
    ip(f"link add {BEYOND} type bridge")
    ip(f"link set {BEYOND} up")
    ip(f"address add {router}/{bits} dev {BEYOND}{'' if is_ipv4 else ' nodad'}")
    addresses = [f"{own}/{bits}", *([f"{peer}/{vip.max_prefixlen}"] if forged else [])]
    with foreign_router(BEYOND, addresses, claim, folder, via=router):
        yield


def route_packets(vip: Address) -> None:
    """Have this machine route, and not ask whether a packet's source lies where it came from."""
    if vip.version == IPV4:
        settings = {"ipv4/ip_forward": 1, "ipv4/conf/all/rp_filter": 0, "ipv4/conf/default/rp_filter": 0}
    else:
        settings = {"ipv6/conf/all/forwarding": 1}
    for name, value in settings.items():
        Path(f"/proc/sys/net/{name}").write_text(f"{value}\n")


@pytest.mark.parametrize("forged", [False, True], ids=["foreign-address", "address-of-a-peer"])
@pytest.mark.parametrize("name", ["rehearsal", "ipv6"])
def test_no_advert_from_beyond_a_router_takes_the_vip(
    name: str, forged: bool, tmp_path: Path, certificate: str
) -> None:
    """S1. Both machines are sent adverts: the holder keeps the VIP, and when it dies the other one takes it."""

    def scenario() -> None:
        with cluster_of(name, tmp_path, certificate) as cluster:
            (vip,) = cluster.vips
            bootstrap, node = cluster.bootstrap, cluster.nodes["okd-master-0"]
            route_packets(vip)
            for target in (bootstrap, node):
                target.run(
                    "ip", "route", "add", "default", "via", str(next(cluster.plan.machine_networks[0].hosts()))
                )
            bootstrap.start_keepalived(cluster.vips)
            node.start_keepalived(cluster.vips)
            cluster.until_held_by("okd-bootstrap")

            def has_been_attacked() -> bool:
                assert bootstrap.holds(vip), bootstrap.log("keepalived")
                return min(refused(bootstrap), refused(node)) >= ADVERTS

            with attacker(cluster, forged, tmp_path):
                until("adverts", has_been_attacked)
                assert not node.holds(vip)
                assert (
                    "Entering BACKUP STATE" not in bootstrap.log("keepalived").partition("Entering MASTER STATE")[2]
                )
                bootstrap.die()
                until("the VIP on the node", lambda: node.holds(vip))

    in_own_network(scenario)


def refused(machine: Machine) -> int:
    """Return the number of adverts that a machine's keepalived has refused so far."""
    log = machine.log("keepalived")
    return log.count("not a unicast peer") + log.count("not in range 255 - 255")


@pytest.mark.parametrize("name", ["rehearsal", "ipv6"])
def test_installed_servers_are_closed_one_by_one_with_one_holder(name: str, tmp_path: Path, certificate: str) -> None:
    """S1. The commands of day-two.md, on servers with the file of version 0.1.0, end at the file of today."""

    def scenario() -> None:
        with cluster_of(name, tmp_path, certificate) as cluster:
            nodes = [cluster.nodes[server.name] for server in cluster.plan.control_plane[:2]]
            running = {}
            wanted = [conf(node).read_text() for node in nodes]
            for node, text in zip(nodes, wanted, strict=True):
                conf(node).write_text(re.sub(NEW, "", text, flags=re.MULTILINE))
                running[node.name] = node.start_keepalived(cluster.vips)
            for step in ("unicast_src_ip", "check_unicast_src"):
                edit, _, rest = commands("how-to/day-two.md", step).partition("systemctl restart okd-keepalived\n")
                assert not rest
                for node in nodes:
                    node.run("bash", "-c", edit)
                    node.stop_keepalived(running[node.name])
                    running[node.name] = node.start_keepalived(cluster.vips)
                    cluster.until_held_by("okd-master-0")
                    senders = {advert.source for advert in adverts(BRIDGE, wait_s=ADVERTS)}
                    assert senders == {str(nodes[0].addresses[0])}
            assert [plain(conf(node).read_text()) for node in nodes] == [plain(text) for text in wanted]

    in_own_network(scenario)


def conf(machine: Machine) -> Path:
    return machine.folder / "etc/okd-baremetal/keepalived.conf"


def plain(text: str) -> list[str]:
    """Return the lines without comments."""
    return [line for line in text.splitlines() if not line.strip().startswith("#")]
