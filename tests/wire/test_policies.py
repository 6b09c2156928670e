"""Who holds the API VIP when: the rendered files of a bootstrap and three control-plane nodes, by real keepalived."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from assets.render import render_bootstrap, render_role, render_server
from cluster.addresses import Address
from cluster.plan import ClusterPlan, Role
from providers.probe.client import Felt, VipClient
from providers.probe.https import Endpoint, connect_problem
from tests import clusters
from tests.certificates import authority
from tests.namespaces import in_own_network, needs_root
from tests.wire.segment import Machine, bridge, machine, until, vip_channel

pytestmark = needs_root
DOMAIN = "okd.lab.test"


@dataclass
class Segment:
    """A cluster's machines, none of whose programs runs yet."""

    plan: ClusterPlan
    bootstrap: Machine
    nodes: dict[str, Machine]
    certificate: str
    bootstrap_keepalived: subprocess.Popen[bytes] = field(init=False)

    @property
    def vips(self) -> tuple[Address, ...]:
        return self.plan.api.addresses

    def start_bootstrap(self) -> None:
        self.bootstrap.start_api(self.certificate)
        self.bootstrap_keepalived = self.bootstrap.start_keepalived(self.vips)

    def restart_bootstrap(self) -> None:
        """As a reboot of the VM does: keepalived ends, and /run is empty."""
        self.bootstrap.stop_keepalived(self.bootstrap_keepalived)
        for left in (self.bootstrap.folder / "run/okd-baremetal").iterdir():
            left.unlink()
        self.bootstrap_keepalived = self.bootstrap.start_keepalived(self.vips)

    def start_node(self, name: str, *, healthy: bool = True) -> None:
        node = self.nodes[name]
        if healthy:
            node.start_api(self.certificate)
        node.start_haproxy()
        node.start_keepalived([address for vip in self.plan.vips_of(Role.CONTROL_PLANE) for address in vip.addresses])

    def holders(self) -> set[str]:
        """Names of those who hold the API VIP, of either family."""
        everybody = {self.bootstrap.name: self.bootstrap, **self.nodes}
        return {name for name, each in everybody.items() for vip in self.vips if each.holds(vip)}

    def until_held_by(self, *names: str) -> float:
        """Seconds until one of them alone holds it, in all families; fails if it never comes to that."""

        def held() -> bool:
            found = self.holders()
            return len(found) == 1 and found <= set(names)

        return until(f"the VIP on {' or '.join(names)} alone", held)

    def until_healthy(self, *names: str) -> None:
        """Until keepalived of each node takes part, with all that its checks can give."""
        numbers = self.plan.api.priorities
        ranks = [server.name for server in self.plan.control_plane]
        for name in names:
            best = (
                numbers.control_plane
                - ranks.index(name)
                + numbers.load_balancer
                + numbers.api
                + numbers.config_server
            )
            until(f"{name} at {best}", partial(self._is_at, name, best))

    def _is_at(self, name: str, priority: int) -> bool:
        return self.nodes[name].takes_part and self.nodes[name].priorities()[-1:] == [priority]


@contextmanager
def segment(name: str, folder: Path, certificate: str) -> Iterator[Segment]:
    plan = clusters.plan(name)
    shared = render_role(plan, Role.CONTROL_PLANE)
    with ExitStack() as stack:
        stack.enter_context(bridge(plan.machine_networks))
        bootstrap = stack.enter_context(machine(folder, plan, plan.bootstrap, render_bootstrap(plan)))
        nodes = {
            server.name: stack.enter_context(machine(folder, plan, server, (*shared, *render_server(plan, server))))
            for server in plan.control_plane
        }
        yield Segment(plan, bootstrap, nodes, certificate)


@contextmanager
def felt_by_a_client(vip: Address) -> Iterator[Felt]:
    """What a client feels that connects each 20 ms, from its first success to one after the block."""
    ready = Endpoint(6443, "/readyz", f"api.{DOMAIN}", authority("test-ca").pem)
    with VipClient(partial(connect_problem, str(vip), 6443), partial(ready.problem, str(vip))) as client:
        felt = client.connects
        _until_one_more(felt)
        yield felt
        _until_one_more(felt)


def _until_one_more(felt: Felt) -> None:
    before = felt.tried - felt.failed
    until("a connect through the VIP", lambda: felt.tried - felt.failed > before)


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
