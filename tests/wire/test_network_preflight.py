"""The network preflight on a segment with our real keepalived, and with somebody else's."""

from pathlib import Path

import pytest
from components.preflight import wire_wanted_of
from providers.network_preflight.segment import HostWire

from providers.base.verdict import Verdict
from providers.network_preflight.engine import judge
from testing import clusters
from testing.namespaces import in_own_network, needs_root, neighbour
from testing.scene.cluster import segment
from testing.scene.segment import BRIDGE, bridge, until
from testing.scene.strangers import MAC, Router, stranger

pytestmark = needs_root


def seen(name: str) -> Verdict:
    """As `up` sees it; DNS is told of elsewhere."""
    verdict = judge(wire_wanted_of(clusters.plan(name)), HostWire(lambda _: None))
    assert verdict.unseen == []
    return verdict


@pytest.mark.parametrize("name", ["rehearsal", "dual-stack", "multicast"])
def test_ours_are_in_nobody_s_way(name: str, tmp_path: Path, certificate: str) -> None:
    """The bootstrap holds the VIP, and each family's adverts are heard and known for ours."""

    def scenario() -> None:
        with segment(name, tmp_path, certificate) as net:
            net.start_bootstrap()
            net.until_held_by("okd-bootstrap")
            wire = HostWire(lambda _: None)
            heard = {advert.router_id for advert in wire.adverts([str(vip) for vip in net.vips])}
            assert heard == {net.plan.api.router_id}
            assert seen(name).findings == []

    in_own_network(scenario)


@pytest.mark.parametrize(("name", "vip"), [("rehearsal", "192.168.111.5/24"), ("ipv6", "fd2e::5/64")])
def test_a_foreign_machine_that_answers_the_vip_is_found(name: str, vip: str) -> None:
    def scenario() -> None:
        with bridge(clusters.plan(name).machine_networks), neighbour(BRIDGE, "stranger", MAC, vip):
            (finding,) = seen(name).findings
        assert finding.what.startswith(
            f"API VIP {vip.partition('/')[0]}: answered by {MAC} (locally administered), wanted nobody but okd-boot"
        )

    in_own_network(scenario)


@pytest.mark.parametrize(
    ("name", "address", "router", "source"),
    [
        pytest.param("rehearsal", "192.168.111.99/24", Router(67, "192.168.111.77/24"), "192.168.111.99", id="ipv4"),
        pytest.param("ipv6", "fd2e::99/64", Router(67, "fd2e::77/64", version=3), "fe80::ff:fe00:99", id="ipv6"),
    ],
)
def test_a_foreign_cluster_on_our_router_id_is_found(
    name: str, address: str, router: Router, source: str, tmp_path: Path
) -> None:
    def scenario() -> None:
        with bridge(clusters.plan(name).machine_networks), stranger(BRIDGE, address, router, tmp_path):
            findings = list[str]()

            def told() -> bool:
                findings[:] = [str(finding) for finding in seen(name).findings]
                return bool(findings)

            until("a finding", told)
        assert findings == [
            f"VRID 67 of the API VIP: advertised by {source}, {MAC} (locally administered), for "
            f"{router.vip.partition('/')[0]}, with priority 150 by VRRP version {router.version}; mend: "
            "`pulumi config set --path vrids.api 1` (nobody is heard on 2, 3 either)"
        ]

    in_own_network(scenario)
