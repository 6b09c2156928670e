"""The networks of machines, services and pods."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testing.any_text import any_text
from testing.install_configs import Change, bare, fine, lines, refused

AT = "networking"
TYPE = f"{AT}.networkType"
M, S, C = f"{AT}.machineNetwork", f"{AT}.serviceNetwork", f"{AT}.clusterNetwork"
M0, M1, S0, C0, C1 = f"{M}[0].cidr", f"{M}[1].cidr", f"{S}[0]", f"{C}[0].cidr", f"{C}[1].cidr"
H0, H1 = f"{C}[0].hostPrefix", f"{C}[1].hostPrefix"
JOIN = f"{AT}.ovnKubernetesConfig.ipv4.internalJoinSubnet"


def networking(**keys: object) -> Change:
    """Replace keys of the section networking."""
    return lambda c: c["networking"].update(keys)


def machines(*cidrs: str) -> Change:
    return networking(machineNetwork=[{"cidr": cidr} for cidr in cidrs])


def machines_too(*cidrs: str) -> Change:
    """Add machine networks to the base file's, so that its VIPs stay inside one."""
    return machines("192.168.111.0/24", *cidrs)


def services(*cidrs: str) -> Change:
    return networking(serviceNetwork=list(cidrs))


def pods(*entries: tuple[str, int | None], **keys: object) -> Change:
    networks = [{"cidr": cidr, "hostPrefix": prefix} for cidr, prefix in entries]
    return networking(clusterNetwork=networks, **keys)


def hosts(*prefixes: int | None, **keys: object) -> Change:
    """Set a cluster network per host prefix."""
    return pods(*((f"10.{128 + 4 * index}.0.0/14", prefix) for index, prefix in enumerate(prefixes)), **keys)


def join(cidr: str, **keys: object) -> Change:
    return networking(ovnKubernetesConfig={"ipv4": {"internalJoinSubnet": cidr}}, **keys)


def all_of(*changes: Change) -> Change:
    def change(config: dict[str, Any]) -> None:
        for each in changes:
            each(config)

    return change


DUAL = all_of(
    machines("192.168.111.0/24", "fd00::/64"),
    services("172.30.0.0/16", "fd02::/112"),
    pods(("10.128.0.0/14", 23), ("fd01::/48", 64)),
)
IPV6 = all_of(
    machines("fd00::/64"),
    services("fd02::/112"),
    pods(("fd01::/48", 64)),
    lambda c: bare(c).update(apiVIPs=["fd00::5"], ingressVIPs=["fd00::4"]),
)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(networking(networkType="ovnkubernetes"), id="type-in-any-case"),
        pytest.param(networking(networkType="Calico"), id="type-of-another-vendor"),
        pytest.param(networking(networkType=None), id="no-type"),
        pytest.param(networking(serviceNetwork=None, clusterNetwork=None), id="defaults"),
        pytest.param(machines_too("192.168.112.0/24"), id="two-machine-networks"),
        pytest.param(machines_too("172.17.0.0/16"), id="docker-bridge-is-not-judged"),
        pytest.param(machines_too("10.0.0.1/32"), id="machine-network-of-one"),
        pytest.param(machines_too("100.65.0.0/16", "100.63.0.0/16"), id="beside-the-join-network"),
        pytest.param(
            all_of(machines_too("100.64.0.0/16", "100.88.0.0/16"), networking(networkType="Calico")),
            id="ovn-networks-without-ovn",
        ),
        pytest.param(machines_too("169.254.128.0/17"), id="beside-the-masquerade-network"),
        pytest.param(services("172.16.0.0/12"), id="largest-service-network"),
        pytest.param(services("172.30.0.0/30"), id="small-service-network"),
        pytest.param(all_of(IPV6, services("fd02::/108")), id="largest-ipv6-service-network"),
        pytest.param(hosts(14), id="host-prefix-of-the-whole-network"),
        pytest.param(hosts(32), id="longest-host-prefix"),
        pytest.param(hosts(23, 23), id="two-cluster-networks"),
        pytest.param(hosts(None, networkType="Calico"), id="no-host-prefix-without-ovn"),
        pytest.param(hosts(23, None, networkType="Calico"), id="one-host-prefix-without-ovn"),
        pytest.param(all_of(IPV6, pods(("fd01::/64", 64))), id="ipv6-network-of-one-host"),
        pytest.param(networking(clusterNetworkMTU=0), id="no-mtu"),
        pytest.param(networking(ovnKubernetesConfig={"ipv4": {}}), id="empty-ovn-section"),
        pytest.param(join("100.66.0.0/16"), id="join-network-moved"),
        pytest.param(all_of(machines_too("100.64.0.0/16"), join("100.66.0.0/16")), id="its-old-place-is-free-then"),
        pytest.param(all_of(hosts(23), join("100.66.0.0/22")), id="join-network-just-large-enough"),
        pytest.param(all_of(hosts(16), join("100.66.0.0/29")), id="join-network-for-four-nodes"),
        pytest.param(DUAL, id="dual-stack"),
        pytest.param(IPV6, id="ipv6-only"),
        pytest.param(all_of(DUAL, services("172.30.0.0/16")), id="more-families-than-the-services-have"),
    ],
)
def test_good_networks_pass(change: Change) -> None:
    fine(change)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(
            networking(networkType="OpenShiftSDN"),
            f"{TYPE}: OpenShiftSDN is no longer supported. Fix: write OVN",
            id="openshiftsdn",
        ),
        pytest.param(networking(networkType="openshiftsdn"), f"{TYPE}: OpenShiftSDN is no", id="in-any-case"),
        pytest.param(networking(networkType="KURYR"), f"{TYPE}: KURYR is no longer", id="type-kuryr"),
        pytest.param(
            join("100.66.0.0/16", networkType="Calico"),
            f"{TYPE}: Calico does not fit ovnKubernetesConfig. Fix: write OVNKubernetes",
            id="ovn-section-without-ovn",
        ),
        pytest.param(join("100.66.0.0/16", networkType="Kuryr"), f"{TYPE}: Kuryr is no longer", id="one-line-of-two"),
        pytest.param(
            machines_too(""), f"{M1}: empty, and not a network. Fix: write address/prefix", id="empty-machine-cidr"
        ),
        pytest.param(
            networking(machineNetwork=[{"cidr": "192.168.111.0/24"}, {}]), f"{M1}: missing", id="no-machine-cidr"
        ),
        pytest.param(services(""), f"{S0}: empty, and not a network", id="empty-service-network"),
        pytest.param(pods(("", 23)), f"{C0}: empty, and not a network", id="empty-cluster-cidr"),
        pytest.param(machines_too("10.0.0.0"), f"{M1}: 10.0.0.0 is not a network. Fix: write", id="no-prefix"),
        pytest.param(machines_too("10.0.0.0/33"), f"{M1}: 10.0.0.0/33 is no", id="long-prefix"),
        pytest.param(machines_too("10.0.0.0/-1"), f"{M1}: 10.0.0.0/-1 is no", id="minus-prefix"),
        pytest.param(services("172.30.0.0/255.255.0.0"), f"{S0}: 172.30.0.0/255.255.0.0 is no", id="netmask"),
        pytest.param(services("172.030.0.0/16"), f"{S0}: 172.030.0.0/16 is no", id="leading-zero"),
        pytest.param(pods(("10.128/14", 23)), f"{C0}: 10.128/14 is not a network", id="short-address"),
        pytest.param(machines_too("fe80::%eth0/64"), f"{M1}: fe80::%eth0/64 is not a network", id="zone"),
        pytest.param(machines_too("10.0.0.0/24 "), f"{M1}: 10.0.0.0/24  is not a network", id="trailing-blank"),
        pytest.param(machines("0.0.0.0/0"), f"{M0}: 0.0.0.0/0 is the unspecified address", id="every-ipv4-address"),
        pytest.param(
            services("0.0.0.0/16"), f"{S0}: 0.0.0.0/16 is the unspecified address", id="unspecified-address"
        ),
        pytest.param(machines_too("::/0"), f"{M1}: ::/0 is the unspecified address", id="every-ipv6-address"),
        pytest.param(
            machines("192.168.111.5/24"),
            f"{M0}: 192.168.111.5/24 has host bits set. Fix: write 192.168.111.0/24",
            id="machine-host-bits",
        ),
        pytest.param(
            services("172.30.0.1/16"),
            f"{S0}: 172.30.0.1/16 has host bits set. Fix: write 172",
            id="service-host-bits",
        ),
        pytest.param(
            pods(("10.129.0.0/14", 23)), f"{C0}: 10.129.0.0/14 has host bits set. Fix: write 10", id="pod-host-bits"
        ),
        pytest.param(
            all_of(IPV6, machines("fd00::1/64")),
            f"{M0}: fd00::1/64 has host bits set. Fix: write fd00",
            id="ipv6-host-bits",
        ),
        pytest.param(
            networking(machineNetwork=None, machineCIDR="192.168.111.5/24"),
            f"{M0}: 192.168.111.5/24 has host bits",
            id="host-bits-in-the-old-spelling",
        ),
        pytest.param(
            services("172.0.0.0/11"),
            f"{S0}: 172.0.0.0/11 is too large for services. Fix: write /12",
            id="large-services",
        ),
        pytest.param(
            all_of(IPV6, services("fd02::/107")),
            f"{S0}: fd02::/107 is too large for services",
            id="large-ipv6-services",
        ),
        pytest.param(
            machines_too("192.168.111.128/25"),
            f"{M1}: 192.168.111.128/25 overlaps machineNetwork[0] (192.168.111.0/24). Fix: choose",
            id="machines-in-machines",
        ),
        pytest.param(
            services("192.168.0.0/16"),
            f"{S0}: 192.168.0.0/16 overlaps machineNetwork[0]",
            id="services-around-machines",
        ),
        pytest.param(
            pods(("192.168.111.0/24", 26)),
            f"{C0}: 192.168.111.0/24 overlaps machineNetwork[0]",
            id="pods-on-machines",
        ),
        pytest.param(
            pods(("172.30.0.0/14", 23)),
            f"{C0}: 172.30.0.0/14 has host bits set. Fix: write 172.28.0.0/14",
            id="refused-network-is-not-judged-further",
        ),
        pytest.param(
            pods(("172.28.0.0/14", 23)), f"{C0}: 172.28.0.0/14 overlaps serviceNetwork[0]", id="pods-around-services"
        ),
        pytest.param(
            pods(("10.128.0.0/14", 23), ("10.130.0.0/15", 23)),
            f"{C1}: 10.130.0.0/15 overlaps clusterNetwork[0] (10.128.0.0/14)",
            id="pods-in-pods",
        ),
        pytest.param(
            all_of(services("10.0.0.0/16"), pods(("10.0.0.0/8", 23)), machines_too("10.1.0.0/16")),
            f"{C0}: 10.0.0.0/8 overlaps machineNetwork[1] (10.1.0.0/16), serviceNetwork[0] (10.0.0.0/16). "
            "Fix: choose",
            id="one-line-for-two-overlaps",
        ),
        pytest.param(
            all_of(IPV6, pods(("fd00::/48", 64))), f"{C0}: fd00::/48 overlaps machineNetwork[0]", id="ipv6-overlap"
        ),
        pytest.param(
            pods(("100.64.0.0/14", 23)),
            f"{C0}: 100.64.0.0/14 overlaps OVN-Kubernetes' join network 100.64.0.0/16. Fix: "
            f"choose another, or move the join network with {JOIN}",
            id="pods-around-the-join-network",
        ),
        pytest.param(
            all_of(services("100.64.3.0/24"), networking(networkType="OVNkubernetes")),
            f"{S0}: 100.64.3.0/24 overlaps OVN-Kubernetes' join network",
            id="services-in-the-join-network",
        ),
        pytest.param(
            machines_too("100.88.0.0/17"),
            f"{M1}: 100.88.0.0/17 overlaps OVN-Kubernetes' transit network 100.88.0.0/16. Fix: choose",
            id="machines-in-the-transit-network",
        ),
        pytest.param(
            all_of(machines_too("100.88.0.0/16"), join("100.66.0.0/16")),
            f"{M1}: 100.88.0.0/16 overlaps OVN-Kubernetes' transit network",
            id="join-network-moves-alone",
        ),
        pytest.param(
            machines_too("169.254.0.0/16"),
            f"{M1}: 169.254.0.0/16 overlaps OVN-Kubernetes' masquerade network 169.254.0.0/17",
            id="machines-around-the-masquerade-network",
        ),
        pytest.param(
            machines_too("fd98::/48"),
            f"{M1}: fd98::/48 overlaps OVN-Kubernetes' join network fd98::/64. Fix: choose",
            id="ipv6-join",
        ),
        pytest.param(
            all_of(IPV6, pods(("fd97::/48", 64))),
            f"{C0}: fd97::/48 overlaps OVN-Kubernetes' transit",
            id="ipv6-transit",
        ),
        pytest.param(
            all_of(IPV6, services("fd69::/112")),
            f"{S0}: fd69::/112 overlaps OVN-Kubernetes' masquerade",
            id="ipv6-masquerade",
        ),
        pytest.param(
            hosts(None), f"{H0}: missing. Fix: write the prefix length of each host's subnet", id="no-host-prefix"
        ),
        pytest.param(
            all_of(IPV6, pods(("fd01::/48", None))), f"{H0}: missing. Fix: write the prefix", id="no-ipv6-host-prefix"
        ),
        pytest.param(hosts(13), f"{H0}: 13 does not fit 10.128.0.0/14. Fix: write 14 to 32", id="below-the-network"),
        pytest.param(hosts(-1), f"{H0}: -1 does not fit", id="negative"),
        pytest.param(hosts(-1, networkType="Calico"), f"{H0}: -1 does not fit", id="negative-without-ovn"),
        pytest.param(hosts(33), f"{H0}: 33 does not fit", id="beyond-32"),
        pytest.param(
            hosts(10**9, ovnKubernetesConfig={"ipv4": {"internalJoinSubnet": "100.66.0.0/16"}}),
            f"{H0}: 1000000000 does not fit",
            id="far-beyond-32",
        ),
        pytest.param(
            hosts(23, 24, 23),
            f"{H1}: 24 differs from the 23 before it. Fix: write one value",
            id="host-prefixes-differ",
        ),
        pytest.param(
            hosts(None, 23, networkType="Calico"),
            f"{H1}: 23 differs from the 0 before",
            id="they-differ-without-ovn",
        ),
        pytest.param(
            all_of(IPV6, pods(("fd01::/48", 65))), f"{H0}: 65 is not valid for IPv6. Fix: write 64", id="ipv6-prefix"
        ),
        pytest.param(
            all_of(IPV6, pods(("fd01::/65", 65))), f"{H0}: fd01::/65 has no /64 for a host", id="small-ipv6-pods"
        ),
        pytest.param(networking(clusterNetworkMTU=1400), f"{AT}.clusterNetworkMTU: 1400 is for AWS", id="mtu"),
        pytest.param(
            join("100.66.0.0"), f"{JOIN}: 100.66.0.0 is not a network. Fix: write address/prefix", id="join-prefix"
        ),
        pytest.param(join("0.0.0.0/16"), f"{JOIN}: 0.0.0.0/16 is the unspecified address", id="join-unspecified"),
        pytest.param(
            join("100.66.1.0/16"), f"{JOIN}: 100.66.1.0/16 has host bits set. Fix: write", id="join-host-bits"
        ),
        pytest.param(join("fd66::/16"), f"{JOIN}: fd66::/16 is IPv6. Fix: write an IPv4 network", id="join-of-ipv6"),
        pytest.param(
            join("192.168.0.0/16"), f"{JOIN}: 192.168.0.0/16 overlaps machineNetwork[0]", id="join-on-machines"
        ),
        pytest.param(join("172.30.0.0/16"), f"{JOIN}: 172.30.0.0/16 overlaps service", id="join-on-services"),
        pytest.param(join("10.128.0.0/16"), f"{JOIN}: 10.128.0.0/16 overlaps clusterNetwork[0]", id="join-in-pods"),
        pytest.param(
            join("100.66.0.0/23"),
            f"{JOIN}: 100.66.0.0/23 is too small for the 512 nodes of clusterNetwork. Fix: write /22",
            id="join-too-small",
        ),
        pytest.param(
            all_of(hosts(23, 23), join("100.66.0.0/22")),
            f"{JOIN}: 100.66.0.0/22 is too small for the 1024 nodes of clusterNetwork. Fix: write /21",
            id="join-too-small-for-the-sum",
        ),
        pytest.param(
            all_of(hosts(14), join("100.66.0.0/30")),
            f"{JOIN}: 100.66.0.0/30 is too small for the 1 nodes",
            id="join-too-small-for-one",
        ),
        pytest.param(
            services("172.30.0.0/16", "172.31.0.0/16"),
            f"{S}: 172.30.0.0/16, 172.31.0.0/16: two networks of one family. Fix: write only",
            id="two-service-networks",
        ),
        pytest.param(
            all_of(IPV6, services("fd02::/112", "fd03::/112")),
            f"{S}: fd02::/112, fd03::/112: two networks of one family. Fix: write only one",
            id="two-ipv6-service-networks",
        ),
        pytest.param(
            all_of(DUAL, services("172.30.0.0/16", "fd02::/112", "172.31.0.0/16")),
            f"{S}: 172.30.0.0/16, fd02::/112, 172.31.0.0/16: two networks of one family. Fix: write only one",
            id="three-service-networks",
        ),
        pytest.param(
            all_of(DUAL, machines("192.168.111.0/24")),
            f"{M}: 192.168.111.0/24: no IPv6 network, but serviceNetwork has one",
            id="dual-machines-without-ipv6",
        ),
        pytest.param(
            all_of(DUAL, machines("fd00::/64")), f"{M}: fd00::/64: no IPv4 network", id="dual-machines-without-ipv4"
        ),
        pytest.param(all_of(DUAL, hosts(23)), f"{C}: 10.128.0.0/14: no IPv6 network", id="dual-pods-without-ipv6"),
        pytest.param(
            all_of(DUAL, pods(("fd01::/48", 64))), f"{C}: fd01::/48: no IPv4 network", id="dual-pods-without-ipv4"
        ),
        pytest.param(pods(("fd01::/48", 64)), f"{C}: fd01::/48: no IPv4 network", id="ipv4-with-ipv6-pods"),
        pytest.param(all_of(IPV6, hosts(23)), f"{C}: 10.128.0.0/14: no IPv6 network", id="ipv6-with-ipv4-pods"),
        pytest.param(
            all_of(
                IPV6,
                machines("192.168.111.0/24"),
                lambda c: bare(c).update(apiVIPs=["192.168.111.5"], ingressVIPs=["192.168.111.4"]),
            ),
            f"{M}: 192.168.111.0/24: no IPv6 network",
            id="ipv6-with-ipv4-machines",
        ),
    ],
)
def test_a_bad_network_is_refused(change: Change, line: str) -> None:
    refused(change, line)


def test_each_bad_network_has_its_line() -> None:
    refused(
        all_of(machines_too("x"), services("172.30.0.0"), pods(("::/0", 64), ("10.0.0.0/99", 23))),
        f"{M1}: x is not a network",
        f"{C1}: 10.0.0.0/99 is not a network",
        f"{S0}: 172.30.0.0 is not a network",
        f"{C0}: ::/0 is the unspecified address",
    )


ADDRESSES = st.ip_addresses().map(str)
PREFIXES = st.integers(0, 200).map(str)
CIDRS = any_text() | st.builds("{}/{}".format, ADDRESSES, PREFIXES)


@given(st.lists(CIDRS), st.lists(CIDRS), st.lists(st.tuples(CIDRS, st.integers())), CIDRS)
def test_any_text_as_a_network_gives_only_printable_lines_about_it(
    machine: list[str], service: list[str], cluster: list[tuple[str, int | None]], ovn: str
) -> None:
    faults = lines(all_of(machines(*machine), services(*service), pods(*cluster), join(ovn)))
    assert all(line.isprintable() and line.startswith((f"{AT}.", "platform.baremetal.")) for line in faults)


FAMILIES = st.sampled_from([[4], [6], [4, 6], [6, 4]])
BLOCKS = st.permutations(range(16))
"""Disjoint blocks of 10.0.0.0/8, and of fd00::/16."""
SIZES = st.tuples(st.integers(16, 30), st.integers(12, 24), st.integers(12, 22), st.integers(22, 32))
"""IPv4 prefixes of machines, services, pods and a host's pods."""


@given(FAMILIES, BLOCKS, SIZES)
def test_disjoint_networks_of_the_same_families_pass(
    families: list[int], blocks: list[int], sizes: tuple[int, int, int, int]
) -> None:
    machine, service, cluster, host = sizes
    at = {4: [f"10.{16 * block}.0." for block in blocks], 6: [f"fd00:{block}::" for block in blocks]}
    longer = {4: 0, 6: 96}
    shares = {4: (f"{at[4][2]}0/{cluster}", host), 6: (f"{at[6][2]}/{cluster + 36}", 64)}
    addresses = [at[family][0] for family in families]
    fine(
        all_of(
            machines(*(f"{at[family][0]}0/{machine + longer[family]}" for family in families)),
            services(*(f"{at[family][1]}0/{service + longer[family]}" for family in families)),
            pods(*(shares[family] for family in families)),
            lambda c: bare(c).update(
                apiVIPs=[f"{address}1" for address in addresses], ingressVIPs=[f"{address}2" for address in addresses]
            ),
        )
    )
