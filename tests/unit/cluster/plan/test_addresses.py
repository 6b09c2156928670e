"""The addresses from the options and from the file, VRIDs, and families."""

from typing import Any

import pytest

from testing import clusters, plans
from testing.install_configs import Change, bare, host
from testing.plan_files import Files, addresses

BOOTSTRAP = plans.options()["bootstrap"]


def static(*texts: str) -> dict[str, Any]:
    """Return the nmstate of an interface with these IPv4 addresses."""
    listed = [{"ip": text, "prefix-length": 24} for text in texts]
    interface = {"name": "eno1", "type": "ethernet", "ipv4": {"enabled": True, "address": listed}}
    return {**clusters.nmstate("eno1", texts[0]), "interfaces": [interface]}


def at_static_addresses(config: dict[str, Any]) -> None:
    for index in range(len(plans.HOSTS)):
        host(config, index).update(networkConfig=static(f"192.168.111.{61 + index}"))
    bare(config).update(
        bootstrapExternalStaticIP="192.168.111.60",
        bootstrapExternalStaticGateway="192.168.111.1",
        bootstrapExternalStaticDNS="192.168.111.1",
    )


def test_vrids_of_the_options_override_those_of_the_name() -> None:
    plan = plans.plan(vrids={"api": 255, "ingress": 1})
    assert (plan.api.vrid, plan.ingress.vrid, plan.provisioning.vrid) == (255, 1, None)


@pytest.mark.parametrize(
    ("mode", "vrids", "vrid"),
    [
        pytest.param("Managed", {}, 239, id="of-the-name"),
        pytest.param("Managed", {"provisioning": 9}, 9, id="of-the-option"),
        pytest.param("Unmanaged", {"provisioning": 9}, None, id="unmanaged"),
        pytest.param("Disabled", {"provisioning": 67}, None, id="disabled-and-so-no-clash-with-the-api"),
    ],
)
def test_a_managed_provisioning_network_has_a_vrid(
    files: Files, mode: str, vrids: dict[str, int], vrid: int | None
) -> None:
    plan = files.plan(lambda c: bare(c).update(provisioningNetwork=mode), vrids=vrids)
    assert plan.provisioning.vrid == vrid


@pytest.mark.parametrize(
    ("vrids", "shared"),
    [
        pytest.param({"provisioning": 67}, "67", id="that-of-the-api"),
        pytest.param({"ingress": 239}, "239", id="that-of-ingress-as-the-computed-one"),
        pytest.param({"api": 5, "ingress": 5, "provisioning": 5}, "5", id="all-three"),
    ],
)
def test_the_vrid_of_the_provisioning_network_is_its_own(files: Files, vrids: dict[str, int], shared: str) -> None:
    assert files.refused_plan(lambda c: bare(c).update(provisioningNetwork="Managed"), vrids=vrids) == [
        f"config: vrids: {shared} is the VRID of several VIPs. Fix: give each VIP another VRID"
    ]


def test_behind_a_balancer_of_the_site_only_one_vip_has_a_vrid(files: Files) -> None:
    plan = files.plan(clusters.balancer_managed, vrids={"api": 5, "ingress": 5, "provisioning": 5})
    assert plan.provisioning.vrid == 5


def test_static_addresses_of_the_file_need_no_option(files: Files) -> None:
    plan = files.plan(at_static_addresses, node_addresses={}, bootstrap={"base_volume": "base.qcow2"})
    assert [str(server.address) for server in plan.servers] == [f"192.168.111.{last}" for last in range(61, 66)]
    static = plan.bootstrap.static
    assert static
    assert plan.bootstrap.addresses == (static.address,)
    assert (str(static.address), static.prefix, str(static.gateway)) == ("192.168.111.60", 24, "192.168.111.1")


@pytest.mark.parametrize(
    ("change", "changes", "line"),
    [
        pytest.param(
            lambda c: host(c).update(networkConfig=static("192.168.111.61")),
            {},
            "config: node_addresses.okd-master-0: 192.168.111.21, but the host's networkConfig sets 192.168.111.61. "
            "Fix: "
            "keep one of the two",
            id="host",
        ),
        pytest.param(
            at_static_addresses,
            {"node_addresses": {}},
            "config: bootstrap.address: 192.168.111.20, but bootstrapExternalStaticIP is 192.168.111.60. Fix: "
            "keep one of the two",
            id="bootstrap",
        ),
        pytest.param(
            lambda c: host(c).update(networkConfig=static("10.0.0.61")),
            {"node_addresses": addresses(okd_master_0=[])},
            "config: node_addresses.okd-master-0: no IPv4 address: in its networkConfig, 10.0.0.61 is outside "
            "machineNetwork 192.168.111.0/24. Fix: have one of machineNetwork there, or name the address that DHCP "
            "reserves for 52:54:00:11:10:15",
            id="static-outside",
        ),
        pytest.param(
            lambda c: host(c).update(networkConfig=static("192.168.111.4")),
            {"node_addresses": addresses(okd_master_0=[])},
            "FILE: platform.baremetal.hosts[0].networkConfig.interfaces[0].ipv4.address[0].ip: 192.168.111.4 is "
            "already the Ingress VIP (platform.baremetal.ingressVIPs[0]). Fix: give each an address of its own",
            id="static-on-a-vip",
        ),
    ],
)
def test_a_static_address_that_does_not_fit_is_refused(
    files: Files, change: Change, changes: dict[str, Any], line: str
) -> None:
    assert files.refused_plan(change, **changes) == [line]


def two_networks(config: dict[str, Any]) -> None:
    config["networking"].update(machineNetwork=[{"cidr": "192.168.111.0/24"}, {"cidr": "192.168.112.0/24"}])


def ingress_apart(config: dict[str, Any]) -> None:
    two_networks(config)
    bare(config).update(ingressVIPs=["192.168.112.4"])


def api_apart(config: dict[str, Any]) -> None:
    two_networks(config)
    bare(config).update(apiVIPs=["192.168.112.5"])


def a_static_worker_apart(config: dict[str, Any]) -> None:
    two_networks(config)
    host(config, 4).update(networkConfig=static("192.168.112.25"))


def ingress_of_both_families(config: dict[str, Any]) -> None:
    clusters.dual_stack(config)
    bare(config).update(apiVIPs=["192.168.111.5"])


APART = "is outside 192.168.111.0/24, the network of the {} VIP, which this machine claims"
MOVE = "Fix: choose it from the network of the machines, or move them to that network"


@pytest.mark.parametrize(
    ("change", "changes", "lines"),
    [
        pytest.param(
            two_networks,
            {"node_addresses": addresses(okd_worker_1=["192.168.112.25"])},
            [f"config: node_addresses.okd-worker-1[0]: 192.168.112.25 {APART.format('Ingress')}."],
            id="compute",
        ),
        pytest.param(
            two_networks,
            {"node_addresses": addresses(okd_master_1=["192.168.112.22"])},
            [f"config: node_addresses.okd-master-1[0]: 192.168.112.22 {APART.format('API')}."],
            id="control-plane",
        ),
        pytest.param(
            two_networks,
            {"bootstrap": {**BOOTSTRAP, "address": "192.168.112.20"}},
            [f"config: bootstrap.address: 192.168.112.20 {APART.format('API')}."],
            id="bootstrap",
        ),
        pytest.param(
            a_static_worker_apart,
            {"node_addresses": addresses(okd_worker_1=[])},
            [f"FILE: platform.baremetal.hosts[4].networkConfig: 192.168.112.25 {APART.format('Ingress')}."],
            id="static",
        ),
        pytest.param(
            a_static_worker_apart,
            {"node_addresses": addresses(okd_worker_0=[], okd_worker_1=[])},
            [f"FILE: platform.baremetal.hosts[4].networkConfig: 192.168.112.25 {APART.format('Ingress')}."],
            id="static-beside-one-that-is-not-known-yet",
        ),
        pytest.param(
            ingress_apart,
            {},
            [
                "FILE: platform.baremetal.ingressVIPs[0]: 192.168.112.4: "
                f"no machine is on this VIP's network 192.168.112.0/24. {MOVE}"
            ],
            id="nobody-holds-ingress",
        ),
        pytest.param(
            api_apart,
            {},
            [
                "FILE: platform.baremetal.apiVIPs[0]: 192.168.112.5: "
                f"no machine is on this VIP's network 192.168.112.0/24. {MOVE}"
            ],
            id="nobody-holds-the-api",
        ),
        pytest.param(
            ingress_of_both_families,
            {},
            [
                "FILE: platform.baremetal.ingressVIPs[1]: fd2e::4: "
                "the machines have no IPv6 address, because apiVIPs has none. "
                "Fix: add an API VIP of IPv6, or remove it"
            ],
            id="a-family-of-ingress-alone",
        ),
    ],
)
def test_machines_and_vips_in_different_networks_are_refused(
    files: Files, change: Change, changes: dict[str, Any], lines: list[str]
) -> None:
    faults = files.refused_intent(change, plans.options(**changes))
    assert len(faults) == len(lines), faults
    for fault, line in zip(faults, lines, strict=True):
        assert fault.startswith(line), fault


def test_compute_and_its_vip_may_be_in_a_network_of_their_own(files: Files) -> None:
    at = addresses(okd_worker_0=["192.168.112.24"], okd_worker_1=["192.168.112.25"])
    plan = files.plan(ingress_apart, node_addresses=at)
    assert [str(each) for each in (*plan.api.networks, *plan.ingress.networks)] == [
        "192.168.111.0/24",
        "192.168.112.0/24",
    ]


def test_the_first_address_of_a_machine_counts(files: Files) -> None:
    def change(config: dict[str, Any]) -> None:
        two_networks(config)
        host(config, 4).update(networkConfig=static("192.168.111.25", "192.168.112.25"))

    assert files.plan(change, node_addresses=addresses(okd_worker_1=[])).compute


def test_a_spare_may_be_outside_the_network_of_a_vip(files: Files) -> None:
    def change(config: dict[str, Any]) -> None:
        two_networks(config)
        config["compute"][0].update(replicas=1)

    plan = files.plan(change, node_addresses=addresses(okd_worker_1=["192.168.112.25"]))
    assert [spare.name for spare in plan.spares] == ["okd-worker-1"]


def test_addresses_of_two_families_are_ordered_primary_first(files: Files) -> None:
    both = {name: [f"fd2e::{last}", f"192.168.111.{last}"] for last, name in enumerate(plans.HOSTS, 21)}
    at = {**BOOTSTRAP, "address": ["fd2e::20", "192.168.111.20"]}
    plan = files.intent(clusters.dual_stack, plans.options(node_addresses=both, bootstrap=at))
    assert [str(each) for each in plan.bootstrap.addresses] == ["192.168.111.20", "fd2e::20"]
    assert [str(each) for each in plan.servers[0].addresses] == ["192.168.111.21", "fd2e::21"]
    assert [str(each) for each in plan.api.networks] == ["192.168.111.0/24", "fd2e::/64"]


def test_an_option_replaces_only_the_addresses_of_its_family(files: Files) -> None:
    """Static IPv4, and IPv6 by DHCP: the option names the latter, of a host and of the bootstrap VM."""

    def change(config: dict[str, Any]) -> None:
        clusters.dual_stack(config)
        at_static_addresses(config)
        for index in range(len(plans.HOSTS)):
            host(config, index)["networkConfig"]["interfaces"][0]["ipv6"] = {"enabled": True, "dhcp": True}

    six = {name: [f"fd2e::{last}"] for last, name in enumerate(plans.HOSTS, 61)}
    plan = files.plan(change, node_addresses=six, bootstrap={**BOOTSTRAP, "address": "fd2e::60"})
    assert [[str(each) for each in machine.addresses] for machine in (plan.bootstrap, plan.servers[0])] == [
        ["192.168.111.60", "fd2e::60"],
        ["192.168.111.61", "fd2e::61"],
    ]


def test_each_machine_needs_an_address_of_each_family(files: Files) -> None:
    lines = files.refused_plan(
        clusters.dual_stack, node_addresses=addresses(okd_master_0=["192.168.111.21", "fd2e::21"])
    )
    assert lines == [
        f"config: {option}: no IPv6 address. Fix: name the address that DHCP reserves for 52:54:00:11:10:{last}"
        for option, last in (
            *((f"node_addresses.{name}", last) for last, name in enumerate(plans.HOSTS[1:], 16)),
            ("bootstrap.address", 14),
        )
    ]
