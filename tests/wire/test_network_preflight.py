"""The network preflight on a segment with the cluster's own real keepalived, and with a stranger's."""

from pathlib import Path

import pytest

from providers.base.verdict import Verdict
from providers.network_preflight.engine import judge
from providers.network_preflight.model import NetworkPreflightSpec
from providers.network_preflight.probe import LocalNetworkProbe
from testing import clusters
from testing.namespaces import in_own_network, needs_root, neighbour
from testing.scene.cluster import cluster_of
from testing.scene.machine import BRIDGE, bridge, until
from testing.scene.strangers import MAC, Router, stranger

pytestmark = needs_root


def seen(name: str) -> Verdict:
    """Return the verdict of `up`; other tests cover DNS."""
    verdict = judge(NetworkPreflightSpec.of(clusters.plan(name)), LocalNetworkProbe(lambda _: None))
    assert verdict.unseen == []
    return verdict


@pytest.mark.parametrize("name", ["rehearsal", "dual-stack", "multicast"])
def test_the_clusters_own_machines_are_no_fault(name: str, tmp_path: Path, certificate: str) -> None:
    """The bootstrap holds the VIP; the adverts of each family are received and recognized."""

    def scenario() -> None:
        with cluster_of(name, tmp_path, certificate) as cluster:
            cluster.start_bootstrap()
            cluster.until_held_by("okd-bootstrap")
            adverts = LocalNetworkProbe(lambda _: None).adverts([str(vip) for vip in cluster.vips])
            assert {advert.router_id for advert in adverts} == {cluster.plan.api.router_id}
            assert seen(name).faults == []

    in_own_network(scenario)


@pytest.mark.parametrize(("name", "vip"), [("rehearsal", "192.168.111.5/24"), ("ipv6", "fd2e::5/64")])
def test_a_foreign_machine_that_answers_the_vip_is_a_fault(name: str, vip: str) -> None:
    def scenario() -> None:
        with bridge(clusters.plan(name).machine_networks), neighbour(BRIDGE, "stranger", MAC, vip):
            (fault,) = seen(name).faults
        assert fault.where == f"API VIP {vip.partition('/')[0]}"
        assert fault.what.startswith(f"answered by {MAC} (locally administered), wanted nobody but okd-boot")

    in_own_network(scenario)


@pytest.mark.parametrize(
    ("name", "address", "router", "source"),
    [
        pytest.param("rehearsal", "192.168.111.99/24", Router(67, "192.168.111.77/24"), "192.168.111.99", id="ipv4"),
        pytest.param("ipv6", "fd2e::99/64", Router(67, "fd2e::77/64", version=3), "fe80::ff:fe00:99", id="ipv6"),
    ],
)
def test_a_foreign_cluster_with_the_same_vrid_is_a_fault(
    name: str, address: str, router: Router, source: str, tmp_path: Path
) -> None:
    def scenario() -> None:
        with bridge(clusters.plan(name).machine_networks), stranger(BRIDGE, address, router, tmp_path):
            lines = list[str]()

            def found() -> bool:
                lines[:] = map(str, seen(name).faults)
                return bool(lines)

            until("a finding", found)
        assert lines == [
            f"VRID 67 of the API VIP: advertised by {source}, {MAC} (locally administered), for "
            f"{router.vip.partition('/')[0]}, with priority 150 by VRRP version {router.version}. Fix: "
            "`pulumi config set --path vrids.api 1` (nobody advertises 2, 3 either)"
        ]

    in_own_network(scenario)
