"""Clusters of one network, and of many sites: each clash is found, and nothing else is reported."""

from collections.abc import Mapping
from ipaddress import ip_address
from itertools import combinations
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from base.errors import Fault
from cluster.clashes import ClusterConfig, clashes_between
from cluster.install_config import InstallConfig, read
from cluster.install_config.platform import DISABLED, MANAGED
from cluster.options import BootstrapAddress, MachineOptions, Options, Vrids
from cluster.values.vrrp import derived_vrids
from testing import clusters, plans
from testing.install_configs import Change, numbered


def lines(*configs: dict[str, Any]) -> list[list[str]]:
    """Return the lines about `a.yaml`, `b.yaml`, … in turn."""
    read_ones = [read(yaml.safe_dump(config)).config for config in configs]
    clusters = [ClusterConfig(f"{letter}.yaml", config) for letter, config in zip("abcdef", read_ones, strict=False)]
    return [[str(fault) for fault in found] for found in clashes_between(clusters)]


def bare(**values: Any) -> Change:
    return lambda config: config["platform"]["baremetal"].update(values)


def named(name: str) -> Change:
    return lambda config: config["metadata"].update(name=name)


def first_host(**values: Any) -> Change:
    return lambda config: config["platform"]["baremetal"]["hosts"][0].update(values)


def bmc(address: str) -> Change:
    return lambda config: config["platform"]["baremetal"]["hosts"][0]["bmc"].update(address=address)


def both(one: Change, other: Change) -> Change:
    return lambda config: (one(config), other(config))


BARE = "platform.baremetal"
SYSTEM = "/redfish/v1/Systems/1"
EACH = "Fix: give each an address of its own"
OWN_CARD = "Fix: write another: each network card has its own"
OWN_SERVER = "Fix: write another: a server belongs to one cluster"


@pytest.mark.parametrize(
    ("earlier", "later", "line"),
    [
        pytest.param(
            named("prod"),
            named("prod"),
            "metadata.name: prod is the name of a.yaml too, and so are its VRIDs. Fix: choose another",
            id="name",
        ),
        pytest.param(
            named("cnf10"),
            named("cnf11"),
            "metadata.name: its ingress VRID 147 is the api VRID of a.yaml too. Fix: "
            "set vrids: {ingress: 1}, which is free, in its stack's options before its nodes are installed",
            id="vrid-of-the-other-vip",
        ),
        pytest.param(
            bare(apiVIPs=["192.168.111.5"]),
            bare(ingressVIPs=["192.168.111.5"]),
            f"{BARE}.ingressVIPs[0]: 192.168.111.5 is already the API VIP ({BARE}.apiVIPs[0] of a.yaml). {EACH}",
            id="vip-of-the-other-kind",
        ),
        pytest.param(
            bare(apiVIPs=["2001:db8::5"]),
            bare(apiVIPs=["2001:DB8:0:0::5"]),
            f"{BARE}.apiVIPs[0]: 2001:db8::5 is already the API VIP ({BARE}.apiVIPs[0] of a.yaml). {EACH}",
            id="vip-in-another-spelling",
        ),
        pytest.param(
            bare(apiVIPs=["192.168.111.9", "2001:db8::5"]),
            bare(apiVIP="2001:db8::5", apiVIPs=None),
            f"{BARE}.apiVIPs[0]: 2001:db8::5 is already the API VIP ({BARE}.apiVIPs[1] of a.yaml). {EACH}",
            id="vip-by-its-old-key",
        ),
        pytest.param(
            first_host(bootMACAddress="52:54:00:ab:cd:ef"),
            first_host(bootMACAddress="5254.00AB.CDEF"),
            f"{BARE}.hosts[0].bootMACAddress: 52:54:00:ab:cd:ef is already the MAC of a network card "
            f"({BARE}.hosts[0].bootMACAddress of a.yaml). {OWN_CARD}",
            id="boot-mac-in-another-spelling",
        ),
        pytest.param(
            bare(externalMACAddress="52:54:00:ab:cd:ef"),
            bare(provisioningMACAddress="52-54-00-ab-cd-ef"),
            f"{BARE}.provisioningMACAddress: 52:54:00:ab:cd:ef is already the MAC of a network card "
            f"({BARE}.externalMACAddress of a.yaml). {OWN_CARD}",
            id="macs-of-two-bootstrap-vms",
        ),
        pytest.param(
            bmc(f"redfish-virtualmedia://BMC.example.com:443{SYSTEM}"),
            bmc(f"idrac-virtualmedia+https://bmc.example.com{SYSTEM}/"),
            f"{BARE}.hosts[0].bmc.address: idrac-virtualmedia+https://bmc.example.com{SYSTEM}/ is already the BMC of "
            f"a server ({BARE}.hosts[0].bmc.address of a.yaml). {OWN_SERVER}",
            id="bmc-in-another-spelling",
        ),
        *(
            pytest.param(
                bmc(f"{earlier}://10.1.1.1{SYSTEM}"),
                bmc(f"{later}://10.1.1.1/redfish/v1/Systems/2"),
                f"{BARE}.hosts[0].bmc.address: {later}://10.1.1.1/redfish/v1/Systems/2 is already the BMC of a "
                f"server ({BARE}.hosts[0].bmc.address of a.yaml). {OWN_SERVER}",
                id=f"issue-40-16-two-paths-of-{earlier}-and-{later}",
            )
            for earlier, later in (
                ("idrac-virtualmedia", "idrac-virtualmedia"),
                ("redfish-virtualmedia", "idrac-virtualmedia"),
                ("ilo5-virtualmedia", "redfish-virtualmedia"),
            )
        ),
        pytest.param(
            both(bmc("10.1.1.1"), bare(provisioningNetwork="Unmanaged")),
            bmc("redfish-virtualmedia://10.1.1.1"),
            f"{BARE}.hosts[0].bmc.address: redfish-virtualmedia://10.1.1.1 is already the BMC of a server "
            f"({BARE}.hosts[0].bmc.address of a.yaml). {OWN_SERVER}",
            id="bmc-without-a-type",
        ),
        pytest.param(
            named("okd"),
            both(named("core"), bare(provisioningNetwork="Managed")),
            "metadata.name: its provisioning VRID 162 is the ingress VRID of a.yaml too. Fix: "
            "set vrids: {provisioning: 1}, which is free, in its stack's options before its nodes are installed",
            id="vrid-of-a-managed-provisioning-network",
        ),
        pytest.param(
            named("okd"),
            both(named("core"), bare(provisioningNetwork="Managed", loadBalancer={"type": "UserManaged"})),
            "metadata.name: its provisioning VRID 162 is the ingress VRID of a.yaml too. Fix: "
            "set vrids: {provisioning: 1}, which is free, in its stack's options before its nodes are installed",
            id="that-vrid-behind-a-balancer-of-the-site",
        ),
        pytest.param(
            bare(provisioningNetwork="Managed"),
            bare(provisioningNetwork="Unmanaged", provisioningNetworkCIDR="172.22.0.128/25"),
            f"{BARE}.provisioningNetworkCIDR: 172.22.0.128/25 overlaps the provisioning network 172.22.0.0/24 "
            f"({BARE}.provisioningNetworkCIDR of a.yaml). "
            "Fix: write a network of its own, or provisioningNetwork: Disabled",
            id="provisioning-network-within-another's-default",
        ),
    ],
)
def test_one_clash_is_one_line_at_the_later_file(earlier: Change, later: Change, line: str) -> None:
    assert lines(numbered(1, earlier), numbered(2, later)) == [[], [line]]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        pytest.param(lambda _: None, lambda _: None, id="the-same-machine-network"),
        pytest.param(first_host(name="server"), first_host(name="server"), id="host-names"),
        pytest.param(named("okdprod1"), named("okdprod"), id="names-that-differ-in-character-8"),
        pytest.param(named("okd-prod1"), named("okd-prod2"), id="names-that-differ-in-character-9"),
        pytest.param(
            bmc(f"redfish-virtualmedia://10.1.1.1{SYSTEM}"),
            bmc("redfish-virtualmedia://10.1.1.1/redfish/v1/Systems/2"),
            id="two-systems-of-one-bmc",
        ),
        pytest.param(
            bmc(f"redfish-virtualmedia://10.1.1.1{SYSTEM}"),
            bmc(f"redfish-virtualmedia://10.1.1.1:8443{SYSTEM}"),
            id="two-ports-of-one-address",
        ),
        pytest.param(
            bare(provisioningNetwork="Managed"),
            bare(provisioningNetwork="Managed", provisioningNetworkCIDR="172.22.1.0/24"),
            id="neighbouring-provisioning-networks",
        ),
        pytest.param(
            bare(provisioningNetwork="Managed"),
            bare(provisioningNetwork="Disabled", provisioningNetworkCIDR="172.22.0.0/24"),
            id="a-network-that-is-disabled",
        ),
        pytest.param(
            both(named("cnf10"), bare(loadBalancer={"type": "UserManaged"})),
            named("cnf11"),
            id="the-vrid-of-a-cluster-without-keepalived",
        ),
        *(
            pytest.param(
                named("okd"),
                both(named("core"), bare(provisioningNetwork=mode)),
                id=f"the-provisioning-vrid-of-a-cluster-that-is-{mode.lower()}",
            )
            for mode in ("Unmanaged", "Disabled")
        ),
        pytest.param(named("A b"), named("A b"), id="names-that-are-none"),
        pytest.param(bare(apiVIPs=["x"]), bare(apiVIPs=["x"]), id="vips-that-are-none"),
        pytest.param(first_host(bootMACAddress="x"), first_host(bootMACAddress="x"), id="macs-that-are-none"),
        pytest.param(bmc("x://y"), bmc("x://y"), id="bmcs-that-are-none"),
        pytest.param(
            bare(provisioningNetwork="Managed", provisioningNetworkCIDR="x"),
            bare(provisioningNetwork="Managed", provisioningNetworkCIDR="x"),
            id="networks-that-are-none",
        ),
    ],
)
def test_shareable_and_invalid_values_do_not_clash(earlier: Change, later: Change) -> None:
    assert lines(numbered(1, earlier), numbered(2, later)) == [[], []]


def test_a_clash_within_one_file_is_left_to_its_own_check() -> None:
    same = bare(apiVIPs=["192.168.111.5"], ingressVIPs=["192.168.111.5"])
    assert lines(numbered(1, same), numbered(2)) == [[], []]


def static(*addresses: str, dns: str = "192.168.111.1") -> Change:
    """Give the first host these addresses, each on a card of its own."""

    def change(config: dict[str, Any]) -> None:
        network = clusters.nmstate("eno1", addresses[0])
        network["dns-resolver"]["config"]["server"] = [dns]
        for number, address in enumerate(addresses[1:], 2):
            network["interfaces"] += clusters.nmstate(f"eno{number}", address)["interfaces"]
        config["platform"]["baremetal"]["hosts"][0].update(networkConfig=network)

    return change


NETWORK = f"{BARE}.hosts[0].networkConfig"
CARD = "{}.interfaces[{}].ipv4.address[0].ip".format
VIP_OF_A = f"already the API VIP ({BARE}.apiVIPs[0] of a.yaml). {EACH}"
NODE_OF_A = f"already the address of a server ({CARD(NETWORK, 0)} of a.yaml). {EACH}"


@pytest.mark.parametrize(
    ("earlier", "later", "line"),
    [
        pytest.param(
            bare(apiVIPs=["192.168.111.5"]),
            static("192.168.111.5"),
            f"{CARD(NETWORK, 0)}: 192.168.111.5 is {VIP_OF_A}",
            id="FL1-node-is-vip",
        ),
        pytest.param(
            static("192.168.111.30"),
            static("192.168.111.30"),
            f"{CARD(NETWORK, 0)}: 192.168.111.30 is {NODE_OF_A}",
            id="FL1-node-is-node",
        ),
        pytest.param(
            bare(apiVIPs=["192.168.111.5"]),
            static("192.168.111.31", "192.168.111.5"),
            f"{CARD(NETWORK, 1)}: 192.168.111.5 is {VIP_OF_A}",
            id="FL1-second-card-is-vip",
        ),
        pytest.param(
            static("192.168.111.30"),
            static("192.168.111.31", "192.168.111.30"),
            f"{CARD(NETWORK, 1)}: 192.168.111.30 is {NODE_OF_A}",
            id="FL1-second-card-is-node",
        ),
        pytest.param(
            bare(apiVIPs=["192.168.111.5"]),
            bmc(f"redfish-virtualmedia://192.168.111.5{SYSTEM}"),
            f"{BARE}.hosts[0].bmc.address: 192.168.111.5 is {VIP_OF_A}",
            id="FL1-bmc-is-vip",
        ),
        pytest.param(
            bare(apiVIPs=["192.168.111.5"]),
            static("192.168.111.31", dns="192.168.111.5"),
            f"{NETWORK}.dns-resolver.config.server[0]: 192.168.111.5 is {VIP_OF_A}",
            id="dns-is-vip",
        ),
        pytest.param(
            bmc("redfish-virtualmedia://10.1.1.1"),
            bmc(f"redfish-virtualmedia://10.1.1.1{SYSTEM}"),
            f"{BARE}.hosts[0].bmc.address: redfish-virtualmedia://10.1.1.1{SYSTEM} is already the BMC of "
            f"a server ({BARE}.hosts[0].bmc.address of a.yaml). {OWN_SERVER}",
            id="the-only-system-of-a-bmc",
        ),
    ],
)
def test_an_address_of_another_cluster_is_refused(earlier: Change, later: Change, line: str) -> None:
    assert lines(numbered(1, earlier), numbered(2, later)) == [[], [line]]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        pytest.param(
            static("192.168.111.30", "10.9.0.1"), static("192.168.111.31", "10.9.0.1"), id="storage-networks"
        ),
        pytest.param(static("192.168.111.30"), static("192.168.111.31", dns="192.168.111.30"), id="dns-on-a-node"),
        pytest.param(
            bare(ingressVIPs=["192.168.111.4"]),
            lambda config: config.update(
                imageDigestSources=[{"source": "quay.io/okd", "mirrors": ["192.168.111.4/okd"]}]
            ),
            id="registry-behind-ingress",
        ),
    ],
)
def test_clusters_may_share_what_they_may_reach(earlier: Change, later: Change) -> None:
    assert lines(numbered(1, earlier), numbered(2, later)) == [[], []]


def test_addresses_of_the_options_are_compared_too() -> None:
    shared = ip_address("192.168.111.30")
    first, second = (
        ClusterConfig(f"{name}.yaml", read(yaml.safe_dump(numbered(number))).config, options=options)
        for number, name, options in (
            (1, "a", MachineOptions(node_addresses={"okd-master-0": (shared,)})),
            (2, "b", MachineOptions(bootstrap=BootstrapAddress(address=(shared,)))),
        )
    )
    node = "config: node_addresses.okd-master-0[0]"
    assert [str(fault) for fault in clashes_between([first, second])[1]] == [
        f"config: bootstrap.address[0]: 192.168.111.30 is already the address of a server ({node} of a.yaml). {EACH}"
    ]


def test_the_bootstrap_address_of_an_installed_cluster_is_free() -> None:
    shared = plans.options(node_addresses={}, consent={}, media={"url": "http://x"})

    def found(phase: str) -> list[Fault]:
        ones = (
            ClusterConfig("x", read(yaml.safe_dump(numbered(number))).config, options=Options.model_validate(options))
            for number, options in ((1, {**shared, "phase": phase}), (2, shared))
        )
        return clashes_between(list(ones))[1]

    assert [fault.where for fault in found("bootstrap")] == ["config: bootstrap.address[0]"]
    assert found("production") == []


def test_a_machine_belongs_to_one_cluster() -> None:
    options = plans.options(node_addresses={}, bootstrap={}, media={"url": "http://x"})
    first, second = (
        ClusterConfig(
            f"{name}.yaml",
            read(yaml.safe_dump(numbered(number))).config,
            site,
            Options.model_validate({**options, "consent": {f"host-{number}": serial}}),
        )
        for number, name, site, serial in ((1, "a", "north", "ABC1"), (2, "b", "south", "abc1 "))
    )
    (line,) = map(str, clashes_between([first, second])[1])
    assert line.startswith("config: consent.host-2: abc1  is a machine of a.yaml already. Fix: name each host's own")


def test_a_vrid_twice_in_one_cluster_is_left_to_its_own_check() -> None:
    config = read(yaml.safe_dump(numbered(1))).config
    alone = ClusterConfig("a.yaml", config, options=MachineOptions(vrids=Vrids(api=5, ingress=5)))
    assert clashes_between([alone]) == [[]]


def test_each_later_file_names_all_earlier_ones() -> None:
    shared = bare(apiVIPs=["192.168.111.5"])
    found = lines(*(numbered(number, shared) for number in (1, 2, 3)))
    assert [len(each) for each in found] == [0, 1, 1]
    assert f"the API VIP ({BARE}.apiVIPs[0] of a.yaml, {BARE}.apiVIPs[0] of b.yaml)" in found[2][0]


def test_a_line_names_three_of_many_and_counts_the_others() -> None:
    last = lines(*(numbered(number, bare(externalMACAddress="52:54:00:22:22:22")) for number in range(6)))[-1]
    path = f"{BARE}.externalMACAddress"
    owners = ", ".join(f"{path} of {letter}.yaml" for letter in "abc")
    assert last == [
        f"{path}: 52:54:00:22:22:22 is already the MAC of a network card ({owners} and 2 more). {OWN_CARD}"
    ]


def test_a_password_in_a_url_is_not_repeated() -> None:
    login = bmc(f"redfish-virtualmedia://admin:secret@10.1.1.1{SYSTEM}")
    assert lines(numbered(1, login), numbered(2, login)) == [[], []]


def by_name(modes: Mapping[str, str]) -> list[ClusterConfig]:
    """Return clusters that have only a name, and the mode of a provisioning network."""
    configs = {
        name: {"metadata": {"name": name}, "platform": {"baremetal": {"provisioningNetwork": mode}}}
        for name, mode in modes.items()
    }
    return [ClusterConfig(name, InstallConfig.model_validate(config)) for name, config in configs.items()]


def test_a_line_says_if_no_vrid_is_free() -> None:
    many = by_name({f"n{number}": DISABLED for number in range(500)})
    found = [str(fault) for faults in clashes_between(many) for fault in faults]
    assert found[0].endswith("which is free, in its stack's options before its nodes are installed")
    assert found[-1].endswith(" too, and none is free. Fix: put this cluster into another network")


NAMES = st.from_regex("[a-z][a-z0-9]{0,6}", fullmatch=True)


@given(st.dictionaries(NAMES, st.sampled_from([MANAGED, DISABLED]), min_size=2, max_size=30))
def test_suggested_vrids_are_unused_and_resolve_every_clash(modes: dict[str, str]) -> None:
    """Only a cluster with a Managed provisioning network has the third VRID."""
    used = {name: derived_vrids(name)._asdict() for name in modes}
    for name, mode in modes.items():
        if mode != MANAGED:
            del used[name]["provisioning"]
    taken = {vrid for ids in used.values() for vrid in ids.values()}
    for name, found in zip(modes, clashes_between(by_name(modes)), strict=True):
        for fault in found:
            vip, suggested = fault.fix.split("vrids: {")[1].split("}")[0].split(": ")
            assert int(suggested) not in taken
            used[name][vip] = int(suggested)
    assert all(not set(one.values()) & set(other.values()) for one, other in combinations(used.values(), 2))


def at_sites(*clusters: tuple[str, dict[str, Any]]) -> list[list[str]]:
    """Return the lines about `1.yaml`, `2.yaml`, … in turn, each of a site."""
    configs = [
        ClusterConfig(f"{number}.yaml", read(yaml.safe_dump(config)).config, site)
        for number, (site, config) in enumerate(clusters, 1)
    ]
    return [[str(fault) for fault in found] for found in clashes_between(configs)]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(bare(apiVIPs=["192.168.111.5"]), id="vip"),
        pytest.param(bmc(f"redfish-virtualmedia://10.1.1.1{SYSTEM}"), id="bmc"),
        pytest.param(bare(provisioningNetwork="Managed"), id="provisioning-network"),
    ],
)
def test_a_site_may_use_the_private_addresses_of_another(change: Change) -> None:
    first, second = numbered(1, change), numbered(2, change)
    assert at_sites(("north", first), ("south", second)) == [[], []]
    assert [len(found) for found in at_sites(("north", first), ("north", second))] == [0, 1]


def test_a_site_may_use_the_vrids_of_another() -> None:
    first, second = numbered(1, named("cnf10")), numbered(2, named("cnf11"))
    assert at_sites(("north", first), ("south", second)) == [[], []]


def test_a_mac_is_unique_across_sites() -> None:
    same = bare(externalMACAddress="52:54:00:ab:cd:ef")
    found = at_sites(("north", numbered(1, same)), ("south", numbered(2, same)))
    path = f"{BARE}.externalMACAddress"
    line = f"{path}: 52:54:00:ab:cd:ef is already the MAC of a network card ({path} of 1.yaml). {OWN_CARD}"
    assert found == [[], [line]]


def domain(name: str, base_domain: str) -> Change:
    return lambda config: config.update(baseDomain=base_domain, metadata={"name": name})


def test_a_domain_is_unique_across_sites_and_a_name_is_not() -> None:
    found = at_sites(
        ("north", numbered(1, domain("prod", "example.com"))),
        ("south", numbered(2, domain("prod", "example.com."))),
        ("west", numbered(3, domain("prod", "example.org"))),
    )
    line = (
        "metadata.name: prod.example.com is the domain of 1.yaml too. Fix: choose another name, or another baseDomain"
    )
    assert found == [[], [line], []]


def test_a_domain_twice_at_a_site_is_one_line_about_the_name() -> None:
    same = domain("prod", "example.com")
    found = at_sites(("north", numbered(1, same)), ("north", numbered(2, same)))
    line = "metadata.name: prod is the name of 1.yaml too, and so are its VRIDs. Fix: choose another"
    assert found == [[], [line]]


def test_domains_that_are_none_do_not_clash() -> None:
    assert at_sites(*((site, numbered(1, domain("prod", "")) | {"platform": {}}) for site in "ab")) == [[], []]


def test_a_vrid_of_the_options_takes_the_place_of_the_one_of_the_name() -> None:
    def found(**vrids: int) -> list[str]:
        first, second = (
            ClusterConfig(f"{name}.yaml", read(yaml.safe_dump(numbered(number, named(name)))).config)
            for number, name in ((1, "cnf10"), (2, "cnf11"))
        )
        clashes = clashes_between([first, second._replace(options=MachineOptions(vrids=Vrids(**vrids)))])
        return [str(fault) for fault in clashes[1]]

    line = "metadata.name: its ingress VRID 147 is the api VRID of cnf10.yaml too"
    assert [each.partition(". Fix")[0] for each in found()] == [line]
    assert found(ingress=1) == []
    assert "its api VRID 2 is the ingress VRID of cnf10.yaml too" in found(api=2, ingress=1)[0]
