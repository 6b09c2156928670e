"""Which machine holds the API VIP: rendered files of a bootstrap and three nodes, run by real keepalived."""

import time
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

import pytest

from cluster.values.address import IPV6, Address
from testing.namespaces import in_own_network, needs_root
from testing.scene.cluster import Cluster, cluster_of, connects_of_a_client
from testing.scene.machine import LO_FREE_S, Machine, until, vip_channel
from wires.api.client import Attempts

pytestmark = needs_root
Measured = Callable[[str], None]


@pytest.mark.parametrize("name", ["rehearsal", "dual-stack", "multicast", "compact"])
def test_policy_release_moves_the_vip_only_after_the_bootstrap_releases_it(
    name: str, tmp_path: Path, certificate: str, measured: Measured
) -> None:
    def scenario() -> None:
        with cluster_of(name, tmp_path, certificate) as cluster:
            cluster.start_all(*cluster.nodes)
            assert cluster.holders() == {"okd-bootstrap"}
            with vip_channel(cluster.bootstrap) as send, connects_of_a_client(cluster.vips[-1]) as connects:
                assert send("status") == "held vip=yes api=yes"
                began = time.monotonic()
                assert send("release").startswith("released ")
                assert vips_on_lo(cluster) == [*cluster.vips], "connections in flight are still accepted"
                moved_s = cluster.until_held_by("okd-master-0")
                assert send("status") == "released vip=no api=yes"
                assert routed(cluster.nodes["okd-master-0"]) == [vip for vip in cluster.vips if vip.version == IPV6]
                assert routed(cluster.bootstrap) == []
                cluster.restart_bootstrap()
                until("the word kept", lambda: cluster.bootstrap.priorities()[-1:] == [50])
                assert send("status") == "released vip=no api=yes"
                assert cluster.holders() == {"okd-master-0"}
            assert connects.failed == 0, connects.problems
            measured(f"{name}: released, moved in {moved_s:.1f} s, {figures(connects)}")
            with connects_of_a_client(cluster.vips[-1]) as connects:
                cluster.nodes.pop("okd-master-0").die()
                died_s = cluster.until_held_by("okd-master-1")
            measured(f"{name}: owner died, moved in {died_s:.1f} s, {figures(connects)}")
            until("no VIP on lo", lambda: vips_on_lo(cluster) == [], began + LO_FREE_S - time.monotonic())

    in_own_network(scenario)


def vips_on_lo(cluster: Cluster) -> list[Address]:
    """Return the VIPs on the bootstrap's loopback."""
    return [vip for vip in cluster.vips if cluster.bootstrap.has_on_lo(vip)]


def routed(machine: Machine) -> list[Address]:
    """Return the IPv6 addresses that a machine's keepalived has a local route for."""
    shown = machine.run("ip", "-6", "-o", "route", "show", "table", "local", "proto", "keepalived")
    return [ip_address(line.split()[1]) for line in shown.splitlines()]


@pytest.mark.parametrize("name", ["spares", "single"])
def test_spares_that_join_leave_the_vip_where_it_is(
    name: str, tmp_path: Path, certificate: str, measured: Measured
) -> None:
    def scenario() -> None:
        with cluster_of(name, tmp_path, certificate) as cluster:
            *first, next_one, last = cluster.nodes
            for node in first:
                cluster.start_node(node)
            cluster.until_healthy(*first)
            cluster.until_held_by("okd-master-0")
            spare_down = f"control_plane/{last} is DOWN"
            until("a spare is down", lambda: spare_down in cluster.nodes[first[-1]].log("haproxy"))
            with connects_of_a_client(cluster.vips[0]) as connects:
                for node in (next_one, last):
                    cluster.start_node(node)
                    cluster.until_healthy(node)
                    assert cluster.holders() == {"okd-master-0"}
                masters = [cluster.nodes[node].log("keepalived").count("MASTER STATE") for node in (next_one, last)]
                assert masters == [0, 0]
            assert connects.failed == 0, connects.problems
            measured(f"{name}: two spares join, {figures(connects)}")
            for node in first:
                cluster.nodes.pop(node).die()
            died_s = cluster.until_held_by(next_one)
            measured(f"{name}: all that were there first died, moved in {died_s:.1f} s")

    in_own_network(scenario)


@pytest.mark.alone
def test_policy_preempt_moves_the_vip_to_the_first_node_that_serves(
    tmp_path: Path, certificate: str, measured: Measured
) -> None:
    def scenario() -> None:
        with cluster_of("preempt", tmp_path, certificate) as cluster:
            cluster.start_bootstrap()
            cluster.until_held_by("okd-bootstrap")
            with connects_of_a_client(cluster.vips[0]) as connects:
                for name in ("okd-master-0", "okd-master-1"):
                    cluster.start_node(name, healthy=False)
                first = cluster.nodes["okd-master-0"]
                until("no API found", lambda: "control_plane has no server available" in first.log("haproxy"))
                until("every check failed", lambda: first.log("keepalived").count(" failed (") == 3)
                assert cluster.holders() == {"okd-bootstrap"}
                assert first.priorities() == []
                cluster.nodes["okd-master-1"].start_api(certificate)
                moved_s = cluster.until_held_by("okd-master-1")
            late = cluster.bootstrap.late_packets()
            assert connects.failed <= min(late, 1), f"{late} packets came late: {connects.problems}"
            measured(f"preempt: a node serves, moved in {moved_s:.1f} s, {figures(connects)}")
            cluster.start_node("okd-master-2")
            cluster.until_healthy("okd-master-2")
            assert cluster.holders() == {"okd-master-1"}
            with connects_of_a_client(cluster.vips[0]) as connects:
                cluster.nodes.pop("okd-master-1").die()
                died_s = cluster.until_held_by("okd-master-2")
            measured(f"preempt: owner died, moved in {died_s:.1f} s, {figures(connects)}")

    in_own_network(scenario)


def test_checks_of_a_frozen_haproxy_fail_in_time(tmp_path: Path, certificate: str) -> None:
    def scenario() -> None:
        with cluster_of("rehearsal", tmp_path, certificate) as cluster:
            cluster.start_node("okd-master-1")
            cluster.until_healthy("okd-master-1")
            cluster.nodes["okd-master-1"].freeze("haproxy")
            until("down to its rank", lambda: cluster.nodes["okd-master-1"].priorities()[-1:] == [39])
            assert "timed_out" in cluster.nodes["okd-master-1"].log("keepalived")

    in_own_network(scenario)


def figures(attempts: Attempts) -> str:
    return f"{attempts.failed} of {attempts.tried} connects failed, gap {attempts.gap_ms:.0f} ms"
