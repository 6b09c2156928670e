"""Networks of a server that nmstate accepts and the cluster does not work on."""

from copy import deepcopy
from functools import cache
from ipaddress import ip_interface
from itertools import permutations, product
from typing import Any

import pytest

from cluster.install_config import read
from cluster.options import MachineOptions
from cluster.plan import Intent
from cluster.plan.addresses import assign_addresses
from cluster.plan.intent import intent_of
from cluster.plan.model import PlannedHost
from cluster.plan.network_config import NetworkConfig
from cluster.plan.node_addresses import static_addresses
from cluster.plan.refusals.host_networks import network_faults
from cluster.values.address import Address
from testing import clusters, plans
from testing.install_configs import Change, bare, host
from testing.plan_files import Files, addresses, as_it_is
from tests.unit.assets.runtimecfg_oracle import NodeAddress, Route, node_address

AT = "FILE: platform.baremetal.hosts[0].networkConfig"
OWN = "192.168.111.21"
DHCP = {"enabled": True, "dhcp": True}
NO_DNS: dict[str, Any] = {"dns-resolver": {}}


def static(address: str = OWN, prefix: int = 24) -> dict[str, Any]:
    """Return the networkConfig of a server with one static address, as an operator writes it."""
    document = clusters.nmstate("eno1", address)
    document["interfaces"][0]["ipv4"]["address"][0]["prefix-length"] = prefix
    return document


def also(
    document: dict[str, Any], name: str, address: str = "", prefix: int = 24, *, mac: str = "", **more: Any
) -> dict[str, Any]:
    """Return the document with another interface."""
    ipv4 = {"enabled": True, "address": [{"ip": address, "prefix-length": prefix}]} if address else {"enabled": False}
    card = {"name": name, "type": "ethernet", "state": "up", "ipv4": ipv4}
    by_mac = {"identifier": "mac-address", "mac-address": mac} if mac else {}
    return document | {"interfaces": [*document["interfaces"], card | by_mac | more]}


def route(gateway: str | None, interface: str = "eno1", destination: str = "0.0.0.0/0") -> dict[str, Any]:
    """Return `routes` with one route."""
    hop = {"next-hop-address": gateway} if gateway else {}
    return {"routes": {"config": [{"destination": destination, "next-hop-interface": interface, **hop}]}}


def refused(files: Files, document: dict[str, Any], change: Change = as_it_is, **options: Any) -> list[str]:
    """Return the faults of a plan whose first server has this networkConfig, and no option unless one is given."""
    written = {"node_addresses": addresses(okd_master_0=[]), **options}

    def changed(config: dict[str, Any]) -> None:
        change(config)
        host(config).update(networkConfig=deepcopy(document))

    return files.refused_plan(changed, **written)


STORAGE = also(static(), "ens1", "203.0.113.21")
BOND: dict[str, Any] = {"type": "bond", "link-aggregation": {"mode": "802.3ad", "port": ["eno1", "eno2"]}}


def on_vlan(document: dict[str, Any], number: int, address: str) -> dict[str, Any]:
    """Return the document with a VLAN on its bond."""
    vlan = {"base-iface": "bond0", "id": number}
    return also(document, f"bond0.{number}", address, type="vlan", vlan=vlan)


VLANS = on_vlan(on_vlan(also({"interfaces": []}, "bond0", **BOND), 100, OWN), 200, "203.0.113.21")
VLANS |= route("192.168.111.1", "bond0.100") | {"dns-resolver": static()["dns-resolver"]}
B01 = also({"interfaces": [{"name": "eno1", "type": "ethernet", "ipv4": DHCP}]}, "ens1", "203.0.113.21")
BOOT_MAC = host(plans.install_config())["bootMACAddress"]
B03 = also(static(), "eno9", "203.0.113.21", mac=BOOT_MAC)
DOWN = also(also({"interfaces": []}, "eno1", OWN, state="down"), "eno2", ipv4=DHCP)


LINK_ROUTE = route(None, destination="192.168.111.0/24")
LINK_ROUTE["routes"]["config"] += route("192.168.111.1")["routes"]["config"]


@pytest.mark.parametrize(
    ("document", "named"),
    [
        pytest.param(static(), [], id="one-card"),
        pytest.param(STORAGE, [], id="storage-beside"),
        pytest.param(B01, [OWN], id="B01-storage-static-beside-dhcp"),
        pytest.param(also({"interfaces": []}, "ens1", "203.0.113.21"), [OWN], id="B01-only-storage-in-the-file"),
        pytest.param(VLANS, [], id="B02-bond-with-two-vlans"),
        pytest.param(VLANS, [OWN], id="B02-and-the-option-says-the-same"),
        pytest.param(B03, [], id="B03-boot-card-on-another-network"),
        pytest.param(DOWN, [OWN], id="N11-down-beside-dhcp"),
        pytest.param(
            static(prefix=32) | LINK_ROUTE,
            [],
            id="the-network-by-a-route-on-the-link",
        ),
        pytest.param(also(static(), "ens1", ipv4=DHCP), [], id="dhcp-beside"),
        pytest.param(
            also(also({"interfaces": []}, "eno1", ipv4=DHCP, mac=BOOT_MAC), "ens1", "203.0.113.21"),
            [OWN],
            id="dhcp-of-the-boot-card",
        ),
        pytest.param(also(static() | NO_DNS, "ens1", ipv4=DHCP), [], id="dns-servers-by-dhcp"),
        pytest.param(static() | {"routes": {}}, [], id="no-default-route-on-the-network-of-the-api"),
    ],
)
def test_a_server_with_several_cards_is_installed_by_its_address(
    files: Files, document: dict[str, Any], named: list[str]
) -> None:
    plan = files.plan(lambda c: host(c).update(networkConfig=document), node_addresses=addresses(okd_master_0=named))
    assert [str(address) for address in plan.servers[0].addresses] == [OWN]


PREFIX = f"{AT}.interfaces[0].ipv4.address[0].prefix-length"
HOP = f"{AT}.routes.config[0].next-hop-address"
DNS = (
    f"{AT}.dns-resolver.config.server: no server of the site, and no interface gets any from DHCP: the node would "
    "not resolve the site's names. Fix: write a DNS server that is neither a VIP nor a node"
)
RIVAL = (
    f"{AT}.interfaces[1].ipv4.address[0].ip: {{}} of ens1 includes 192.168.111.0, by which the node finds its "
    f"address: it may use this one instead of {OWN}. Fix: keep only one of the two on that network"
)


@pytest.mark.parametrize(
    ("document", "line"),
    [
        pytest.param(
            static("192.168.111.130", 26),
            f"{PREFIX}: 192.168.111.130/26 leaves out the API VIP 192.168.111.5 and the gateway 192.168.111.1. "
            "Fix: write that of the server's network, in which all of them must be",
            id="N14-narrow",
        ),
        pytest.param(
            static(prefix=32) | route("192.168.111.1"),
            f"{PREFIX}: 192.168.111.21/32 leaves out the API VIP 192.168.111.5 and the gateway 192.168.111.1. "
            "Fix: write that of the server's network, in which all of them must be",
            id="N13-host-route",
        ),
        pytest.param(
            static(prefix=28) | route("192.168.111.17"),
            f"{PREFIX}: 192.168.111.21/28 leaves out the API VIP 192.168.111.5. "
            "Fix: write that of the server's network, in which all of them must be",
            id="only-the-vip",
        ),
        pytest.param(
            static() | route("10.9.9.1"),
            f"{HOP}: 10.9.9.1 is not on the link of eno1, 192.168.111.0/24. "
            "Fix: write the address of a router on that link",
            id="N16-gateway-off-the-link",
        ),
        pytest.param(
            also(static() | route("203.0.113.1"), "ens1", "203.0.113.21"),
            f"{HOP}: 203.0.113.1 is not on the link of eno1, 192.168.111.0/24. "
            "Fix: write the address of a router on that link",
            id="gateway-of-the-other-card",
        ),
        pytest.param(
            static() | NO_DNS,
            DNS,
            id="N12-no-dns-server",
        ),
        pytest.param(
            static() | {"dns-resolver": {"config": {"server": ["127.0.0.53"]}}},
            DNS,
            id="the-machine-itself",
        ),
        pytest.param(
            also(static() | NO_DNS, "ens1", ipv4={**DHCP, "auto-dns": False}),
            DNS,
            id="dhcp-without-its-dns-servers",
        ),
        pytest.param(
            also(static(), "ens1", "192.168.111.31"),
            RIVAL.format("192.168.111.31/24"),
            id="two-cards-on-one-network",
        ),
        pytest.param(
            also(static(), "ens1", "192.168.9.31", 16),
            RIVAL.format("192.168.9.31/16"),
            id="a-network-around-it",
        ),
    ],
)
def test_a_network_on_which_the_node_does_not_work_is_refused(
    files: Files, document: dict[str, Any], line: str
) -> None:
    assert refused(files, document) == [line]


@cache
def two_networks() -> Intent:
    """Return a plan with a second machine network, 192.168.112.0/24, in which no server claims a VIP."""
    config = plans.install_config()
    clusters.balancer(config)
    config["networking"].update(machineNetwork=[{"cidr": "192.168.111.0/24"}, {"cidr": "192.168.112.0/24"}])
    return intent_of(read(plans.written(config)).config)


def planned(document: dict[str, Any], named: list[str]) -> tuple[PlannedHost, list[str]]:
    """Return the first server with this networkConfig, and the faults of its network and its option."""
    before = two_networks()
    first, *others = before.hosts
    server = first.changed(network_config=document)
    intent = before.changed(hosts=(server.changed(addresses=static_addresses(before, server)), *others))
    options = MachineOptions.model_validate({"node_addresses": {server.name: named} if named else {}})
    intent, found = assign_addresses(intent, options, "FILE")
    lines = [str(fault) for fault in (*found, *network_faults(intent))]
    return intent.hosts[0], [line for line in lines if "hosts[0]" in line or server.name in line]


def test_a_vip_may_be_on_the_link_of_another_card(files: Files) -> None:
    """Keepalived takes the interface on the VIP's network."""
    document = also(static(prefix=28) | route("192.168.111.17"), "ens1", "192.168.111.39", 28)

    def change(config: dict[str, Any]) -> None:
        bare(config).update(apiVIPs=["192.168.111.37"])
        host(config).update(networkConfig=document)

    plan = files.plan(change, node_addresses=addresses(okd_master_0=[OWN]))
    assert str(plan.servers[0].address) == OWN


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])  # noqa: S104
def test_the_bootstrap_vm_needs_a_dns_server_of_the_site(files: Files, address: str) -> None:
    def change(config: dict[str, Any]) -> None:
        clusters.static(config)
        bare(config).update(bootstrapExternalStaticDNS=address)

    assert files.refused_plan(change, node_addresses={}, bootstrap=clusters.BASE_VOLUME) == [
        f"FILE: platform.baremetal.bootstrapExternalStaticDNS: {address} is the machine itself, which would not "
        "resolve the site's names. Fix: write a DNS server that is neither a VIP nor a node"
    ]


OPTION = "config: node_addresses.okd-master-0"
NONE = f"{OPTION}: no IPv4 address: in its networkConfig, "
FIX = "Fix: have one of machineNetwork there"
BY_DHCP = f"{FIX}, or name the address that DHCP reserves for {BOOT_MAC}"
ELSEWHERE = also({"interfaces": []}, "eno1", "203.0.113.21", mac=BOOT_MAC)


@pytest.mark.parametrize(
    ("document", "named", "line"),
    [
        pytest.param(
            B01, [], f"{NONE}203.0.113.21 is outside machineNetwork 192.168.111.0/24. {BY_DHCP}", id="B01-not-named"
        ),
        pytest.param(DOWN, [], f"{NONE}{OWN} is of eno1, which is down. {BY_DHCP}", id="N11-down"),
        pytest.param(
            ELSEWHERE,
            [],
            f"{NONE}203.0.113.21 is outside machineNetwork 192.168.111.0/24. {FIX}",
            id="boot-card-elsewhere",
        ),
        pytest.param(
            ELSEWHERE,
            [OWN],
            f"{OPTION}: {OWN}, but the host's networkConfig sets 203.0.113.21. Fix: keep one of the two",
            id="no-card-may-have-the-named-one",
        ),
        pytest.param(
            STORAGE,
            ["192.168.111.31"],
            f"{OPTION}: 192.168.111.31, but the host's networkConfig sets {OWN}, 203.0.113.21. "
            "Fix: keep one of the two",
            id="another-than-the-static-one",
        ),
        pytest.param(
            also(static() | {"routes": {}}, "ens1", "192.168.111.31"),
            [],
            f"{NONE}{OWN} of eno1 is one of several in machineNetwork; "
            f"192.168.111.31 of ens1 is one of several in machineNetwork. {FIX}",
            id="which-of-two",
        ),
    ],
)
def test_a_server_without_a_nodes_address_is_refused_with_the_reason(
    files: Files, document: dict[str, Any], named: list[str], line: str
) -> None:
    assert refused(files, document, node_addresses=addresses(okd_master_0=named)) == [line]


APART = static("192.168.112.25")


@pytest.mark.parametrize(
    ("document", "line"),
    [
        pytest.param(
            also(APART | route("203.0.113.1", "ens1"), "ens1", "203.0.113.21"),
            "routes.config[0].next-hop-interface: ens1, so the node may use that interface's address instead of "
            "192.168.112.25. Fix: have it lead through eno1, to a router there",
            id="through-another-card",
        ),
        pytest.param(
            APART | {"routes": {}},
            "routes.config: no default route, by which the node finds its own address, 192.168.112.25. "
            "Fix: add one through eno1",
            id="none",
        ),
    ],
)
def test_beyond_the_network_of_the_api_the_default_route_decides(document: dict[str, Any], line: str) -> None:
    assert f"platform.baremetal.hosts[0].networkConfig.{line}" in planned(document, [])[1]


def test_a_default_route_of_policy_routing_does_not_count() -> None:
    """It leads through a storage card, in a table that only rules use."""
    document = also(APART, "ens1", "203.0.113.21")
    own, storage = (each["routes"]["config"] for each in (document, route("203.0.113.1", "ens1")))
    document["routes"] = {"config": [storage[0] | {"table-id": 100}, *own]}
    server, faults = planned(document, [])
    assert (str(server.address), faults) == ("192.168.112.25", [])


CARDS = (
    ("192.168.111.21/24", "up"),
    ("192.168.111.31/24", "up"),
    ("192.168.111.31/24", "down"),
    ("192.168.112.25/24", "up"),
    ("203.0.113.21/24", "up"),
    ("192.168.9.1/16", "up"),
)


@pytest.mark.parametrize("through", [None, 0, 1], ids=["no-route", "by-the-first", "by-the-second"])
@pytest.mark.parametrize("named", [None, 0, 1], ids=["no-option", "the-first", "the-second"])
def test_a_plan_without_faults_has_the_address_that_the_machine_takes(through: int | None, named: int | None) -> None:
    """For each two cards, in both orders of their indexes, by the rule of the machine itself."""
    accepted = 0
    for cards in product(CARDS, repeat=2):
        document: dict[str, Any] = {"interfaces": [], "dns-resolver": static()["dns-resolver"]}
        for number, (cidr, state) in enumerate(cards):
            address, _, prefix = cidr.partition("/")
            document = also(document, f"eno{number}", address, int(prefix), state=state)
        if through is not None:
            gateway = ip_interface(cards[through][0]).network[1]
            document |= route(str(gateway), f"eno{through}")
        option = [] if named is None else [cards[named][0].partition("/")[0]]
        server, faults = planned(document, option)
        if not faults and server.addresses:
            accepted += 1
            assert taken(document, option) == {server.address}, (document, option)
    assert accepted


def taken(document: dict[str, Any], option: list[str]) -> set[Address | None]:
    """Return what a machine takes for its address, in each order of its cards; DHCP gives it that of the option."""
    network = NetworkConfig.of(document)
    own = {card.name: static.cidr for card in network.up for static in card.addresses}
    if reserved := [address for address in option if address not in {str(cidr.ip) for cidr in own.values()}]:
        own["dhcp"] = ip_interface(f"{reserved[0]}/24")
    leaving = {"dhcp", *(each.interface for each in network.routes)}
    found = (
        node_address(
            two_networks().api.networks[0].network_address,
            [NodeAddress(name, order.index(name), cidr) for name, cidr in own.items()],
            [Route(order.index(name), None) for name in order if name in leaving],
        )
        for order in permutations(own)
    )
    return {each.address if each else None for each in found}
