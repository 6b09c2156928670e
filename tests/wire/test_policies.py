"""Who holds the API VIP when: the rendered files of a bootstrap and three control-plane nodes, by real keepalived."""

from collections.abc import Callable
from pathlib import Path

import pytest

from testing.namespaces import in_own_network, needs_root
from testing.scene.cluster import felt_by_a_client, segment
from testing.scene.segment import until, vip_channel
from wires.api.client import Felt

pytestmark = needs_root
Measured = Callable[[str], None]


@pytest.mark.parametrize("name", ["rehearsal", "dual-stack", "multicast", "compact"])
def test_release_moves_the_vip_when_the_bootstrap_lets_go_and_not_before(
    name: str, tmp_path: Path, certificate: str, measured: Measured
) -> None:
    def scenario() -> None:
        with segment(name, tmp_path, certificate) as net:
            net.start_bootstrap()
            net.until_held_by("okd-bootstrap")
            for node in net.nodes:
                net.start_node(node)
            net.until_healthy(*net.nodes)
            assert net.holders() == {"okd-bootstrap"}
            with vip_channel(net.bootstrap) as say, felt_by_a_client(net.vips[-1]) as felt:
                assert say("status") == "held vip=yes api=yes"
                assert say("release").startswith("released ")
                moved_s = net.until_held_by("okd-master-0")
                assert say("status") == "released vip=no api=yes"
                net.restart_bootstrap()
                until("the word kept", lambda: net.bootstrap.priorities()[-1:] == [50])
                assert say("status") == "released vip=no api=yes"
                assert net.holders() == {"okd-master-0"}
            assert felt.failed == 0, felt.problems
            measured(f"{name}: released, moved in {moved_s:.1f} s, {told(felt)}")
            with felt_by_a_client(net.vips[-1]) as felt:
                net.nodes.pop("okd-master-0").die()
                died_s = net.until_held_by("okd-master-1")
            measured(f"{name}: owner died, moved in {died_s:.1f} s, {told(felt)}")

    in_own_network(scenario)


def test_preempt_moves_the_vip_to_the_first_node_that_serves(
    tmp_path: Path, certificate: str, measured: Measured
) -> None:
    def scenario() -> None:
        with segment("preempt", tmp_path, certificate) as net:
            net.start_bootstrap()
            net.until_held_by("okd-bootstrap")
            with felt_by_a_client(net.vips[0]) as felt:
                for name in ("okd-master-0", "okd-master-1"):
                    net.start_node(name, healthy=False)
                first = net.nodes["okd-master-0"]
                until("no API found", lambda: "control_plane has no server available" in first.log("haproxy"))
                until("every check failed", lambda: first.log("keepalived").count(" failed (") == 3)
                assert net.holders() == {"okd-bootstrap"}
                assert first.priorities() == []
                net.nodes["okd-master-1"].start_api(certificate)
                moved_s = net.until_held_by("okd-master-1")
            assert felt.failed == 0, felt.problems
            measured(f"preempt: a node serves, moved in {moved_s:.1f} s, {told(felt)}")
            net.start_node("okd-master-2")
            net.until_healthy("okd-master-2")
            assert net.holders() == {"okd-master-1"}
            with felt_by_a_client(net.vips[0]) as felt:
                net.nodes.pop("okd-master-1").die()
                died_s = net.until_held_by("okd-master-2")
            measured(f"preempt: owner died, moved in {died_s:.1f} s, {told(felt)}")

    in_own_network(scenario)


def test_checks_that_get_no_answer_fail_in_time(tmp_path: Path, certificate: str) -> None:
    def scenario() -> None:
        with segment("rehearsal", tmp_path, certificate) as net:
            net.start_node("okd-master-1")
            net.until_healthy("okd-master-1")
            net.nodes["okd-master-1"].freeze("haproxy")
            until("down to its rank", lambda: net.nodes["okd-master-1"].priorities()[-1:] == [39])
            assert "timed_out" in net.nodes["okd-master-1"].log("keepalived")

    in_own_network(scenario)


def told(felt: Felt) -> str:
    return f"{felt.failed} of {felt.tried} connects failed, gap {felt.gap_ms:.0f} ms"
