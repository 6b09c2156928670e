"""The provisioning network in its three modes, and the bootstrap machine's own settings."""

from typing import Any

import pytest

from testing.install_configs import Change, bare, fine, refused

AT = "platform.baremetal"
CIDR, RANGE = f"{AT}.provisioningNetworkCIDR", f"{AT}.provisioningDHCPRange"
BOOTSTRAP, CLUSTER = f"{AT}.bootstrapProvisioningIP", f"{AT}.clusterProvisioningIP"
STATIC = f"{AT}.bootstrapExternalStatic"
EXTERNAL_MAC, MAC = f"{AT}.externalMACAddress", f"{AT}.provisioningMACAddress"
GATEWAY = f"{AT}.provisioningNetworkGateway"
ADDRESSES = {
    "bootstrapProvisioningIP": "172.22.0.2",
    "clusterProvisioningIP": "172.22.0.3",
    "provisioningNetworkGateway": "172.22.0.1",
    "provisioningDHCPRange": "172.22.0.10,172.22.0.20",
}
NTP = f"{AT}.additionalNTPServers"
SHA256 = "0123456789abcdef" * 4


def given(**keys: object) -> Change:
    """Set keys of platform.baremetal; the mode stays Disabled unless given."""
    return lambda c: bare(c).update(keys)


def managed(**keys: object) -> Change:
    return given(provisioningNetwork="Managed", **keys)


def unmanaged(**keys: object) -> Change:
    return given(provisioningNetwork="Unmanaged", **keys)


def over(cidr: str, **keys: object) -> Change:
    return managed(provisioningNetworkCIDR=cidr, **keys)


def static(ip: str, gateway: str, dns: str) -> Change:
    return given(bootstrapExternalStaticIP=ip, bootstrapExternalStaticGateway=gateway, bootstrapExternalStaticDNS=dns)


def no_mode(config: dict[str, Any]) -> None:
    del bare(config)["provisioningNetwork"]


def machines_on(cidr: str) -> Change:
    """Set the mode Managed, and add a machine network to the base file's."""

    def change(config: dict[str, Any]) -> None:
        managed()(config)
        config["networking"]["machineNetwork"].append({"cidr": cidr})

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(no_mode, id="managed-with-its-defaults"),
        pytest.param(unmanaged(), id="unmanaged-with-its-defaults"),
        pytest.param(over("172.22.0.0/28"), id="just-room-for-a-range"),
        pytest.param(unmanaged(provisioningNetworkCIDR="172.22.0.0/30"), id="just-room-for-two"),
        pytest.param(over("192.168.110.0/24"), id="beside-the-machine-network"),
        pytest.param(over("fd00:1::/64"), id="ipv6"),
        pytest.param(unmanaged(provisioningNetworkCIDR="fd00:1::/48"), id="large-ipv6-unmanaged"),
        pytest.param(given(provisioningNetworkCIDR="192.168.111.9/24"), id="cidr-without-use"),
        pytest.param(
            managed(bootstrapProvisioningIP="172.22.0.9", clusterProvisioningIP="172.22.0.255"), id="around-the-range"
        ),
        pytest.param(managed(provisioningDHCPRange="172.22.0.4,172.22.0.4"), id="range-of-one"),
        pytest.param(unmanaged(provisioningDHCPRange="172.22.0.4,172.22.0.255"), id="range-unmanaged"),
        pytest.param(given(provisioningDHCPRange="nonsense"), id="range-without-use"),
        pytest.param(
            given(bootstrapProvisioningIP="192.168.111.8", clusterProvisioningIP="192.168.111.9"),
            id="addresses-among-the-machines",
        ),
        pytest.param(given(provisioningHostIP="192.168.111.9"), id="old-spelling"),
        pytest.param(given(provisioningDHCPExternal=True), id="old-flag-beside-a-mode"),
        pytest.param(managed(provisioningNetworkGateway="172.22.0.1"), id="gateway"),
        pytest.param(managed(provisioningNetworkGateway="172.22.0.2"), id="gateway-is-the-bootstrap-machine"),
        pytest.param(over("fd00:1::/64", provisioningNetworkGateway="fd00:1::"), id="gateway-ipv6-has-no-broadcast"),
        pytest.param(unmanaged(provisioningNetworkGateway="172.22.0.1"), id="gateway-unmanaged"),
        pytest.param(given(provisioningNetworkGateway="10.0.0.1"), id="gateway-disabled"),
        pytest.param(
            given(additionalNTPServers=["192.168.111.1", "fd00::1", "ntp.lab.test", "ntp.lab.test.", "ntp"]), id="ntp"
        ),
        pytest.param(
            given(externalMACAddress="52-54-00-11-10-14", provisioningMACAddress="5254.0011.1013"), id="macs"
        ),
        pytest.param(given(libvirtURI="qemu+ssh://root:pw@kvm/system"), id="remote-libvirt"),
        pytest.param(static("192.168.111.9", "10.0.0.1", "fd00::53"), id="static-bootstrap"),
        pytest.param(given(bootstrapOSImage=f"http://mirror/rhcos.qcow2.gz?sha256={SHA256}"), id="bootstrap-image"),
        pytest.param(given(clusterOSImage=f"HTTPS://mirror/rhcos?a=b&sha256={SHA256}"), id="cluster-image"),
    ],
)
def test_good_settings_pass(change: Change) -> None:
    fine(change)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(
            given(provisioningNetwork="managed"),
            f"{AT}.provisioningNetwork: managed is unknown. Fix: write Managed, Unmanaged or Disabled",
            id="unknown-mode",
        ),
        pytest.param(
            over("172.22.0.0"), f"{CIDR}: 172.22.0.0 is not a network. Fix: write address/prefix", id="no-prefix"
        ),
        pytest.param(
            given(provisioningNetworkCIDR="provisioning"),
            f"{CIDR}: provisioning is not a network",
            id="text-disabled",
        ),
        pytest.param(
            over("172.22.0.1/24"),
            f"{CIDR}: 172.22.0.1/24 has host bits set. Fix: write 172.22.0.0/24",
            id="host-bits",
        ),
        pytest.param(
            unmanaged(provisioningNetworkCIDR="fd00:1::1/64"), f"{CIDR}: fd00:1::1/64 has host bits", id="ipv6-bits"
        ),
        pytest.param(
            over("192.168.111.0/24"),
            f"{CIDR}: 192.168.111.0/24 overlaps the machine network 192.168.111.0/24. Fix: choose",
            id="machine-network",
        ),
        pytest.param(over("192.168.0.0/16"), f"{CIDR}: 192.168.0.0/16 overlaps the machine", id="around-machines"),
        pytest.param(over("192.168.111.128/25"), f"{CIDR}: 192.168.111.128/25 overlaps", id="within-machines"),
        pytest.param(
            machines_on("172.22.0.0/16"),
            f"{CIDR}: 172.22.0.0/24 overlaps the machine network 172.22.0.0/16",
            id="default-in-a-machine-network",
        ),
        pytest.param(
            over("fd00:1::/63"),
            f"{CIDR}: fd00:1::/63 is larger than dnsmasq can serve. Fix: write /64",
            id="large-ipv6",
        ),
        pytest.param(over("172.22.0.0/31"), f"{CIDR}: 172.22.0.0/31 has no room for two", id="no-room"),
        pytest.param(
            managed(bootstrapProvisioningIP="172.22.1.2"),
            f"{BOOTSTRAP}: 172.22.1.2 is outside the provisioning network 172.22.0.0/24. "
            "Fix: choose an address from it",
            id="bootstrap-outside",
        ),
        pytest.param(
            unmanaged(clusterProvisioningIP="172.21.255.255"),
            f"{CLUSTER}: 172.21.255.255 is outside",
            id="cluster-out",
        ),
        pytest.param(
            managed(bootstrapProvisioningIP="192.168.111.9"),
            f"{BOOTSTRAP}: 192.168.111.9 is outside the provisioning network",
            id="bootstrap-among-the-machines",
        ),
        pytest.param(managed(clusterProvisioningIP="fd00::1"), f"{CLUSTER}: fd00::1 is outside", id="other-family"),
        pytest.param(
            managed(bootstrapProvisioningIP="x"), f"{BOOTSTRAP}: x is not an IP address", id="bootstrap-no-ip"
        ),
        pytest.param(
            given(clusterProvisioningIP="192.168.111.9/24"),
            f"{CLUSTER}: 192.168.111.9/24 is not an IP address. Fix: write only an address",
            id="cluster-no-ip-disabled",
        ),
        pytest.param(
            given(bootstrapProvisioningIP="172.22.0.2"),
            f"{BOOTSTRAP}: 172.22.0.2 is in no machine network (192.168.111.0/24). Fix: choose an address from",
            id="bootstrap-away-disabled",
        ),
        pytest.param(
            given(clusterProvisioningIP="172.22.0.3"), f"{CLUSTER}: 172.22.0.3 is in no machine", id="cluster-away"
        ),
        pytest.param(
            managed(bootstrapProvisioningIP="172.22.0.10"),
            f"{BOOTSTRAP}: 172.22.0.10 is in provisioningDHCPRange 172.22.0.10,172.22.0.254. Fix: choose",
            id="first-of-the-range",
        ),
        pytest.param(
            managed(clusterProvisioningIP="172.22.0.254"),
            f"{CLUSTER}: 172.22.0.254 is in prov",
            id="last-of-the-range",
        ),
        pytest.param(
            unmanaged(provisioningDHCPRange="172.22.0.3,172.22.0.9"),
            f"{CLUSTER}: 172.22.0.3 is in provisioningDHCPRange",
            id="range-over-a-default",
        ),
        pytest.param(
            managed(provisioningDHCPRange="172.22.0.10"),
            f"{RANGE}: 172.22.0.10 is not a range. Fix: write <first address>,<last address>",
            id="range-of-one-address",
        ),
        pytest.param(
            managed(provisioningDHCPRange="172.22.0.10,172.22.0.20,"), f"{RANGE}: 172.2", id="range-of-three"
        ),
        pytest.param(
            managed(provisioningDHCPRange="172.22.0.10, 172.22.0.20"),
            f"{RANGE}: 172.22.0.10, 172.2",
            id="range-space",
        ),
        pytest.param(
            managed(provisioningDHCPRange="172.22.0.10,172.22.1.20"),
            f"{RANGE}: 172.22.0.10,172.22.1.20 is not in the provisioning network 172.22.0.0/24: 172.22.1.20 is out",
            id="range-leaves-the-network",
        ),
        pytest.param(
            managed(provisioningDHCPRange="172.22.0.200,172.22.0.100"),
            f"{RANGE}: 172.22.0.200,172.22.0.100 is reversed. Fix: write 172.22.0.100,172.22.0.200",
            id="range-reversed",
        ),
        pytest.param(given(provisioningNetworkGateway="gw"), f"{GATEWAY}: gw is not an IP address", id="gateway"),
        pytest.param(
            managed(provisioningNetworkGateway="172.22.1.1"),
            f"{GATEWAY}: 172.22.1.1 is outside the provisioning network 172.22.0.0/24",
            id="gateway-outside",
        ),
        pytest.param(
            managed(provisioningNetworkGateway="172.22.0.0"),
            f"{GATEWAY}: 172.22.0.0 is the network or broadcast address of 172.22.0.0/24",
            id="gateway-first",
        ),
        pytest.param(
            managed(provisioningNetworkGateway="172.22.0.255"), f"{GATEWAY}: 172.22.0.255 is the", id="gateway-last"
        ),
        pytest.param(
            managed(provisioningNetworkGateway="172.22.0.3"),
            f"{GATEWAY}: 172.22.0.3 is clusterProvisioningIP too",
            id="gateway-is-ironic",
        ),
        pytest.param(
            managed(provisioningNetworkGateway="172.22.0.10"),
            f"{GATEWAY}: 172.22.0.10 is in provisioningDHCPRange",
            id="gateway-in-the-range",
        ),
        pytest.param(
            over("192.168.111.0/24", **ADDRESSES),
            f"{CIDR}: 192.168.111.0/24 overlaps the machine",
            id="machine-network-and-addresses-of-another",
        ),
        pytest.param(
            over("172.22.1.1/24", **ADDRESSES),
            f"{CIDR}: 172.22.1.1/24 has host bits",
            id="host-bits-and-addresses-of-another",
        ),
        pytest.param(
            given(additionalNTPServers=["ntp", "NTP_1", "fd00::1"]),
            f"{NTP}[1]: 'NTP_1' is neither an IP address nor a DNS name",
            id="ntp-name-disabled",
        ),
        pytest.param(managed(additionalNTPServers=["pool..org"]), f"{NTP}[0]: 'pool..org' is", id="ntp-name-managed"),
        pytest.param(managed(additionalNTPServers=[""]), f"{NTP}[0]: '' is neither", id="ntp-empty"),
        pytest.param(given(externalMACAddress="52:54:00:11:10"), f"{EXTERNAL_MAC}: 52:54:00:11:10 is no", id="short"),
        pytest.param(
            managed(provisioningMACAddress="53:54:00:11:10:13"),
            f"{MAC}: 53:54:00:11:10:13 is the address of a group (its first octet is odd)",
            id="group-mac",
        ),
        pytest.param(
            given(externalMACAddress="52:54:00:AB:10:13", provisioningMACAddress="52-54-00-ab-10-13"),
            f"{MAC}: 52-54-00-ab-10-13 is externalMACAddress too",
            id="same-mac",
        ),
        pytest.param(
            given(libvirtURI="/var/run/libvirt"), f"{AT}.libvirtURI: names no driver. Fix: write", id="libvirt-path"
        ),
        pytest.param(
            static("192.168.111.9", "", "192.168.111.1"),
            f"{STATIC}IP: given without bootstrapExternalStaticGateway. Fix: write all three, or none",
            id="static-without-gateway",
        ),
        pytest.param(
            static("", "192.168.111.1", ""),
            f"{STATIC}Gateway: given without bootstrapExternalStaticIP and bootstrapExternalStaticDNS",
            id="static-gateway-alone",
        ),
        pytest.param(static("", "", "10.0.0.53"), f"{STATIC}DNS: given without", id="static-dns-alone"),
        pytest.param(
            static("192.168.111.9", "192.168.111.1", "dns.lab"),
            f"{STATIC}DNS: dns.lab is not an IP address",
            id="static-dns-name",
        ),
        pytest.param(
            static("10.0.0.9", "10.0.0.1", "10.0.0.1"), f"{STATIC}IP: 10.0.0.9 is in no machine", id="static-ip-away"
        ),
        pytest.param(
            given(bootstrapOSImage="https://user:pw@mirror/image"),
            f"{AT}.bootstrapOSImage: has no sha256. Fix: write http(s)://",
            id="image-without-sha256",
        ),
        pytest.param(
            given(clusterOSImage=f"http://mirror/image?sha256={SHA256[1:]}"),
            f"{AT}.clusterOSImage: has a sha256 of 63 characters",
            id="image-with-short-sha256",
        ),
        pytest.param(
            given(bootstrapOSImage=f"ftp://mirror/image?sha256={SHA256}"),
            f"{AT}.bootstrapOSImage: is not an http or https URL",
            id="image-by-ftp",
        ),
    ],
)
def test_a_wrong_setting_is_one_line(change: Change, line: str) -> None:
    refused(change, line)
