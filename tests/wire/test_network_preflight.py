"""The network preflight on a segment with the cluster's own real keepalived, and with a stranger's.

On a provisioning network with a real dnsmasq, too.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from providers.network_preflight import probe
from providers.network_preflight.engine import check_network
from providers.network_preflight.model import Mode, NetworkPreflightSpec, ProvisioningSegment
from providers.network_preflight.probe import LocalNetworkProbe
from providers.preflight import PreflightResult
from testing import clusters
from testing.namespaces import in_own_network, ip, needs_root, neighbour
from testing.scene.cluster import cluster_of
from testing.scene.foreign_machines import MAC, Router, dhcp_server, foreign_router, listening_dnsmasq
from testing.scene.machine import BRIDGE, bridge, until
from wires.segment import dhcp
from wires.segment.dhcp import Offer

pytestmark = needs_root


def result_of(name: str) -> PreflightResult:
    """Return the preflight's result; other tests cover DNS."""
    result = check_network(NetworkPreflightSpec.of(clusters.plan(name)), LocalNetworkProbe(lambda _: None))
    assert result.not_probed == []
    return result


@pytest.mark.parametrize("name", ["rehearsal", "dual-stack", "multicast"])
def test_the_clusters_own_machines_are_no_fault(name: str, tmp_path: Path, certificate: str) -> None:
    """The bootstrap holds the VIP; the adverts of each family are received and recognized."""

    def scenario() -> None:
        with cluster_of(name, tmp_path, certificate) as cluster:
            cluster.start_bootstrap()
            cluster.until_held_by("okd-bootstrap")
            adverts = LocalNetworkProbe(lambda _: None).adverts([str(vip) for vip in cluster.vips])
            assert {advert.vrid for advert in adverts} == {cluster.plan.api.vrid}
            assert result_of(name).faults == []

    in_own_network(scenario)


@pytest.mark.parametrize(("name", "vip"), [("rehearsal", "192.168.111.5/24"), ("ipv6", "fd2e::5/64")])
def test_a_foreign_machine_that_answers_the_vip_is_a_fault(name: str, vip: str) -> None:
    def scenario() -> None:
        with bridge(clusters.plan(name).machine_networks), neighbour(BRIDGE, "stranger", MAC, vip):
            (fault,) = result_of(name).faults
        assert fault.where == f"API VIP {vip.partition('/')[0]}"
        assert fault.what.startswith(f"answered by {MAC} (locally administered), wanted only okd-boot")

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
        with bridge(clusters.plan(name).machine_networks), foreign_router(BRIDGE, [address], router, tmp_path):
            lines = list[str]()

            def found() -> bool:
                lines[:] = map(str, result_of(name).faults)
                return bool(lines)

            until("a finding", found)
        assert lines == [
            f"VRID 67 of the API VIP: advertised by {source}, {MAC} (locally administered), for "
            f"{router.vip.partition('/')[0]}, with priority 150 by VRRP version {router.version}. Fix: "
            "`pulumi config set --path vrids.api 1` (2 and 3 are free too)"
        ]

    in_own_network(scenario)


PXE, CLIENT, OTHER = "provisioning", "52:54:00:11:aa:21", "52:54:00:11:aa:22"
RANGE = ("--no-ping", "--dhcp-range=172.22.0.100,172.22.0.199", "--dhcp-boot=undionly.kpxe")
KNOWN_ALONE = (
    "--dhcp-range=172.22.0.0,static",
    f"--dhcp-host={CLIENT},172.22.0.21",
    "--dhcp-ignore=tag:!known",
    "--dhcp-boot=undionly.kpxe",
)
"""Options of our own dnsmasq."""


def on_the_provisioning_network(work: Callable[[], None]) -> None:
    def inside() -> None:
        ip(f"link add {PXE} type bridge")  # without an address, as on many a provisioner
        ip(f"link set {PXE} up")
        work()

    in_own_network(inside)


def dhcp_result(mode: Mode) -> PreflightResult:
    """Return the preflight of a provisioning network; this machine is on no other."""
    segment = ProvisioningSegment(mode=mode, bridge=PXE, macs=(CLIENT,))
    spec = NetworkPreflightSpec.of(clusters.plan("rehearsal")).changed(provisioning=segment)
    return check_network(spec, LocalNetworkProbe(lambda _: None))


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody answers, nobody would later."""
    monkeypatch.setattr(probe, "DHCP_S", 0.5)


def test_a_foreign_dhcp_server_on_a_managed_network_is_a_fault(tmp_path: Path) -> None:
    def scenario() -> None:
        with dhcp_server(PXE, tmp_path, *RANGE):
            (fault,) = dhcp_result("Managed").faults
        assert fault.where == "DHCP on provisioning"
        assert fault.what.startswith(f"answered by 172.22.0.9, {MAC} (locally administered), wanted only")
        assert (tmp_path / "leases").read_text() == "", "no lease was taken"

    on_the_provisioning_network(scenario)


def test_a_dhcp_server_on_this_machine_itself_is_seen(tmp_path: Path) -> None:
    def scenario() -> None:
        ip(f"link set {PXE} address 02:00:00:00:00:01")
        ip(f"address add 172.22.0.1/24 dev {PXE}")
        with neighbour(PXE, "port", MAC), listening_dnsmasq((), PXE, tmp_path, *RANGE):
            assert dhcp_result("Unmanaged").faults == []
            (fault,) = dhcp_result("Managed").faults
        assert fault.what.startswith("answered by 172.22.0.1, 02:00:00:00:00:01 (locally administered), wanted ")

    on_the_provisioning_network(scenario)


@pytest.mark.usefixtures("_impatient")
def test_a_server_that_knows_only_the_clusters_macs_is_no_fault(tmp_path: Path) -> None:
    def scenario() -> None:
        with dhcp_server(PXE, tmp_path, *KNOWN_ALONE) as log:
            assert dhcp_result("Managed").faults == []
            until("the question is ignored", lambda: "02:6f:6b:64:00:00 ignored" in log.read_text())
            wanted = Offer("172.22.0.9", MAC, "172.22.0.21", "undionly.kpxe")
            assert dhcp.offers(PXE, CLIENT, wait_s=5) == {wanted}

    on_the_provisioning_network(scenario)


@pytest.mark.parametrize("options", [RANGE, KNOWN_ALONE], ids=["all", "known-alone"])
def test_a_dhcp_server_of_the_site_is_wanted_on_an_unmanaged_network(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    def scenario() -> None:
        with dhcp_server(PXE, tmp_path, *options):
            assert dhcp_result("Unmanaged").faults == []

    on_the_provisioning_network(scenario)


@pytest.mark.usefixtures("_impatient")
def test_an_unmanaged_network_needs_a_dhcp_server_for_the_mac(tmp_path: Path) -> None:
    def scenario() -> None:
        others = [option.replace(CLIENT, OTHER) for option in KNOWN_ALONE]
        with dhcp_server(PXE, tmp_path, *others) as log:
            (fault,) = dhcp_result("Unmanaged").faults
            until("the question is ignored", lambda: f"{CLIENT} ignored" in log.read_text())
        assert fault.what == f"no server answers a PXE client with MAC {CLIENT}, wanted the site's DHCP server"

    on_the_provisioning_network(scenario)


@pytest.mark.parametrize("mode", ["Managed", "Unmanaged"])
def test_a_provisioning_network_that_this_machine_is_not_on_is_not_probed(mode: Mode) -> None:
    result = in_own_network(lambda: dhcp_result(mode))
    assert result.faults == []
    (line,) = (line for line in result.not_probed if line.startswith("DHCP on provisioning"))
    assert line.startswith("DHCP on provisioning: provisioning: no DHCP here: [Errno 19] No such device. Fix: ")
