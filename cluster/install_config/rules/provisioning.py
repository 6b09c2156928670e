"""The network that servers are provisioned over, and the bootstrap machine's own settings."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs

from cluster.install_config.platform import DISABLED, MANAGED, PROVISIONING_MODES, UNMANAGED
from cluster.install_config.rules.names import dns_fault
from cluster.install_config.rules.networks import lists, versions
from cluster.install_config.schema import InstallConfig
from cluster.problems import Problem
from cluster.values.address import (
    IPV6,
    Address,
    Interface,
    Network,
    in_any,
    networks,
    overlap,
    parse_address,
    parse_cidr,
)
from cluster.values.mac import mac_fault, parse_mac

DNSMASQ_PREFIX = 64
"""dnsmasq serves no larger IPv6 network."""
SHA256_LENGTH = 64
NO_ADDRESS = "is no IP address; write one alone, for example 192.168.111.5"


def _mode(config: InstallConfig) -> Iterator[Problem]:
    mode = config.baremetal.provisioning_network
    if mode not in PROVISIONING_MODES:
        yield Problem(_path("provisioningNetwork"), f"{mode} is unknown; write {MANAGED}, {UNMANAGED} or {DISABLED}")


def _cidr(config: InstallConfig) -> Iterator[Problem]:
    text = config.baremetal.provisioning_network_cidr
    cidr = parse_cidr(text)
    fault = _network_fault(config, cidr) if cidr else "is no network; write address/prefix, for example 172.22.0.0/24"
    if text and fault:
        yield Problem(_path("provisioningNetworkCIDR"), f"{text} {fault}")


def _addresses(config: InstallConfig) -> Iterator[Problem]:
    bare = config.baremetal
    for name, text in (
        ("bootstrapProvisioningIP", bare.bootstrap_provisioning_ip),
        ("clusterProvisioningIP", bare.cluster_provisioning_ip),
    ):
        address = parse_address(text)
        if text and (fault := NO_ADDRESS if address is None else _place_fault(config, address)):
            yield Problem(_path(name), f"{text} {fault}")


def _dhcp_range(config: InstallConfig) -> Iterator[Problem]:
    if fault := _range_fault(config):
        yield Problem(_path("provisioningDHCPRange"), f"{config.baremetal.provisioning_dhcp_range} {fault}")


def _gateway(config: InstallConfig) -> Iterator[Problem]:
    text = config.baremetal.provisioning_network_gateway
    address = parse_address(text)
    if text and (fault := NO_ADDRESS if address is None else _gateway_fault(config, address)):
        yield Problem(_path("provisioningNetworkGateway"), f"{text} {fault}")


def _ntp_servers(config: InstallConfig) -> Iterator[Problem]:
    for index, server in enumerate(config.baremetal.additional_ntp_servers):
        if parse_address(server) is None and dns_fault(server.removesuffix(".")):
            text = f"{server!r} is neither an IP address nor a DNS name in lower case; write one of them"
            yield Problem(_path(f"additionalNTPServers[{index}]"), text)


def _macs(config: InstallConfig) -> Iterator[Problem]:
    external, own = config.baremetal.external_mac_address, config.baremetal.provisioning_mac_address
    for name, text in (("externalMACAddress", external), ("provisioningMACAddress", own)):
        if text and (fault := mac_fault(text)):
            yield Problem(_path(name), fault)
        elif name == "provisioningMACAddress" and text and parse_mac(text) == parse_mac(external):
            yield Problem(_path(name), f"{text} is externalMACAddress too; the bootstrap machine's two cards differ")


def _libvirt_uri(config: InstallConfig) -> Iterator[Problem]:
    # A URI may hold a password, so it is not repeated.
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", config.baremetal.libvirt_uri):
        yield Problem(_path("libvirtURI"), "names no driver; write a libvirt URI, for example qemu:///system")


def _static_bootstrap(config: InstallConfig) -> Iterator[Problem]:
    bare = config.baremetal
    texts = {
        "bootstrapExternalStaticIP": bare.bootstrap_external_static_ip,
        "bootstrapExternalStaticGateway": bare.bootstrap_external_static_gateway,
        "bootstrapExternalStaticDNS": bare.bootstrap_external_static_dns,
    }
    said = [name for name, text in texts.items() if text]
    missing = [name for name, text in texts.items() if not text]
    if said and missing:
        yield Problem(_path(said[0]), f"stands without {' and '.join(missing)}; write all three, or none")
    for name in said:
        address = parse_address(texts[name])
        if address is None:
            yield Problem(_path(name), f"{texts[name]} {NO_ADDRESS}")
        elif name == "bootstrapExternalStaticIP" and (fault := _machine_fault(config, address)):
            yield Problem(_path(name), f"{texts[name]} {fault}")


def _images(config: InstallConfig) -> Iterator[Problem]:
    bare = config.baremetal
    for name, text in (("bootstrapOSImage", bare.bootstrap_os_image), ("clusterOSImage", bare.cluster_os_image)):
        if text and (fault := _image_fault(text)):
            remedy = f"write http(s)://<host>/<image>?sha256=<{SHA256_LENGTH} hexadecimal digits>, or take it out"
            yield Problem(_path(name), f"{fault}; {remedy}")


def _network_fault(config: InstallConfig, cidr: Interface) -> str:
    """Why servers cannot be provisioned over a network; empty if they can, or are not."""
    bare = config.baremetal
    network = cidr.network
    if bare.provisioning_network == DISABLED:
        return ""
    if cidr.ip != network.network_address:
        return f"has host bits set; write {network}"
    if shared := [str(each) for each in _machine_networks(config) if overlap(each, network)]:
        return f"overlaps the machine network {', '.join(shared)}; choose a network of its own"
    if bare.provisioning_network == MANAGED and network.version == IPV6 and network.prefixlen < DNSMASQ_PREFIX:
        return f"is larger than dnsmasq can serve; write /{DNSMASQ_PREFIX} or a longer prefix"
    dhcp_range = bare.provisioning_network != MANAGED or bare.provisioning_dhcp_range
    if not (bare.bootstrap_provisioning_ip and bare.cluster_provisioning_ip and dhcp_range):
        return "has no room for two addresses and, if Managed, DHCP from the tenth on; write a shorter prefix"
    return ""


def _place_fault(config: InstallConfig, address: Address) -> str:
    """Why a provisioning service must not have an address; empty if it may."""
    bare = config.baremetal
    if bare.provisioning_network == DISABLED:
        return _machine_fault(config, address)
    network = _network(config)
    if network is None:
        return ""
    if not in_any(address, [network]):
        return f"is outside the provisioning network {network}; choose an address from it"
    if bare.provisioning_dhcp_range and not _range_fault(config):
        start, end = (int(each) for each in _ends(bare.provisioning_dhcp_range))
        if start <= int(address) <= end:
            return f"is in provisioningDHCPRange {bare.provisioning_dhcp_range}; choose an address outside it"
    return ""


def _gateway_fault(config: InstallConfig, address: Address) -> str:
    """As cluster-baremetal-operator's api/v1alpha1/provisioning_validation.go has it; only DHCP hands it out."""
    bare = config.baremetal
    network = _network(config)
    if bare.provisioning_network != MANAGED or network is None:
        return ""
    if fault := _place_fault(config, address):
        return fault
    if address == parse_address(bare.cluster_provisioning_ip):
        return "is clusterProvisioningIP too; choose another address"
    if network.version == IPV6 or network.prefixlen >= network.max_prefixlen - 1:  # no broadcast there
        return ""
    ends = (network.network_address, network.broadcast_address)
    return f"is the network or broadcast address of {network}; choose another address" if address in ends else ""


def _range_fault(config: InstallConfig) -> str:
    bare = config.baremetal
    text = bare.provisioning_dhcp_range
    if not text or bare.provisioning_network == DISABLED:
        return ""
    ends = _ends(text)
    if not len(text.split(",")) == len(ends) == 2:  # noqa: PLR2004
        return "is no range; write <first address>,<last address> without a space"
    network = _network(config)
    if network and (outside := [str(each) for each in ends if not in_any(each, [network])]):
        return f"is not in the provisioning network {network}: {', '.join(outside)} is outside; choose from it"
    start, end = ends
    return f"is reversed; write {end},{start}" if int(start) > int(end) else ""


def _ends(text: str) -> list[Address]:
    return [address for part in text.split(",") if (address := parse_address(part)) is not None]


def _machine_fault(config: InstallConfig, address: Address) -> str:
    machine = _machine_networks(config)
    if not machine or in_any(address, machine):
        return ""
    return f"is in no machine network ({', '.join(map(str, machine))}); choose an address from one of them"


def _machine_networks(config: InstallConfig) -> list[Network]:
    """None at all if one of them is refused elsewhere: who knows what it would hold."""
    texts = lists(config.networking)["machineNetwork"]
    return networks(list(texts)) if versions(texts) else []


def _image_fault(text: str) -> str:
    """The URL is not repeated: it may hold a password."""
    if not re.match("https?://", text, re.IGNORECASE):
        return "is no http or https URL"
    found = parse_qs(text.partition("?")[2], keep_blank_values=True).get("sha256", [""])[0]
    if len(found) != SHA256_LENGTH:
        return f"has a sha256 of {len(found)} characters" if found else "has no sha256"
    return ""


def _network(config: InstallConfig) -> Network | None:
    """The provisioning network; None if there is none, or `_cidr` refuses it."""
    cidr = parse_cidr(config.baremetal.provisioning_network_cidr)
    unused = config.baremetal.provisioning_network == DISABLED
    return None if cidr is None or unused or _network_fault(config, cidr) else cidr.network


def _path(name: str) -> str:
    return f"platform.baremetal.{name}"


RULES = (
    _mode,
    _cidr,
    _addresses,
    _dhcp_range,
    _gateway,
    _ntp_servers,
    _macs,
    _libvirt_uri,
    _static_bootstrap,
    _images,
)
