"""The virtual addresses of API and Ingress."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testing.any_text import any_text
from testing.install_configs import Change, bare, fine, lines, refused

AT = "platform.baremetal"
MACHINES = ("192.168.111.0/24", "fd00::/64")
SERVICES = ("172.30.0.0/16", "fd02::/112")
PODS = ({"cidr": "10.128.0.0/14", "hostPrefix": 23}, {"cidr": "fd01::/48", "hostPrefix": 64})
USER_MANAGED = {"type": "UserManaged"}


def vips(api: object, ingress: object = ("192.168.111.4",), **keys: object) -> Change:
    """Replace keys of the platform."""
    lists = {"apiVIPs": api, "ingressVIPs": ingress}
    written = {key: list(value) if isinstance(value, tuple) else value for key, value in lists.items()}
    return lambda c: bare(c).update(written | keys)


def api(text: str) -> Change:
    return vips((text,))


def platform(**keys: object) -> Change:
    return lambda c: bare(c).update(keys)


def both(one: Change, other: Change) -> Change:
    return lambda c: (one(c), other(c))


def networks(
    machine: tuple[str, ...] = MACHINES, service: tuple[str, ...] = SERVICES, cluster: tuple[object, ...] = PODS
) -> Change:
    """Set networks, dual-stack by default."""
    return lambda c: c["networking"].update(
        machineNetwork=[{"cidr": cidr} for cidr in machine],
        serviceNetwork=list(service),
        clusterNetwork=list(cluster),
    )


def external_records(balancer: object) -> Change:
    """Set external DNS records, with the feature set that they need."""
    records = platform(loadBalancer=balancer, dnsRecordsType="External")
    return both(records, lambda c: c.update(featureSet="TechPreviewNoUpgrade"))


def ipv4(machine: str) -> Change:
    """Set IPv4 only, and add a machine network to the base file's."""
    return networks((MACHINES[0], machine), SERVICES[:1], PODS[:1])


def dual(api: tuple[str, ...], ingress: tuple[str, ...], **keys: object) -> Change:
    return both(vips(api, ingress, **keys), networks())


IPV6_FIRST = networks(MACHINES[::-1], SERVICES[::-1], PODS[::-1])
V4 = (("192.168.111.5",), ("192.168.111.4",))
V6 = (("fd00::5",), ("fd00::4",))
V46 = (("192.168.111.5", "fd00::5"), ("192.168.111.4", "fd00::4"))
V64 = (("fd00::5", "192.168.111.5"), ("fd00::4", "192.168.111.4"))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(api("192.168.111.1"), id="first-host-address"),
        pytest.param(api("192.168.111.254"), id="last-host-address"),
        pytest.param(api("::ffff:192.168.111.5"), id="ipv4-in-an-ipv6-spelling"),
        pytest.param(lambda c: bare(c).update(apiVIPs=None, apiVIP="192.168.111.5"), id="old-spelling"),
        pytest.param(both(api("10.1.0.5"), ipv4("10.1.0.4/31")), id="of-two-addresses"),
        pytest.param(both(api("10.1.0.4"), ipv4("10.1.0.4/32")), id="of-one-address"),
        pytest.param(both(api("10.1.0.5"), ipv4("10.1.0.0/24")), id="second-network"),
        pytest.param(networks(MACHINES[::-1], SERVICES[:1], PODS[:1]), id="single-stack-has-no-first-family"),
        pytest.param(dual(*V4), id="dual-stack-with-ipv4-vips"),
        pytest.param(dual(*V46), id="dual-stack-with-vips-of-both"),
        pytest.param(dual(V46[0], V4[1]), id="dual-stack-with-two-vips-for-the-api-only"),
        pytest.param(both(vips(*V64), IPV6_FIRST), id="dual-stack-ipv6-first"),
        pytest.param(both(vips(*V6), IPV6_FIRST), id="dual-stack-ipv6-first-with-ipv6-vips"),
        pytest.param(both(vips(*V6), networks(MACHINES[1:], SERVICES[1:], PODS[1:])), id="ipv6-only"),
        pytest.param(dual(("192.168.111.5", "fd00::ffff:ffff:ffff:ffff"), V4[1]), id="ipv6-has-no-broadcast-address"),
        pytest.param(platform(loadBalancer={"type": "OpenShiftManagedDefault"}), id="load-balancer-of-openshift"),
        pytest.param(platform(loadBalancer=USER_MANAGED), id="load-balancer-of-the-user"),
        pytest.param(vips(V4[0], V4[0], loadBalancer=USER_MANAGED), id="user-managed-shares-an-address"),
        pytest.param(vips(("203.0.113.5",), V4[1], loadBalancer=USER_MANAGED), id="user-managed-elsewhere"),
        pytest.param(vips(V46[0], V4[1], loadBalancer=USER_MANAGED), id="user-managed-second-family"),
        pytest.param(platform(dnsRecordsType="Internal"), id="dns-records-internal"),
        pytest.param(external_records(USER_MANAGED), id="dns-records-external"),
    ],
)
def test_good_vips_pass(change: Change) -> None:
    fine(change)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(
            lambda c: bare(c).pop("apiVIPs"),
            f"{AT}.apiVIPs: missing. Fix: write the address (DNS is not",
            id="no-api-vip",
        ),
        pytest.param(
            lambda c: bare(c).pop("ingressVIPs"), f"{AT}.ingressVIPs: missing. Fix: write", id="no-ingress-vip"
        ),
        pytest.param(vips(()), f"{AT}.apiVIPs: missing", id="empty-list-of-api-vips"),
        pytest.param(
            vips((), loadBalancer=USER_MANAGED), f"{AT}.apiVIPs: missing", id="user-managed-without-api-vip"
        ),
        pytest.param(
            vips(("192.168.111.5", "192.168.111.6", "no address")),
            f"{AT}.apiVIPs: 192.168.111.5, 192.168.111.6, no address: 3 addresses. "
            "Fix: write at most 2, one of each family",
            id="three-api-vips",
        ),
        pytest.param(
            dual(V4[0], ("192.168.111.4", "fd00::4", "fd00::6")),
            f"{AT}.ingressVIPs: 192.168.111.4, fd00::4, fd00::6: 3 addresses. Fix: write at most 2",
            id="three-ingress-vips",
        ),
        pytest.param(api(""), f"{AT}.apiVIPs[0]: missing. Fix: write only an address", id="empty-vip"),
        pytest.param(api("api.okd.lab.test"), f"{AT}.apiVIPs[0]: api.okd.lab.test is not an IP address", id="a-name"),
        pytest.param(api("192.168.111.5/24"), f"{AT}.apiVIPs[0]: 192.168.111.5/24 is not an IP address", id="a-cidr"),
        pytest.param(api("192.168.111"), f"{AT}.apiVIPs[0]: 192.168.111 is not an IP address", id="a-short-address"),
        pytest.param(
            api("192.168.111.05"), f"{AT}.apiVIPs[0]: 192.168.111.05 is not an IP address", id="a-leading-zero"
        ),
        pytest.param(
            api(" 192.168.111.5"), f"{AT}.apiVIPs[0]:  192.168.111.5 is not an IP address", id="a-leading-blank"
        ),
        pytest.param(api("fd00::5%eth0"), f"{AT}.apiVIPs[0]: fd00::5%eth0 is not an IP address", id="a-zone"),
        pytest.param(api("[fd00::5]"), f"{AT}.apiVIPs[0]: [fd00::5] is not an IP address", id="in-brackets"),
        pytest.param(
            vips(V4[0], ("192.168.111.256",)),
            f"{AT}.ingressVIPs[0]: 192.168.111.256 is not an IP address",
            id="bad-ingress-vip",
        ),
        pytest.param(
            vips(("x",), V4[1], loadBalancer=USER_MANAGED),
            f"{AT}.apiVIPs[0]: x is not an IP address",
            id="user-managed-no-address",
        ),
        pytest.param(
            vips(V4[0], V4[0]),
            f"{AT}.apiVIPs[0]: 192.168.111.5 is ingressVIPs[0] too. Fix: give API and Ingress an address each",
            id="one-address-for-both",
        ),
        pytest.param(
            vips(("::ffff:192.168.111.4",)),
            f"{AT}.apiVIPs[0]: ::ffff:192.168.111.4 is ingressVIPs[0] too",
            id="one-address-in-two-families-spellings",
        ),
        pytest.param(
            dual(("192.168.111.5", "fd00:0::4"), V46[1]),
            f"{AT}.apiVIPs[1]: fd00:0::4 is ingressVIPs[1] too",
            id="one-address-in-two-spellings",
        ),
        pytest.param(
            vips(V4[0], V4[0], loadBalancer={"type": "OpenShiftManagedDefault"}),
            f"{AT}.apiVIPs[0]: 192.168.111.5 is ingressVIPs[0] too",
            id="one-address-with-the-default-load-balancer",
        ),
        pytest.param(
            api("10.0.0.5"),
            f"{AT}.apiVIPs[0]: 10.0.0.5 is in no machine network (192.168.111.0/24). Fix: choose an address",
            id="api-elsewhere",
        ),
        pytest.param(
            vips(V4[0], ("192.168.112.4",)),
            f"{AT}.ingressVIPs[0]: 192.168.112.4 is in no machine network",
            id="ingress-elsewhere",
        ),
        pytest.param(
            vips(V46[0]), f"{AT}.apiVIPs[1]: fd00::5 is in no machine network", id="ipv6-vip-in-ipv4-networks"
        ),
        pytest.param(
            dual(("192.168.111.5", "fd00:0:0:1::5"), V4[1]),
            f"{AT}.apiVIPs[1]: fd00:0:0:1::5 is in no machine network (192.168.111.0/24, fd00::/64)",
            id="second-vip-elsewhere",
        ),
        pytest.param(
            both(vips(*V46), networks(machine=MACHINES[:1])), "networking.machineNetwork: ", id="no-machine-network"
        ),
        pytest.param(
            api("192.168.111.0"),
            f"{AT}.apiVIPs[0]: 192.168.111.0 is the network address of 192.168.111.0/24. Fix: choose another",
            id="network-address",
        ),
        pytest.param(
            vips(V4[0], ("192.168.111.255",)),
            f"{AT}.ingressVIPs[0]: 192.168.111.255 is the broadcast address of 192.168.111.0/24",
            id="broadcast-address",
        ),
        pytest.param(
            dual(("192.168.111.5", "fd00::"), V4[1]),
            f"{AT}.apiVIPs[1]: fd00:: is the network address of fd00::/64",
            id="ipv6-network-address",
        ),
        pytest.param(
            both(vips(V6[0], V4[1]), networks()),
            f"{AT}.apiVIPs[0]: fd00::5 is IPv6, but IPv4 comes first in machineNetwork, serviceNetwork, cluster",
            id="api-of-the-second-family",
        ),
        pytest.param(
            dual(V46[0], V64[1]), f"{AT}.ingressVIPs[0]: fd00::4 is IPv6, but IPv4 comes", id="ingress-reversed"
        ),
        pytest.param(
            both(vips(V64[0], V46[1]), IPV6_FIRST),
            f"{AT}.ingressVIPs[0]: 192.168.111.4 is IPv4, but IPv6 comes first in machineNetwork",
            id="ingress-reversed-with-ipv6-first",
        ),
        pytest.param(
            vips(("192.168.111.5", "192.168.111.6")),
            f"{AT}.apiVIPs[1]: 192.168.111.6 is IPv4 as apiVIPs[0] is. "
            "Fix: remove it, or write one of the other family",
            id="two-ipv4-api-vips",
        ),
        pytest.param(
            vips(V4[0], ("192.168.111.4", "::ffff:192.168.111.6"), loadBalancer=USER_MANAGED),
            f"{AT}.ingressVIPs[1]: ::ffff:192.168.111.6 is IPv4 as ingressVIPs[0] is",
            id="two-ipv4-ingress-vips",
        ),
        pytest.param(
            platform(loadBalancer={"type": "usermanaged"}),
            f"{AT}.loadBalancer.type: usermanaged is unknown. Fix: write OpenShiftManagedDefault or UserManaged",
            id="load-balancer-unknown",
        ),
        pytest.param(
            platform(loadBalancer={}), f"{AT}.loadBalancer.type: missing. Fix: write", id="load-balancer-empty"
        ),
        pytest.param(external_records({"type": "x"}), f"{AT}.loadBalancer.type: x is unknown", id="one-line-of-two"),
        pytest.param(
            external_records(None),
            f"{AT}.dnsRecordsType: External needs loadBalancer.type: UserManaged. Fix: write that too, or Internal",
            id="dns-records-external-without-load-balancer",
        ),
        pytest.param(
            external_records({"type": "OpenShiftManagedDefault"}),
            f"{AT}.dnsRecordsType: External needs loadBalancer.type: UserManaged",
            id="dns-records-external-with-the-default-load-balancer",
        ),
        pytest.param(
            platform(dnsRecordsType="internal"),
            f"{AT}.dnsRecordsType: internal is unknown. Fix: write Internal or External",
            id="dns-records-unknown",
        ),
    ],
)
def test_bad_vips_are_refused(change: Change, line: str) -> None:
    refused(change, line)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        pytest.param(networks(machine=MACHINES[::-1]), "machineNetwork", id="machines"),
        pytest.param(networks(service=SERVICES[::-1]), "serviceNetwork", id="services"),
        pytest.param(networks(cluster=PODS[::-1]), "clusterNetwork", id="pods"),
    ],
)
def test_vips_disagree_with_one_list_of_networks(change: Change, name: str) -> None:
    refused(
        both(vips(*V46), change),
        f"{AT}.apiVIPs[0]: 192.168.111.5 is IPv4, but IPv6 comes first in {name}. Fix: put the same family first",
        f"{AT}.ingressVIPs[0]: 192.168.111.4 is IPv4, but IPv6 comes first in {name}. Fix: put",
    )


def test_two_vips_that_are_no_addresses_are_not_said_to_be_the_same_one() -> None:
    refused(
        vips(("x",), ("y",)),
        f"{AT}.apiVIPs[0]: x is not an IP address. Fix: write only an address",
        f"{AT}.ingressVIPs[0]: y is not an IP address. Fix: write only an address",
    )


TEXTS = st.lists(any_text() | st.ip_addresses().map(str), max_size=4).map(tuple)


@given(TEXTS, TEXTS, any_text(), any_text())
def test_any_text_as_a_vip_gives_only_printable_lines_about_it(
    api: tuple[str, ...], ingress: tuple[str, ...], balancer: str, records: str
) -> None:
    faults = lines(dual(api, ingress, loadBalancer={"type": balancer}, dnsRecordsType=records))
    assert all(line.isprintable() and line.startswith(f"{AT}.") for line in faults)
