"""The network that servers are provisioned over, and the bootstrap machine's own settings."""

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import parse_qs

from base.errors import Fault, Stricter
from cluster.install_config.platform import DISABLED, MANAGED, PROVISIONING_MODES, UNMANAGED
from cluster.install_config.rules.names import dns_fault
from cluster.install_config.rules.networks import lists, versions
from cluster.install_config.schema import InstallConfig
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
from cluster.values.go_url import parse_go_url
from cluster.values.mac import mac_fault, parse_mac

DNSMASQ_PREFIX = 64
"""dnsmasq serves no larger IPv6 network."""
SHA256_LENGTH = 64
NO_ADDRESS = Fault("", "is not an IP address", "write only an address, for example 192.168.111.5")


def _mode(config: InstallConfig) -> Iterator[Fault]:
    mode = config.baremetal.provisioning_network
    if mode not in PROVISIONING_MODES:
        fix = f"write {MANAGED}, {UNMANAGED} or {DISABLED}"
        yield Fault(_path("provisioningNetwork"), f"{mode} is unknown", fix)


def _cidr(config: InstallConfig) -> Iterator[Fault]:
    text = config.baremetal.provisioning_network_cidr
    cidr = parse_cidr(text)
    if cidr and (fault := _network_fault(config, cidr)):
        yield Fault(_path("provisioningNetworkCIDR"), f"{text} {fault.what}", fault.fix)


def _addresses(config: InstallConfig) -> Iterator[Fault]:
    bare = config.baremetal
    for name, text in (
        ("bootstrapProvisioningIP", bare.bootstrap_provisioning_ip),
        ("clusterProvisioningIP", bare.cluster_provisioning_ip),
    ):
        address = parse_address(text)
        if text and (fault := NO_ADDRESS if address is None else _place_fault(config, address)):
            yield Fault(_path(name), f"{text} {fault.what}", fault.fix)


def _dhcp_range(config: InstallConfig) -> Iterator[Fault]:
    if fault := _range_fault(config):
        what = f"{config.baremetal.provisioning_dhcp_range} {fault.what}"
        yield replace(fault, where=_path("provisioningDHCPRange"), what=what)


def _gateway(config: InstallConfig) -> Iterator[Fault]:
    text = config.baremetal.provisioning_network_gateway
    address = parse_address(text)
    if text and (fault := NO_ADDRESS if address is None else _gateway_fault(config, address)):
        yield replace(fault, where=_path("provisioningNetworkGateway"), what=f"{text} {fault.what}")


def _ntp_servers(config: InstallConfig) -> Iterator[Fault]:
    for index, server in enumerate(config.baremetal.additional_ntp_servers):
        if parse_address(server) is None and (fault := dns_fault(server.removesuffix("."))):
            what = f"{server!r} is neither an IP address nor a DNS name in lower case"
            kind = Stricter if config.baremetal.provisioning_network == DISABLED else type(fault)
            yield kind(_path(f"additionalNTPServers[{index}]"), what, "write one of them")


def _macs(config: InstallConfig) -> Iterator[Fault]:
    external, own = config.baremetal.external_mac_address, config.baremetal.provisioning_mac_address
    for name, text in (("externalMACAddress", external), ("provisioningMACAddress", own)):
        if text and (fault := mac_fault(text)):
            yield fault.within(_path(name))
        elif name == "provisioningMACAddress" and text and parse_mac(text) == parse_mac(external):
            fix = "write another: the bootstrap machine's two cards differ"
            kind = Fault if text.lower() == external.lower() else Stricter
            yield kind(_path(name), f"{text} is externalMACAddress too", fix)


def _libvirt_uri(config: InstallConfig) -> Iterator[Fault]:
    # A URI may hold a password, so it is not repeated.
    uri = parse_go_url(config.baremetal.libvirt_uri)
    if uri is None or not uri.scheme:
        yield Fault(_path("libvirtURI"), "names no driver", "write a libvirt URI, for example qemu:///system")


def _static_bootstrap(config: InstallConfig) -> Iterator[Fault]:
    bare = config.baremetal
    texts = {
        "bootstrapExternalStaticIP": bare.bootstrap_external_static_ip,
        "bootstrapExternalStaticGateway": bare.bootstrap_external_static_gateway,
        "bootstrapExternalStaticDNS": bare.bootstrap_external_static_dns,
    }
    written = [name for name, text in texts.items() if text]
    missing = [name for name, text in texts.items() if not text]
    if written and missing:
        yield Fault(_path(written[0]), f"given without {' and '.join(missing)}", "write all three, or none")
    for name in written:
        address = parse_address(texts[name])
        if address is None:
            yield Stricter(_path(name), f"{texts[name]} {NO_ADDRESS.what}", NO_ADDRESS.fix)
        elif name == "bootstrapExternalStaticIP" and (fault := _machine_fault(config, address)):
            yield Stricter(_path(name), f"{texts[name]} {fault.what}", fault.fix)


def _images(config: InstallConfig) -> Iterator[Fault]:
    bare = config.baremetal
    for name, text in (("bootstrapOSImage", bare.bootstrap_os_image), ("clusterOSImage", bare.cluster_os_image)):
        if text and (what := _wrong_with_image(text)):
            fix = f"write http(s)://<host>/<image>?sha256=<{SHA256_LENGTH} hexadecimal digits>, or remove it"
            yield Fault(_path(name), what, fix)


def _network_fault(config: InstallConfig, cidr: Interface) -> Fault | None:
    """Why servers cannot be provisioned over a network; None if they can, or are not."""
    bare = config.baremetal
    network = cidr.network
    if bare.provisioning_network == DISABLED:
        return None
    if cidr.ip != network.network_address:
        return Fault("", "has host bits set", f"write {network}")
    if shared := [str(other) for other in _machine_networks(config) if overlap(other, network)]:
        return Fault("", f"overlaps the machine network {', '.join(shared)}", "choose a network of its own")
    if bare.provisioning_network == MANAGED and network.version == IPV6 and network.prefixlen < DNSMASQ_PREFIX:
        return Fault("", "is larger than dnsmasq can serve", f"write /{DNSMASQ_PREFIX} or a longer prefix")
    dhcp_range = bare.provisioning_network != MANAGED or bare.provisioning_dhcp_range
    if not (bare.bootstrap_provisioning_ip and bare.cluster_provisioning_ip and dhcp_range):
        what = "has no room for two addresses and, if Managed, DHCP from the tenth on"
        return Fault("", what, "write a shorter prefix")
    return None


def _place_fault(config: InstallConfig, address: Address) -> Fault | None:
    """Why a provisioning service must not have an address; None if it may."""
    bare = config.baremetal
    if bare.provisioning_network == DISABLED:
        return _machine_fault(config, address)
    network = _network(config)
    if network is None:
        return None
    if not in_any(address, [network]):
        return Fault("", f"is outside the provisioning network {network}", "choose an address from it")
    if bare.provisioning_dhcp_range and not _range_fault(config):
        start, end = (int(end) for end in _ends(bare.provisioning_dhcp_range))
        if start <= int(address) <= end:
            what = f"is in provisioningDHCPRange {bare.provisioning_dhcp_range}"
            return Fault("", what, "choose an address outside it")
    return None


def _gateway_fault(config: InstallConfig, address: Address) -> Fault | None:
    """As `ValidateProvisioningNetworking` of the installer has it, with a provisioning network of either kind."""
    bare = config.baremetal
    network = _network(config)
    if network is None:
        return None
    if fault := _place_fault(config, address):
        return fault
    if address == parse_address(bare.cluster_provisioning_ip):
        kind = Fault if bare.provisioning_network_gateway == bare.cluster_provisioning_ip else Stricter
        return kind("", "is clusterProvisioningIP too", "choose another address")
    if network.version == IPV6 or network.prefixlen >= network.max_prefixlen - 1:  # no broadcast there
        return None
    what = f"is the network or broadcast address of {network}"
    at_an_end = address in (network.network_address, network.broadcast_address)
    return Fault("", what, "choose another address") if at_an_end else None


def _range_fault(config: InstallConfig) -> Fault | None:
    bare = config.baremetal
    text = bare.provisioning_dhcp_range
    if not text or bare.provisioning_network == DISABLED:
        return None
    ends = _ends(text)
    if not len(text.split(",")) == len(ends) == 2:  # noqa: PLR2004
        return Fault("", "is not a range", "write <first address>,<last address> without a space")
    network = _network(config)
    if network and (outside := [str(end) for end in ends if not in_any(end, [network])]):
        what = f"is not in the provisioning network {network}: {', '.join(outside)} is outside"
        return Fault("", what, "choose from it")
    start, end = ends
    return Stricter("", "is reversed", f"write {end},{start}") if int(start) > int(end) else None


def _ends(text: str) -> list[Address]:
    return [address for part in text.split(",") if (address := parse_address(part)) is not None]


def _machine_fault(config: InstallConfig, address: Address) -> Fault | None:
    machine = _machine_networks(config)
    if not machine or in_any(address, machine):
        return None
    what = f"is in no machine network ({', '.join(map(str, machine))})"
    return Fault("", what, "choose an address from one of them")


def _machine_networks(config: InstallConfig) -> list[Network]:
    """None at all if one of them is refused elsewhere: who knows what it would hold."""
    texts = lists(config.networking)["machineNetwork"]
    return networks(list(texts)) if versions(texts) else []


def _wrong_with_image(text: str) -> str:
    """The URL is not repeated: it may hold a password."""
    url = parse_go_url(text, is_request=True)
    if url is None or url.scheme not in ("http", "https"):
        return "is not an http or https URL"
    digest = parse_qs(text.partition("?")[2], keep_blank_values=True).get("sha256", [""])[0]
    if len(digest) != SHA256_LENGTH:
        return f"has a sha256 of {len(digest)} characters" if digest else "has no sha256"
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
