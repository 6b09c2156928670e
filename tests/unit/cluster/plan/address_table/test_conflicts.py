"""Each address that is used twice is refused with both places, and what real sites share is accepted."""

from typing import Any

import pytest

from cluster.install_config.platform import BARE
from testing import clusters, plans
from testing.install_configs import Change, bare, from_network, host
from testing.plan_files import Files, addresses

MASTER_1 = "(config: node_addresses.okd-master-1[0])"
API, INGRESS = f"the API VIP ({BARE}.apiVIPs[0])", f"the Ingress VIP ({BARE}.ingressVIPs[0])"
PODS = "a network of pods 10.128.0.0/14 (networking.clusterNetwork[0].cidr)"
SERVICES = "a network of services 172.30.0.0/16 (networking.serviceNetwork[0])"
EACH = "Fix: give each an address of its own"
OUTSIDE = "Fix: choose an address outside of it, or another network"
HOST = f"FILE: {BARE}.hosts[0]"
NETWORK = f"{HOST}.networkConfig"


def static(*cards: str, gateway: str = "192.168.111.1", dns: str = "192.168.111.1", at: int = 0) -> Change:
    """Give a host its address of the options as a static one, further cards with addresses, and these servers."""

    def change(config: dict[str, Any]) -> None:
        network = clusters.nmstate("eno1", f"192.168.111.{21 + at}")
        for number, address in enumerate(cards, 2):
            network["interfaces"] += clusters.nmstate(f"eno{number}", address)["interfaces"]
        network["routes"]["config"][0]["next-hop-address"] = gateway
        network["dns-resolver"]["config"]["server"] = [dns]
        host(config, at).update(networkConfig=network)

    return change


def both(*changes: Change) -> Change:
    return lambda config: [change(config) for change in changes]


def bmc(address: str) -> Change:
    return lambda config: host(config)["bmc"].update(address=f"redfish-virtualmedia://{address}/redfish/v1/Systems/1")


def vm(gateway: str = "192.168.111.1", dns: str = "192.168.111.1") -> Change:
    return lambda config: bare(config).update(
        bootstrapExternalStaticIP="192.168.111.20",
        bootstrapExternalStaticGateway=gateway,
        bootstrapExternalStaticDNS=dns,
    )


def of_bare(**values: Any) -> Change:
    return lambda config: bare(config).update(values)


def route(config: dict[str, Any], destination: str) -> None:
    """Add a route beside the default one."""
    routes = host(config)["networkConfig"]["routes"]["config"]
    routes.append({**routes[0], "destination": destination})


def as_it_is(_: dict[str, Any]) -> None:
    """Change nothing."""


def media(**values: str) -> dict[str, Any]:
    return {"media": {"base_iso": plans.BASE_ISO, **values}}


REFUSED = [
    pytest.param(
        static("192.168.111.5"),
        {},
        [f"{NETWORK}.interfaces[1].ipv4.address[0].ip: 192.168.111.5 is already {API}. {EACH}"],
        id="V1-vip-on-a-second-card",
    ),
    pytest.param(
        both(static("10.9.0.1"), static("10.9.0.1", at=1)),
        {},
        [
            f"FILE: {BARE}.hosts[1].networkConfig.interfaces[1].ipv4.address[0].ip: 10.9.0.1 is already the address "
            f"of a server's other card ({BARE}.hosts[0].networkConfig.interfaces[1].ipv4.address[0].ip). {EACH}"
        ],
        id="V2-storage-address-of-two-hosts",
    ),
    pytest.param(
        static("10.9.0.1", "10.9.0.1"),
        {},
        [
            f"{NETWORK}.interfaces[2].ipv4.address[0].ip: 10.9.0.1 is already the address of a server's other card "
            f"({BARE}.hosts[0].networkConfig.interfaces[1].ipv4.address[0].ip). {EACH}"
        ],
        id="V2-one-address-on-two-cards-of-a-host",
    ),
    pytest.param(
        as_it_is,
        media(address="192.168.111.5"),
        [f"config: media.address: 192.168.111.5 is already {API}. {EACH}"],
        id="V3-media-is-vip",
    ),
    pytest.param(
        as_it_is,
        media(address="192.168.111.22"),
        [f"config: media.address: 192.168.111.22 is already the address of a server {MASTER_1}. {EACH}"],
        id="V4-media-is-node",
    ),
    pytest.param(
        bmc("192.168.111.21"),
        {},
        [
            "config: node_addresses.okd-master-0[0]: 192.168.111.21 is already the address of a BMC "
            f"({BARE}.hosts[0].bmc.address). {EACH}"
        ],
        id="V5-bmc-is-own-node",
    ),
    pytest.param(
        bmc("192.168.111.5:8443"),
        {},
        [f"{HOST}.bmc.address: 192.168.111.5 is already {API}. {EACH}"],
        id="V6-bmc-is-vip",
    ),
    pytest.param(
        static(dns="192.168.111.5"),
        {},
        [f"{NETWORK}.dns-resolver.config.server[0]: 192.168.111.5 is already {API}. {EACH}"],
        id="V7-dns-is-vip",
    ),
    pytest.param(
        static(dns="192.168.111.21"),
        {},
        [
            f"{NETWORK}.dns-resolver.config.server[0]: 192.168.111.21 is already the address of a server "
            f"({BARE}.hosts[0].networkConfig.interfaces[0].ipv4.address[0].ip). {EACH}"
        ],
        id="N26-dns-is-the-node-that-the-options-name-too",
    ),
    pytest.param(
        vm(gateway="192.168.111.5"),
        {},
        [f"FILE: {BARE}.bootstrapExternalStaticGateway: 192.168.111.5 is already {API}. {EACH}"],
        id="V8-gateway-of-the-bootstrap-is-vip",
    ),
    pytest.param(
        vm(gateway="192.0.2.1"),
        {},
        [
            f"FILE: {BARE}.bootstrapExternalStaticGateway: 192.0.2.1 is outside 192.168.111.0/24, the network of "
            "bootstrapExternalStaticIP 192.168.111.20. "
            "Fix: write the router of that network, or its whole prefix in machineNetwork"
        ],
        id="V9-gateway-of-the-bootstrap-elsewhere",
    ),
    pytest.param(
        of_bare(additionalNTPServers=["ntp.lab.test", "192.168.111.4"]),
        {},
        [f"FILE: {BARE}.additionalNTPServers[1]: 192.168.111.4 is already {INGRESS}. {EACH}"],
        id="V10-ntp-is-vip",
    ),
    pytest.param(
        static(gateway="192.168.111.5"),
        {},
        [f"{NETWORK}.routes.config[0].next-hop-address: 192.168.111.5 is already {API}. {EACH}"],
        id="N15-gateway-is-vip",
    ),
    pytest.param(
        bmc("10.130.0.1"), {}, [f"{HOST}.bmc.address: 10.130.0.1 is in {PODS}. {OUTSIDE}"], id="V14-bmc-among-pods"
    ),
    pytest.param(
        static(dns="172.30.0.53"),
        {},
        [f"{NETWORK}.dns-resolver.config.server[0]: 172.30.0.53 is in {SERVICES}. {OUTSIDE}"],
        id="V15-dns-among-services",
    ),
    pytest.param(
        static("100.88.3.3"),
        {},
        [
            f"{NETWORK}.interfaces[1].ipv4.address[0].ip: 100.88.3.3 is in a network of OVN-Kubernetes 100.88.0.0/16 "
            f"(networking.networkType). {OUTSIDE}"
        ],
        id="a-card-in-ovn-s-transit-network",
    ),
    pytest.param(
        vm(dns="192.168.111.22"),
        {},
        [
            f"config: node_addresses.okd-master-1[0]: 192.168.111.22 is already a DNS server "
            f"({BARE}.bootstrapExternalStaticDNS). {EACH}"
        ],
        id="dns-of-the-bootstrap-is-node",
    ),
    pytest.param(
        lambda config: config.update(proxy={"httpProxy": "http://user:word@192.168.111.4:3128", "noProxy": "x"}),
        {},
        [f"FILE: proxy.httpProxy: 192.168.111.4 is already {INGRESS}. {EACH}"],
        id="proxy-is-vip-without-its-password",
    ),
    pytest.param(
        as_it_is,
        media(url="http://192.168.111.4/isos"),
        [f"config: media.url: 192.168.111.4 is already {INGRESS}. {EACH}"],
        id="web-server-is-vip",
    ),
    pytest.param(
        both(from_network(3), bmc("172.22.0.10")),
        {},
        [
            f"{HOST}.bmc.address: 172.22.0.10 is already the address that DHCP reserves for a server "
            f"({BARE}.provisioningDHCPRange). {EACH}"
        ],
        id="bmc-is-reserved-by-dhcp",
    ),
    pytest.param(
        both(static("172.22.0.12"), from_network(3)),
        {},
        [
            f"{NETWORK}.interfaces[1].ipv4.address[0].ip: 172.22.0.12 is already the address that DHCP reserves for "
            f"a server ({BARE}.provisioningDHCPRange). {EACH}"
        ],
        id="a-card-at-the-reserved-address-of-another-host",
    ),
    pytest.param(
        from_network(3, provisioningNetworkCIDR="172.30.4.0/24"),
        {},
        [
            f"FILE: {BARE}.provisioningNetworkCIDR: 172.30.4.0/24 overlaps {SERVICES}. "
            "Fix: write a network of its own, or provisioningNetwork: Disabled"
        ],
        id="provisioning-network-among-services",
    ),
    pytest.param(
        both(static(), lambda config: route(config, "10.130.0.0/16")),
        {},
        [
            f"{NETWORK}.routes.config[1].destination: 10.130.0.0/16 overlaps {PODS}. "
            "Fix: remove the route, or choose other networks of pods and services"
        ],
        id="a-route-to-pods",
    ),
    pytest.param(
        as_it_is,
        {"node_addresses": addresses(okd_master_0=["192.168.111.255"])},
        [
            "config: node_addresses.okd-master-0[0]: 192.168.111.255 is already the first or broadcast address of a "
            "machine network (networking.machineNetwork[0].cidr). Fix: choose another"
        ],
        id="node-is-broadcast",
    ),
    pytest.param(
        lambda config: host(config).update(
            networkConfig={"interfaces": [{"name": "eno1", "state": "up", "mac-address": "52-54-00-11-10-16"}]}
        ),
        {},
        [
            f"FILE: {BARE}.hosts[1].bootMACAddress: 52:54:00:11:10:16 is already the MAC of a network card "
            f"({BARE}.hosts[0].networkConfig.interfaces[0].mac-address). "
            "Fix: write another: each network card has its own"
        ],
        id="mac-of-another-host-s-card",
    ),
]


@pytest.mark.parametrize(("change", "options", "lines"), REFUSED)
def test_one_value_of_two_uses_is_one_line(
    files: Files, change: Change, options: dict[str, Any], lines: list[str]
) -> None:
    assert files.refused_plan(change, **options) == lines


def provisioner_at(address: str) -> dict[str, Any]:
    """Return options that have it fetch an ISO from an address."""
    iso = {**plans.BASE_ISO, "url": f"http://{address}/live.iso"}
    return {"media": {**plans.options()["media"], "base_iso": iso}}


HELPER = "192.168.111.1"


def one_helper_node(config: dict[str, Any]) -> None:
    """Let one machine be gateway, DNS and time server, registry, proxy, virtual BMC, hypervisor and balancer."""
    both(vm(), static(), static(at=1), bmc(f"{HELPER}:8000"))(config)
    bare(config).update(
        additionalNTPServers=[HELPER],
        libvirtURI=f"qemu+ssh://root@{HELPER}/system",
        loadBalancer={"type": "UserManaged"},
        apiVIPs=[HELPER],
        ingressVIPs=[HELPER],
    )
    config.update(
        imageDigestSources=[{"source": "quay.io/okd", "mirrors": [f"{HELPER}:5000/okd"]}],
        proxy={"httpProxy": f"http://{HELPER}:3128", "noProxy": "lab.test"},
    )


def two_systems_of_one_bmc(config: dict[str, Any]) -> None:
    for index in (0, 1):
        host(config, index)["bmc"]["address"] = f"redfish-virtualmedia://10.9.0.9/redfish/v1/Systems/{index}"


def a_card_that_is_not_up(config: dict[str, Any]) -> None:
    static("192.168.111.5")(config)
    host(config)["networkConfig"]["interfaces"][1]["state"] = "absent"


@pytest.mark.parametrize(
    ("change", "options"),
    [
        pytest.param(one_helper_node, media(address=HELPER), id="one-helper-node"),
        pytest.param(both(static(), static(at=1)), {}, id="a-static-address-that-the-options-name-too"),
        pytest.param(two_systems_of_one_bmc, {}, id="two-systems-of-one-bmc"),
        pytest.param(both(static(), lambda config: route(config, "10.0.0.0/8")), {}, id="a-route-around-pods"),
        pytest.param(as_it_is, provisioner_at("10.130.0.9"), id="what-only-the-provisioner-reaches"),
        pytest.param(a_card_that_is_not_up, {}, id="N10-an-address-of-a-card-that-is-absent"),
        pytest.param(bmc("192.168.111.99"), media(address="192.168.111.2"), id="all-on-the-machine-network"),
        pytest.param(both(from_network(3), bmc("172.22.0.99")), {}, id="bmc-on-the-provisioning-network"),
        pytest.param(both(static("172.22.0.10"), from_network(3)), {}, id="a-card-at-the-host-s-reserved-address"),
        pytest.param(
            of_bare(provisioningNetwork="Disabled", clusterProvisioningIP="192.168.111.5"),
            {},
            id="an-unused-setting",
        ),
        pytest.param(static(dns="169.254.3.3"), {}, id="link-local-address"),
        pytest.param(
            lambda config: (
                config["networking"].update(ovnKubernetesConfig={"ipv4": {"internalJoinSubnet": "100.99.0.0/16"}})
                or bmc("100.64.0.9")(config)
            ),
            {},
            id="a-bmc-where-the-join-network-was",
        ),
    ],
)
def test_what_sites_share_is_accepted(files: Files, change: Change, options: dict[str, Any]) -> None:
    assert files.plan(change, **options)


def test_networks_of_an_installed_cluster_are_not_refused(files: Files) -> None:
    """They are fixed, so no fix could help."""
    assert files.plan(bmc("10.130.0.1"), phase="production")


def test_a_bmc_may_be_wrong_for_two_reasons_and_several_places(files: Files) -> None:
    lines = files.refused_plan(
        both(bmc("192.168.111.5"), of_bare(additionalNTPServers=["192.168.111.5"])),
        node_addresses=addresses(okd_master_1=["192.168.111.5"]),
    )
    assert lines[-1] == (
        f"config: node_addresses.okd-master-1[0]: 192.168.111.5 is already {API}, "
        f"a time server ({BARE}.additionalNTPServers[0]), the address of a BMC ({BARE}.hosts[0].bmc.address). {EACH}"
    )
