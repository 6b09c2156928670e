"""The preflight of a segment: faults, warnings, and what could not be probed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any

import pytest

from base.errors import PreflightError, SegmentError
from cluster.options import NetworkFindings
from cluster.values.phase import Phase
from providers.network_preflight.engine import check_network, held_by_leaving
from providers.network_preflight.model import Mode, NetworkPreflightSpec, ProvisioningSegment
from providers.preflight import PreflightResult
from testing import clusters, plans
from testing.fakes.lan import FLOOD
from wires.segment.dhcp import Offer
from wires.segment.macs import described
from wires.segment.neighbours import own_address
from wires.segment.vrrp import Advert

SPEC = NetworkPreflightSpec.of(plans.plan())
API, APPS = "192.168.111.5", "192.168.111.4"
BOOTSTRAP = SPEC.api.macs[0]
MACS = {address: f"52:54:00:11:11:{address[-2:]}" for address in ("192.168.111.21", "192.168.111.25", "fd2e::21")}
MASTER, WORKER = MACS["192.168.111.21"], MACS["192.168.111.25"]
STRANGER = "00:1b:21:00:00:99"
NAMES = {"api": {API}, "preflight.apps": {APPS}}


@dataclass
class FakeNetwork:
    """Implements `NetworkProbe`: by default no other machine answers, and all names are right."""

    macs: dict[str, set[str]] = field(default_factory=dict)
    advertised: Collection[Advert] = ()
    names: Mapping[str, set[str] | OSError] = field(default_factory=dict)
    refusal: SegmentError | None = None
    silent: Collection[tuple[str, int]] = ()
    """Addresses and ports at which no host answers."""
    offers: Collection[Offer] = ()
    """What DHCP servers offer, whoever asks."""
    own: str = ""
    """An address of the provisioner itself."""
    asked: list[str] = field(default_factory=list)

    def macs_of(self, address: str) -> frozenset[str]:
        self.asked.append(address)
        if self.refusal:
            raise self.refusal
        if address == self.own:
            raise own_address(address)
        return frozenset(self.macs.get(address, {MACS[address]} if address in MACS else ()))

    def unanswered(self, address: str, port: int) -> str | None:
        return "timed out" if (address, port) in self.silent else None

    def adverts(self, addresses: Collection[str]) -> Collection[Advert]:
        if self.refusal:
            raise self.refusal
        self.asked += addresses
        return self.advertised

    def dhcp_offers(self, interface: str, mac: str) -> Collection[Offer]:
        self.asked.append(f"DHCP on {interface} as {mac}")
        if self.refusal:
            raise self.refusal
        return self.offers

    def resolve(self, name: str, version: int) -> frozenset[str]:
        host = name.removesuffix(".okd.lab.test")
        addresses = self.names[host] if host in self.names else NAMES[host]
        if isinstance(addresses, OSError):
            raise addresses
        return frozenset(address for address in addresses if ip_address(address).version == version)


def result_of(network: FakeNetwork, spec: NetworkPreflightSpec = SPEC, **severity: str) -> PreflightResult:
    changed = spec.changed(severity=NetworkFindings(**{**dict(spec.severity), **severity}))
    return check_network(changed, network)


def advert(vrid: int = SPEC.api.router_id, source: str = "192.168.111.99", **changes: Any) -> Advert:
    return replace(Advert(2, vrid, 70, 1, source, STRANGER, ("192.168.111.77",)), **changes)


def test_a_segment_without_other_machines_is_ready() -> None:
    result = result_of(FakeNetwork())
    assert result.findings == ()
    result.refuse()


@pytest.mark.parametrize(
    "macs",
    [
        pytest.param({API: {BOOTSTRAP}}, id="the-bootstrap"),
        pytest.param({API: {MASTER}, APPS: {WORKER}}, id="production"),
        pytest.param({API: {BOOTSTRAP, MASTER}}, id="in-the-middle-of-the-move"),
    ],
)
def test_the_clusters_own_machines_may_hold_the_vips(macs: dict[str, set[str]]) -> None:
    assert result_of(FakeNetwork(macs)).findings == ()


def test_a_vip_that_only_the_bootstrap_answers_is_probed_once() -> None:
    network = FakeNetwork({API: {BOOTSTRAP}})
    result_of(network)
    assert network.asked == [API, APPS, API, APPS], (
        "each VIP is probed once, and VRRP received on the networks of both"
    )


@pytest.mark.parametrize(
    ("macs", "line"),
    [
        pytest.param(
            {API: {STRANGER}},
            f"API VIP {API}: answered by {STRANGER}, wanted only okd-bootstrap, okd-master-0, ",
            id="a-stranger",
        ),
        pytest.param(
            {API: {BOOTSTRAP, STRANGER}},
            f"API VIP {API}: answered by {STRANGER}, wanted ",
            id="beside-the-bootstrap",
        ),
        pytest.param({API: {WORKER}}, f"API VIP {API}: answered by {WORKER} (QEMU's prefix), wanted ", id="a-worker"),
        pytest.param(
            {APPS: {MASTER}},
            f"Ingress VIP {APPS}: answered by {MASTER} (QEMU's prefix), wanted only okd-worker-0, okd-worker-1",
            id="ingress-on-a-master",
        ),
        pytest.param(
            {API: {STRANGER, "02:00:00:00:00:01"}},
            f"answered by {STRANGER} and 02:00:00:00:00:01 (locally administered), wanted ",
            id="two-strangers",
        ),
        pytest.param({API: {*FLOOD}}, " and 23,886 more, wanted ", id="S19"),
    ],
)
def test_a_vip_that_a_foreign_machine_answers_is_a_fault(macs: dict[str, set[str]], line: str) -> None:
    (fault,) = result_of(FakeNetwork(macs)).faults
    assert line in str(fault)
    assert len(str(fault)) < 1000
    assert fault.fix == (
        "if the address is that machine's own, choose another VIP; else remove it from that machine: "
        "the switch shows the port of its MAC"
    )


def test_a_vrid_of_another_cluster_is_a_fault_that_names_free_ones() -> None:
    network = FakeNetwork(advertised=[advert(), advert(1, "192.168.111.98"), advert(3, "192.168.111.98")])
    (fault,) = result_of(network).faults
    assert str(fault) == (
        "VRID 67 of the API VIP: advertised by 192.168.111.99, 00:1b:21:00:00:99, for 192.168.111.77, "
        "with priority 70 by VRRP version 2. "
        "Fix: `pulumi config set --path vrids.api 2` (4 and 5 are free too)"
    )


def test_neither_of_its_own_vrids_is_offered_in_place_of_the_other() -> None:
    low = SPEC.changed(ingress=SPEC.ingress.changed(router_id=2))
    (fault,) = result_of(FakeNetwork(advertised=[advert()]), low).faults
    assert fault.fix == "`pulumi config set --path vrids.api 1` (3 and 4 are free too)"


def test_a_cluster_in_production_keeps_its_vrid() -> None:
    (fault,) = result_of(FakeNetwork(advertised=[advert()]), SPEC.changed(phase=Phase.PRODUCTION)).faults
    assert fault.fix == "give the other cluster another VRID: the installed machines of this one keep theirs"


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(advert(source="192.168.111.20", mac=BOOTSTRAP), id="the-bootstrap"),
        pytest.param(advert(source="192.168.111.23"), id="a-master-by-its-address"),
        pytest.param(advert(source="192.168.111.121", mac=MASTER), id="a-master-by-its-mac"),
        pytest.param(advert(SPEC.ingress.router_id, "192.168.111.25"), id="a-worker"),
        pytest.param(advert(66), id="another-id"),
        pytest.param(advert(source="fe80::99", version=3), id="the-same-id-in-the-other-family"),
    ],
)
def test_adverts_that_do_not_clash(own: Advert) -> None:
    assert result_of(FakeNetwork(advertised=[own])).findings == ()


def test_a_worker_with_the_vrid_of_the_api_vip_is_a_fault() -> None:
    (fault,) = result_of(FakeNetwork(advertised=[advert(source="192.168.111.25", mac=WORKER)])).faults
    assert fault.where == "VRID 67 of the API VIP"
    assert fault.what.startswith("advertised by 192.168.111.25, ")


def test_over_ipv6_multicast_the_clusters_machines_are_known_by_their_macs() -> None:
    spec = NetworkPreflightSpec.of(clusters.plan("ipv6"))
    names = {name: {"fd2e::4" if "apps" in name else "fd2e::5"} for name in NAMES}
    own = advert(source="fe80::21", mac=MACS["fd2e::21"], version=3)
    other = advert(source="fe80::99", version=3)
    assert result_of(FakeNetwork(advertised=[own], names=names), spec).findings == ()
    (fault,) = result_of(FakeNetwork(advertised=[own, other], names=names), spec).faults
    assert "advertised by fe80::99, " in fault.what


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        pytest.param(
            {"api": OSError(-2, "Name or service not known")},
            [
                "api.okd.lab.test: the resolver of this machine answers Name or service not known, wanted only "
                "192.168.111.5. Fix: add to the site's DNS: api.okd.lab.test. IN A 192.168.111.5"
            ],
            id="missing",
        ),
        pytest.param(
            {"preflight.apps": {"203.0.113.1", APPS}, "api": set()},
            [
                "api.okd.lab.test: the resolver of this machine answers nothing, wanted only 192.168.111.5. "
                "Fix: add to the site's DNS: api.okd.lab.test. IN A 192.168.111.5",
                "preflight.apps.okd.lab.test: the resolver of this machine answers 192.168.111.4, 203.0.113.1, "
                "wanted only 192.168.111.4. Fix: replace those in the site's DNS by: "
                "*.apps.okd.lab.test. IN A 192.168.111.4",
            ],
            id="none-and-one-too-many",
        ),
    ],
)
def test_missing_dns_records_are_reported_as_lines_to_add(names: dict[str, Any], lines: list[str]) -> None:
    result = result_of(FakeNetwork(names=names))
    assert (result.warnings, result.faults) == (lines, [])
    assert [str(fault) for fault in result_of(FakeNetwork(names=names), dns="error").faults] == lines


def test_a_dual_stack_cluster_needs_both_records() -> None:
    spec = NetworkPreflightSpec.of(clusters.plan("dual-stack"))
    warning, other = result_of(FakeNetwork(), spec).warnings
    assert warning.endswith(". Fix: add to the site's DNS: api.okd.lab.test. IN AAAA fd2e::5")
    assert other.endswith(". Fix: add to the site's DNS: *.apps.okd.lab.test. IN AAAA fd2e::4")


def test_a_vip_that_the_provisioner_itself_has_is_a_fault() -> None:
    (fault,) = result_of(FakeNetwork({API: {BOOTSTRAP}}, own=API)).faults
    assert (fault.where, fault.fix) == (f"API VIP {API}", "remove it from this machine, or write another one")


def test_a_vip_in_production_stays_whoever_else_answers_it() -> None:
    spec = NetworkPreflightSpec.of(clusters.plan("rehearsal", phase="production"))
    (fault,) = result_of(FakeNetwork({API: {STRANGER}}), spec).faults
    assert fault.fix.startswith("remove the address from that machine: the installed nodes keep it")


BALANCER = "10.20.0.100"
SITE = NetworkPreflightSpec.of(clusters.plan("balancer"))
RIGHT = {name: {BALANCER} for name in ("api", "api-int", "preflight.apps")}


def test_a_balancer_of_the_site_is_probed_only_over_tcp_and_dns() -> None:
    network = FakeNetwork({BALANCER: {STRANGER}}, [advert()], RIGHT)
    assert (result_of(network, SITE).faults, result_of(network, SITE).warnings) == ([], [])
    assert network.asked == []


@pytest.mark.parametrize(("vip", "port"), [("API", 6443), ("API", 22623), ("Ingress", 443), ("Ingress", 80)])
def test_a_balancer_of_the_site_that_does_not_answer_is_a_fault(vip: str, port: int) -> None:
    (fault,) = result_of(FakeNetwork(names=RIGHT, silent=[(BALANCER, port)]), SITE).faults
    assert str(fault) == (
        f"{vip} VIP {BALANCER}: no host answers on TCP port {port} (timed out), wanted the site's balancer. "
        f"Fix: have the balancer listen on {port} there, and let this machine reach it"
    )


def test_a_balancer_of_the_site_needs_api_int_in_the_sites_dns() -> None:
    (warning,) = result_of(FakeNetwork(names={**RIGHT, "api-int": set()}), SITE).warnings
    assert warning == (
        f"api-int.okd.lab.test: the resolver of this machine answers nothing, wanted only {BALANCER}. "
        f"Fix: add to the site's DNS: api-int.okd.lab.test. IN A {BALANCER}"
    )


FIRST, SECOND = "52:54:00:11:aa:21", "52:54:00:11:aa:22"
OFFER = Offer("172.22.0.9", STRANGER, "172.22.0.21", "undionly.kpxe")


def booting(mode: Mode, base: NetworkPreflightSpec = SPEC) -> NetworkPreflightSpec:
    """Return the spec of a cluster two of whose servers boot from the network."""
    segment = ProvisioningSegment(mode=mode, bridge="pxe0", macs=(FIRST, SECOND))
    return base.changed(provisioning=segment)


def test_without_network_boot_no_dhcp_server_is_probed() -> None:
    network = FakeNetwork(offers=[OFFER])
    assert result_of(network).findings == ()
    assert not any("DHCP" in probe for probe in network.asked)


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize(
    ("mode", "offers", "mac"), [("Managed", [], "02:6f:6b:64:00:00"), ("Unmanaged", [OFFER], FIRST)]
)
def test_the_dhcp_probe_has_a_mac_that_only_the_wanted_server_may_answer(
    mode: Mode, offers: list[Offer], mac: str, phase: Phase
) -> None:
    network = FakeNetwork(offers=offers)
    assert result_of(network, booting(mode).changed(phase=phase)).findings == ()
    assert network.asked[-1] == f"DHCP on pxe0 as {mac}"


def test_a_foreign_dhcp_server_on_a_managed_network_is_a_fault() -> None:
    other = Offer("172.22.0.8", "02:00:00:00:00:01", "172.22.0.77", "pxelinux.0")
    wanted = [
        f"DHCP on pxe0: answered by {server}, wanted only this cluster's own server. "
        "Fix: write provisioningNetwork: Unmanaged if it is the site's; else remove it from this network"
        for server in ("172.22.0.8, 02:00:00:00:00:01 (locally administered)", "172.22.0.9, 00:1b:21:00:00:99")
    ]
    network = FakeNetwork(offers={OFFER, other})
    assert [str(fault) for fault in result_of(network, booting("Managed")).faults] == wanted
    assert result_of(network, booting("Managed"), dhcp="warn").warnings == wanted


def test_no_dhcp_server_on_an_unmanaged_network_is_a_fault() -> None:
    line = (
        f"DHCP on pxe0: no server answers a PXE client with MAC {FIRST}, wanted the site's DHCP server. "
        "Fix: let it serve that MAC; `okd-baremetal network-boot` prints its configuration"
    )
    assert [str(fault) for fault in result_of(FakeNetwork(), booting("Unmanaged")).faults] == [line]
    assert result_of(FakeNetwork(), booting("Unmanaged"), dhcp="warn").warnings == [line]


def test_dhcp_of_a_network_of_ipv6_is_not_probed() -> None:
    spec = NetworkPreflightSpec.of(clusters.plan("managed-ipv6"))
    assert check_network(spec, FakeNetwork()).not_probed == ["DHCP on provisioning: this program asks by IPv4 only"]


def test_dhcp_is_checked_with_a_balancer_of_the_site_too() -> None:
    (fault,) = result_of(FakeNetwork(names=RIGHT), booting("Unmanaged", SITE)).faults
    assert fault.where == "DHCP on pxe0"


def test_each_fault_can_be_reduced_to_a_warning() -> None:
    network = FakeNetwork({API: {STRANGER}}, [advert()], {"api": set()})
    assert len(result_of(network).faults) == 2
    result = result_of(network, vip="warn", vrid="warn", dns="warn")
    result.refuse()
    assert len(result.warnings) == 3


def test_what_cannot_be_probed_is_listed_and_is_no_fault() -> None:
    refusal = SegmentError("raw sockets are not permitted", where="baremetal", fix="run as root")
    result = result_of(FakeNetwork(refusal=refusal), booting("Unmanaged"))
    assert result.faults == []
    assert result.not_probed == [
        "API VIP 192.168.111.5: baremetal: raw sockets are not permitted. Fix: run as root",
        "Ingress VIP 192.168.111.4: baremetal: raw sockets are not permitted. Fix: run as root",
        "VRIDs 67 and 162: baremetal: raw sockets are not permitted. Fix: run as root",
        "DHCP on pxe0: baremetal: raw sockets are not permitted. Fix: run as root",
    ]


def test_a_refusal_says_that_nothing_was_started() -> None:
    with pytest.raises(
        PreflightError, match=r"^the network is not ready, 1 finding; nothing was started\n    API VIP"
    ):
        result_of(FakeNetwork({API: {STRANGER}})).refuse("the network", "nothing was started")


@pytest.mark.parametrize(
    ("mac", "line"),
    [
        (STRANGER, STRANGER),
        ("52:54:00:12:34:56", "52:54:00:12:34:56 (QEMU's prefix)"),
        ("00:00:5e:00:01:43", "00:00:5e:00:01:43 (VRRP router 67)"),
        ("00:00:5e:00:02:ff", "00:00:5e:00:02:ff (VRRP router 255)"),
        ("0a:00:00:00:00:01", "0a:00:00:00:00:01 (locally administered)"),
    ],
)
def test_a_mac_is_described_by_its_prefix(mac: str, line: str) -> None:
    assert described(mac) == line


LEFT = {"okd-worker-9": ("192.168.111.29", "fd2e::29")}


@pytest.mark.parametrize(
    ("macs", "lines"),
    [
        pytest.param({APPS: {STRANGER}, "192.168.111.29": {STRANGER}}, 1, id="it-holds-it"),
        pytest.param({APPS: {WORKER}, "192.168.111.29": {STRANGER}}, 0, id="another-does"),
        pytest.param({APPS: {STRANGER}}, 0, id="a-stranger-does"),
        pytest.param({}, 0, id="nobody-does"),
    ],
)
def test_compute_that_has_left_and_holds_the_ingress_vip_is_named(macs: dict[str, set[str]], lines: int) -> None:
    """A refresh after its drain failed: the address must not be taken from it by hand."""
    found = [*map(str, held_by_leaving(SPEC, LEFT, FakeNetwork(macs)))]
    assert found == lines * [
        f"Ingress VIP {APPS}: held by okd-worker-9, which has left the install-config. "
        "Fix: if its drain has failed, run `pulumi up` again, which goes on with it; else switch it off"
    ]


def test_a_segment_that_cannot_be_probed_names_nobody_who_left() -> None:
    blind = FakeNetwork(refusal=SegmentError("no interface", where=APPS, fix="set it up"))
    assert [*held_by_leaving(SPEC, LEFT, blind)] == []
    assert [*held_by_leaving(SPEC, {}, FakeNetwork())] == []
