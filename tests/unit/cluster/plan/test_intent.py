"""The intent of an install-config alone: roles, VIPs, networks, the bootstrap, BMCs."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from cluster.install_config import read
from cluster.plan import Intent, Role
from cluster.plan.intent import intent_of
from cluster.values.balancer import Balancer
from cluster.values.vrrp import API, INGRESS
from testing import clusters, plans
from testing.install_configs import Change, bare, from_network, host
from testing.plan_files import Files, as_it_is


def intent_with(change: Change) -> Intent:
    """Return the intent of a good file, without this release's refusals."""
    config = plans.install_config()
    change(config)
    reading = read(yaml.safe_dump(config))
    assert reading.faults == ()
    return intent_of(reading.config)


def renamed(name: str) -> Change:
    return lambda config: config["metadata"].update(name=name)


def test_a_vip_knows_its_network_and_its_vrrp_identity() -> None:
    intent = plans.intent()
    assert [str(network) for network in (*intent.api.networks, *intent.ingress.networks)] == ["192.168.111.0/24"] * 2
    assert (intent.api.vrid, intent.ingress.vrid) == (67, 162)
    assert (intent.api.priorities, intent.ingress.priorities) == (API["release"], INGRESS)


def test_a_balancer_elsewhere_has_the_first_network_of_its_family() -> None:
    intent = clusters.intent("balancer")
    assert intent.balancer is Balancer.SITE
    assert [str(network) for network in (*intent.api.networks, *intent.ingress.networks)] == ["192.168.111.0/24"] * 2
    assert {intent.vips_of(role) for role in Role} == {()}
    assert plans.intent().balancer is Balancer.CLUSTER


def test_the_dns_records_that_the_site_must_serve() -> None:
    records = {name: [str(each) for each in addresses] for name, addresses in plans.intent().dns_records.items()}
    assert records == {
        "api.okd.lab.test": ["192.168.111.5"],
        "*.apps.okd.lab.test": ["192.168.111.4"],
    }


@pytest.mark.parametrize(
    ("pools", "compute", "wanted"),
    [
        pytest.param({}, 2, {"control-plane": "amd64", "compute": "amd64"}, id="by-default"),
        pytest.param({"compute": "arm64"}, 2, {"control-plane": "amd64", "compute": "arm64"}, id="mixed"),
        pytest.param(
            {"controlPlane": "arm64", "compute": "arm64"},
            2,
            {"control-plane": "arm64", "compute": "arm64"},
            id="arm64",
        ),
        pytest.param({"compute": "arm64"}, 0, {"control-plane": "amd64"}, id="no-compute"),
    ],
)
def test_each_role_with_servers_has_the_architecture_of_its_pool(
    pools: dict[str, str], compute: int, wanted: dict[str, str]
) -> None:
    def change(config: dict[str, Any]) -> None:
        config["compute"][0]["replicas"] = compute
        for pool, architecture in pools.items():
            (config["compute"][0] if pool == "compute" else config[pool])["architecture"] = architecture

    assert intent_with(change).architectures == wanted


def test_a_trailing_dot_of_the_base_domain_is_ignored() -> None:
    assert intent_with(lambda c: c.update(baseDomain="lab.test.")).domain == "okd.lab.test"


def with_roles(*said: str | None, masters: int = 3, workers: int = 2) -> Change:
    """Set the roles of the five hosts (None: without one), and perhaps add hosts."""

    def change(config: dict[str, Any]) -> None:
        hosts = bare(config)["hosts"]
        for index, role in enumerate(said):
            if index == len(hosts):
                hosts.append(yaml.safe_load(yaml.safe_dump(hosts[0])))
                hosts[index].update(name=f"more-{index}", bootMACAddress=f"52:54:00:00:00:{index:02}")
                hosts[index]["bmc"].update(address=f"redfish-virtualmedia://192.0.2.{index}/redfish/v1/Systems/1")
            hosts[index].pop("role", None)
            if role:
                hosts[index]["role"] = role
        config["controlPlane"].update(replicas=masters)
        config["compute"][0].update(replicas=workers)

    return change


M, W = "master", "worker"


@pytest.mark.parametrize(
    ("change", "roles"),
    [
        pytest.param(with_roles(M, M, M, W, W), [M, M, M, W, W], id="all-given"),
        pytest.param(with_roles(None, None, None, None, None), [M, M, M, W, W], id="none-given"),
        pytest.param(with_roles(W, None, W, None, None), [W, M, W, M, M], id="compute-given"),
        pytest.param(with_roles(None, M, None, W, None), [M, M, M, W, W], id="mixed"),
        pytest.param(with_roles(M, M, M, W, W, None), [M, M, M, W, W, None], id="one-to-spare"),
        pytest.param(with_roles(None, None, M, None, None, workers=1), [M, M, M, W, None], id="the-last-to-spare"),
        pytest.param(with_roles(None, None, None, None, None, workers=0), [M, M, M, None, None], id="no-compute"),
        pytest.param(
            with_roles(None, None, None, None, None, masters=4, workers=1), [M, M, M, M, W], id="four-masters"
        ),
        pytest.param(with_roles(M, M, M, W, W, W), [M, M, M, W, W, None], id="a-worker-to-spare"),
        pytest.param(with_roles(M, M, M, M, W, None), [M, M, M, None, W, W], id="a-master-is-no-worker"),
        pytest.param(with_roles(W, M, W, M, W, M, M), [W, M, W, M, None, M, None], id="one-of-each-to-spare"),
        pytest.param(with_roles(None, M, M, M, W, W, W, workers=2), [None, M, M, M, W, W, None], id="named-go-first"),
        pytest.param(with_roles(W, M, W, M, W, M, M, workers=3), [W, M, W, M, W, M, None], id="the-next-is-taken"),
    ],
)
def test_the_first_of_a_role_are_installed_and_hosts_without_one_fill_up(
    change: Change, roles: list[str | None]
) -> None:
    intent = intent_with(change)
    assert [each.role and each.role.pool for each in intent.hosts] == roles
    assert [server.name for server in intent.control_plane] == [
        each.name for each, role in zip(intent.hosts, roles, strict=True) if role == M
    ]
    assert [spare.name for spare in intent.spares] == [
        each.name for each, role in zip(intent.hosts, roles, strict=True) if role is None
    ]


def test_a_host_has_its_bmc_and_boot_settings() -> None:
    def change(config: dict[str, Any]) -> None:
        host(config).update(
            bootMACAddress="52-54-00-AB-CD-EF", bootMode="UEFI", rootDeviceHints={"rotational": False}
        )
        host(config)["bmc"].update(
            address="idrac-virtualmedia+http://[FD00::1]:8000", disableCertificateVerification=True
        )

    server = intent_with(change).hosts[0]
    assert (server.boot_mac, server.boot_mode) == ("52:54:00:ab:cd:ef", "UEFI")
    assert server.root_device_hints.rotational is False
    assert server.bmc.address == "idrac-virtualmedia+http://[FD00::1]:8000"
    assert (server.bmc.url.driver, server.bmc.url.port, server.bmc.url.system_id) == ("idrac", 8000, None)
    assert not server.bmc.verify_tls


def test_the_bootstraps_mac_is_the_files() -> None:
    assert intent_with(as_it_is).bootstrap.mac == "52:54:00:11:10:14"
    assert (
        intent_with(lambda c: bare(c).update(externalMACAddress="52:54:00:AA:BB:CC")).bootstrap.mac
        == "52:54:00:aa:bb:cc"
    )


def without_mac(name: str) -> Change:
    def change(config: dict[str, Any]) -> None:
        renamed(name)(config)
        del bare(config)["externalMACAddress"]

    return change


def test_without_a_written_mac_the_bootstraps_follows_from_the_domain() -> None:
    # It must never change: DHCP has a reservation for it.
    assert intent_with(without_mac("okd")).bootstrap.mac == "52:54:00:9f:6e:52"
    assert intent_with(without_mac("other")).bootstrap.mac != intent_with(without_mac("okd")).bootstrap.mac


def provisioning(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(config: dict[str, Any]) -> None:
        bare(config).update(changes)

    return change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(as_it_is, {"mode": "Disabled"}, id="disabled"),
        pytest.param(
            provisioning(bootstrapProvisioningIP="192.168.111.7", clusterProvisioningIP="192.168.111.8"),
            {"mode": "Disabled", "bootstrap_ip": "192.168.111.7", "cluster_ip": "192.168.111.8"},
            id="disabled-with-addresses",
        ),
        pytest.param(
            provisioning(provisioningNetwork="Managed", provisioningMACAddress="52:54:00:00:00:01"),
            {
                "mode": "Managed",
                "bridge": "provisioning",
                "cidr": "172.22.0.0/24",
                "bootstrap_ip": "172.22.0.2",
                "cluster_ip": "172.22.0.3",
                "dhcp_range": ["172.22.0.10", "172.22.0.254"],
                "mac": "52:54:00:00:00:01",
                "vrid": 239,
            },
            id="managed-by-default",
        ),
        pytest.param(
            provisioning(
                provisioningNetwork="Managed",
                provisioningNetworkCIDR="10.9.0.0/24",
                provisioningNetworkGateway="10.9.0.1",
                provisioningDHCPRange="10.9.0.20,10.9.0.40",
                provisioningMACAddress="52:54:00:00:00:01",
            ),
            {
                "mode": "Managed",
                "bridge": "provisioning",
                "cidr": "10.9.0.0/24",
                "bootstrap_ip": "10.9.0.2",
                "cluster_ip": "10.9.0.3",
                "dhcp_range": ["10.9.0.20", "10.9.0.40"],
                "gateway": "10.9.0.1",
                "mac": "52:54:00:00:00:01",
                "vrid": 239,
            },
            id="managed",
        ),
        pytest.param(
            provisioning(provisioningDHCPRange="172.22.0.10"), {"mode": "Disabled"}, id="disabled-with-half-a-range"
        ),
        pytest.param(
            provisioning(
                provisioningNetwork="Unmanaged",
                provisioningNetworkCIDR="fd35::/64",
                provisioningNetworkInterface="eno2",
                provisioningBridge="br-prov",
                provisioningMACAddress="52:54:00:00:00:01",
            ),
            {
                "mode": "Unmanaged",
                "bridge": "br-prov",
                "cidr": "fd35::/64",
                "bootstrap_ip": "fd35::2",
                "cluster_ip": "fd35::3",
                "interface": "eno2",
                "mac": "52:54:00:00:00:01",
            },
            id="unmanaged",
        ),
    ],
)
def test_the_provisioning_network_has_its_defaults(change: Change, expected: dict[str, Any]) -> None:
    assert intent_with(change).provisioning.model_dump(mode="json", exclude_none=True) == expected


def test_the_mac_on_the_provisioning_network_differs_from_the_external_one() -> None:
    def change(config: dict[str, Any]) -> None:
        without_mac("okd")(config)
        provisioning(provisioningNetwork="Managed")(config)

    intent = intent_with(change)
    assert intent.provisioning.mac is not None
    assert intent.provisioning.mac.startswith("52:54:00:")
    assert intent.provisioning.mac != intent.bootstrap.mac


def with_a_spare_of_compute(change: Change) -> Change:
    def changed(config: dict[str, Any]) -> None:
        change(config)
        config["compute"][0].update(replicas=1)

    return changed


def test_a_managed_network_numbers_its_hosts_in_the_order_of_the_file() -> None:
    """Also a spare, and one that boots by virtual CD: an address never moves to another host."""

    def change(config: dict[str, Any]) -> None:
        from_network(0, 2)(config)
        bare(config).update(provisioningDHCPRange="172.22.0.254,172.22.1.20", provisioningNetworkCIDR="172.22.0.0/16")
        bare(config)["hosts"].insert(0, bare(config)["hosts"].pop())

    intent = intent_with(with_a_spare_of_compute(change))
    assert [(each.name, str(each.provisioning_address)) for each in intent.hosts] == [
        ("okd-worker-1", "172.22.0.254"),
        ("okd-master-0", "172.22.0.255"),
        ("okd-master-1", "172.22.1.0"),
        ("okd-master-2", "172.22.1.1"),
        ("okd-worker-0", "172.22.1.2"),
    ]
    assert [each.name for each in intent.spares] == ["okd-worker-0"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(from_network(0, 3, mode="Unmanaged"), id="unmanaged"),
        pytest.param(from_network(mode="Disabled"), id="disabled"),
        pytest.param(
            from_network(mode="Disabled", provisioningDHCPRange="172.22.0.10,172.22.0.99"), id="with-a-range"
        ),
    ],
)
def test_hosts_have_no_address_on_a_network_that_others_manage(change: Change) -> None:
    assert {each.provisioning_address for each in intent_with(change).hosts} == {None}


def test_the_bmcs_address_says_whether_a_host_boots_from_the_network() -> None:
    assert [each.boots_from_network for each in intent_with(from_network(0, 3)).hosts] == [
        True,
        False,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        pytest.param(from_network(0, 2, 3), (["okd-master-0", "okd-master-2"], ["okd-worker-0"]), id="managed"),
        pytest.param(from_network(), ([], []), id="by-virtual-cd"),
        pytest.param(from_network(0, 2, 3, mode="Unmanaged"), ([], []), id="unmanaged"),
        pytest.param(with_a_spare_of_compute(from_network(3, 4)), ([], ["okd-worker-0"]), id="spare"),
    ],
)
def test_a_cluster_serves_network_boot_on_the_network_that_it_manages(
    change: Change, wanted: tuple[list[str], list[str]]
) -> None:
    intent = intent_with(change)
    clients = tuple([each.name for each in intent.boot_clients(role)] for role in (Role.CONTROL_PLANE, Role.COMPUTE))
    assert clients == wanted


def test_over_ipv6_each_host_has_eight_addresses_of_its_own() -> None:
    """One boot asks with several identities; the facts are of dnsmasq 2.90 and edk2."""
    intent = clusters.intent("managed-ipv6")
    assert [str(each.provisioning_address) for each in intent.hosts] == [
        "fd00:1101::10", "fd00:1101::18", "fd00:1101::20", "fd00:1101::28", "fd00:1101::30"
    ]  # fmt: skip


def test_nothing_boots_over_ipv6_where_there_is_no_provisioning_network() -> None:
    """A CIDR may stand in the file all the same."""
    intent = intent_with(
        lambda c: bare(c).update(provisioningNetwork="Disabled", provisioningNetworkCIDR="fd00::/64")
    )
    assert not intent.boots_over_ipv6


def test_the_control_plane_claims_the_vip_that_compute_boots_from() -> None:
    vip = intent_with(from_network(4, clusterProvisioningIP="172.22.0.7")).provisioning_vip
    assert vip is not None
    assert ([str(each) for each in vip.addresses], [str(each) for each in vip.networks]) == (
        ["172.22.0.7"],
        ["172.22.0.0/24"],
    )
    assert (vip.vrid, vip.transport) == (239, "unicast")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(from_network(0, 1, 2), id="the-control-plane-alone"),
        pytest.param(from_network(0, 3, mode="Unmanaged"), id="unmanaged"),
        pytest.param(from_network(mode="Disabled", clusterProvisioningIP="192.168.111.8"), id="disabled"),
        pytest.param(with_a_spare_of_compute(from_network(4)), id="a-spare-alone"),
    ],
)
def test_without_compute_to_boot_there_is_no_provisioning_vip(change: Change) -> None:
    assert intent_with(change).provisioning_vip is None


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        pytest.param("Disabled", ["192.168.111.21"], id="disabled"),
        pytest.param("Managed", ["192.168.111.99"], id="managed"),
        pytest.param("Unmanaged", ["192.168.111.99"], id="unmanaged"),
    ],
)
def test_the_boot_mac_is_that_of_the_machine_network_if_there_is_no_other(mode: str, expected: list[str]) -> None:
    """On a provisioning network it is the card there, so the static address of the other card is the node's."""

    def change(config: dict[str, Any]) -> None:
        from_network(mode=mode)(config)
        mac = {"identifier": "mac-address", "mac-address": host(config)["bootMACAddress"]}
        interfaces = [
            clusters.nmstate(name, address)["interfaces"][0]
            for name, address in (("eno1", "192.168.111.21"), ("eno2", "192.168.111.99"))
        ]
        host(config).update(networkConfig={"interfaces": [{**interfaces[0], **mac}, interfaces[1]]})

    intent = intent_with(change)
    assert intent.hosts[0].boot_mac == "52:54:00:11:10:15"
    assert [str(each) for each in intent.hosts[0].addresses] == expected


def test_reading_from_a_file_or_from_values_gives_the_same_intent(files: Files) -> None:
    intent = files.intent(as_it_is)
    # The table of addresses follows once the options are joined.
    assert intent == plans.intent() == intent_with(as_it_is).changed(named_addresses=intent.named_addresses)
