"""Rules for the networks of machines, services and pods: each by itself, their overlaps, and their families."""

from collections.abc import Iterator
from typing import NamedTuple

from base.errors import Fault, Stricter
from cluster.install_config.schema import InstallConfig, Networking
from cluster.values.address import IPV4, IPV6, Interface, Network, networks, overlap, parse_cidr

OVN = "OVNKubernetes"
REMOVED_TYPES = ("kuryr", "openshiftsdn")
OVN_NETWORKS = {
    "join": ("100.64.0.0/16", "fd98::/64"),
    "transit": ("100.88.0.0/16", "fd97::/64"),
    "masquerade": ("169.254.0.0/17", "fd69::/112"),
}
"""The networks that OVN-Kubernetes uses internally, IPv4 and IPv6."""
JOIN = "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet"
RESERVED = 3
"""The number of addresses of the join network that nodes cannot get: network, gateway and broadcast."""
SERVICE_PREFIX = {IPV4: (12, 16), IPV6: (108, 112)}
"""The shortest prefix that Kubernetes accepts, and the usual prefix."""
IPV6_HOST_PREFIX = 64
CIDR_FIX = "write address/prefix, for example 192.168.111.0/24"
USUAL_HOST_PREFIX = {IPV4: 23, IPV6: IPV6_HOST_PREFIX}


class _Entry(NamedTuple):
    """One network of one list."""

    name: str
    """For example `machineNetwork[0]`."""
    path: str
    text: str

    @property
    def fault(self) -> Fault | None:
        return _fault(self.text) or (_service_fault(self.text) if self.name.startswith("service") else None)


def lists(networking: Networking) -> dict[str, tuple[str, ...]]:
    """Return the three lists of networks by key, as texts."""
    return {
        "machineNetwork": tuple(entry.cidr for entry in networking.machine_network),
        "serviceNetwork": networking.service_network,
        "clusterNetwork": tuple(entry.cidr for entry in networking.cluster_network),
    }


def versions(texts: tuple[str, ...]) -> list[int]:
    """Return the IP version of each network; an empty list if any text is not a network."""
    parsed = networks(list(texts))
    return [cidr.version for cidr in parsed] if len(parsed) == len(texts) else []


def _network_type(config: InstallConfig) -> Iterator[Fault]:
    networking = config.networking
    kind = networking.network_type
    path = "networking.networkType"
    if kind.lower() in REMOVED_TYPES:
        yield Fault(path, f"{kind} is no longer supported", f"write {OVN}")
    elif networking.ovn_kubernetes_config is not None and kind != OVN:
        yield Fault(path, f"{kind} does not fit ovnKubernetesConfig", f"write {OVN}, or remove that section")


def _cidrs(config: InstallConfig) -> Iterator[Fault]:
    for entry in _entries(config.networking):
        if fault := entry.fault:
            yield fault.within(entry.path)


def _disjoint(config: InstallConfig) -> Iterator[Fault]:
    good = _good(config.networking)
    for index, (entry, network) in enumerate(good):
        if shared := _overlapped(network, good[:index]):
            yield Fault(entry.path, f"{entry.text} overlaps {shared}", "choose a network of its own")


def _clear_of_ovn(config: InstallConfig) -> Iterator[Fault]:
    if config.networking.network_type != OVN:
        return
    for entry, network in _good(config.networking):
        for use, texts in OVN_NETWORKS.items():
            for own in networks(list(texts)):
                movable = use == "join" and own.version == IPV4
                if overlap(network, own) and not (movable and join_subnet(config.networking)):
                    what = f"{entry.text} overlaps OVN-Kubernetes' {use} network {own}"
                    fix = f"choose another, or move the join network with {JOIN}" if movable else "choose another"
                    yield Fault(entry.path, what, fix)


def _families(config: InstallConfig) -> Iterator[Fault]:
    """Check the families of all lists. The service networks determine the families of the cluster."""
    by_list = lists(config.networking)
    services = by_list["serviceNetwork"]
    wanted = versions(services)
    kind = Stricter if set(wanted) == {IPV6} else Fault
    if len(services) > len(set(wanted)) > 0:
        what = f"{', '.join(services)}: two networks of one family"
        yield kind("networking.serviceNetwork", what, "write only one network of each family")
    kind = Fault if len(set(wanted)) > 1 else Stricter
    for name, texts in by_list.items():
        present = versions(texts)
        for version in sorted(set(wanted) - set(present)) if present else ():
            what = f"{', '.join(texts)}: no IPv{version} network, but serviceNetwork has one"
            yield kind(f"networking.{name}", what, "write the same families in every list")


def _host_prefixes(config: InstallConfig) -> Iterator[Fault]:
    networking = config.networking
    previous: int | None = None
    for index, entry in enumerate(networking.cluster_network):
        cidr = parse_cidr(entry.cidr)
        if cidr is None or _fault(entry.cidr):
            continue
        # Only with other network types the prefix is optional.
        checked = networking.network_type == OVN or entry.host_prefix != 0
        if checked and (fault := _host_prefix_fault(cidr, entry.host_prefix, previous)):
            yield fault.within(f"networking.clusterNetwork[{index}].hostPrefix")
        elif cidr.version == IPV4:
            previous = entry.host_prefix


def _mtu(config: InstallConfig) -> Iterator[Fault]:
    if mtu := config.networking.cluster_network_mtu:
        yield Fault("networking.clusterNetworkMTU", f"{mtu} is for AWS only", "remove it")


def _join_network(config: InstallConfig) -> Iterator[Fault]:
    text = join_subnet(config.networking)
    if parse_cidr(text) and (fault := _fault(text) or _join_fault(config.networking, text)):
        yield fault.within(JOIN)


def _entries(networking: Networking) -> list[_Entry]:
    return [
        _Entry(f"{name}[{index}]", f"networking.{name}[{index}]{'' if name == 'serviceNetwork' else '.cidr'}", text)
        for name, texts in lists(networking).items()
        for index, text in enumerate(texts)
    ]


def _good(networking: Networking) -> list[tuple[_Entry, Network]]:
    """Return the entries that are valid on their own."""
    return [
        (entry, cidr.network)
        for entry in _entries(networking)
        if not entry.fault and (cidr := parse_cidr(entry.text)) is not None
    ]


def _overlapped(network: Network, others: list[tuple[_Entry, Network]]) -> str:
    """Return the names of other entries that overlap a network."""
    return ", ".join(f"{entry.name} ({entry.text})" for entry, other in others if overlap(network, other))


def cidr_fault(text: str) -> Fault | None:
    """Return why a text is not a network of any kind, which the installer's decoder refuses; None if it is."""
    what = f"{text} is not a network" if text else "empty, and not a network"
    return None if parse_cidr(text) else Fault("", what, CIDR_FIX)


def _fault(text: str) -> Fault | None:
    """Return what is wrong with a network that `cidr_fault` has nothing against, or that has no text."""
    cidr = parse_cidr(text)
    if cidr is None:
        return None if text else Stricter("", "missing", CIDR_FIX)
    if cidr.ip.is_unspecified:
        return Fault("", f"{text} is the unspecified address", "write a network's own address")
    if cidr.ip != cidr.network.network_address:
        return Fault("", f"{text} has host bits set", f"write {cidr.network}")
    return None


def _service_fault(text: str) -> Fault | None:
    for network in networks([text]):
        shortest, usual = SERVICE_PREFIX[network.version]
        if network.prefixlen < shortest:
            fix = f"write /{shortest} or a longer prefix, usually /{usual}"
            return Fault("", f"{text} is too large for services", fix)
    return None


def _host_prefix_fault(cidr: Interface, host_prefix: int, previous: int | None) -> Fault | None:
    """Return why a host prefix does not fit its network. `previous` is that of the IPv4 network before it."""
    network = cidr.network
    if cidr.version == IPV6 and network.prefixlen > IPV6_HOST_PREFIX:
        return Fault("", f"{network} has no /64 for a host", "write a network of /64 or a shorter prefix")
    if not host_prefix:
        fix = f"write the prefix length of each host's subnet, usually {USUAL_HOST_PREFIX[cidr.version]}"
        return Fault("", "missing", fix)
    if cidr.version == IPV6 and host_prefix != IPV6_HOST_PREFIX:
        return Fault("", f"{host_prefix} is not valid for IPv6", f"write {IPV6_HOST_PREFIX}")
    most = cidr.max_prefixlen
    wanted = str(most) if network.prefixlen == most else f"{network.prefixlen} to {most}"
    if host_prefix < network.prefixlen:
        return Fault("", f"{host_prefix} does not fit {network}", f"write {wanted}")
    if cidr.version == IPV4 and previous not in (None, host_prefix):
        what = f"{host_prefix} differs from the {previous} before it"
        return Fault("", what, "write one value for all IPv4 networks")
    return Stricter("", f"{host_prefix} does not fit {network}", f"write {wanted}") if host_prefix > most else None


def join_subnet(networking: Networking) -> str:
    """Return OVN-Kubernetes' IPv4 join network as in the file; empty for the default."""
    ovn = networking.ovn_kubernetes_config
    return ovn.ipv4.internal_join_subnet if ovn and ovn.ipv4 else ""


def _join_fault(networking: Networking, text: str) -> Fault | None:
    (network,) = networks([text])
    if network.version != IPV4:
        return Stricter("", f"{text} is IPv6", "write an IPv4 network")
    if shared := _overlapped(network, _good(networking)):
        return Fault("", f"{text} overlaps {shared}", "choose a network of its own")
    nodes = _nodes(networking)
    longest = network.max_prefixlen - (nodes + RESERVED).bit_length()
    if network.prefixlen > longest:
        what = f"{text} is too small for the {nodes} nodes of clusterNetwork"
        return Fault("", what, f"write /{longest} or a shorter prefix")
    return None


def _nodes(networking: Networking) -> int:
    """Return how many nodes the IPv4 cluster networks with valid host prefixes have room for."""
    nodes = 0
    for entry in networking.cluster_network:
        for network in networks([entry.cidr]):
            if network.version == IPV4 and network.prefixlen <= entry.host_prefix <= network.max_prefixlen:
                nodes += 1 << (entry.host_prefix - network.prefixlen)
    return nodes


RULES = (_network_type, _cidrs, _disjoint, _clear_of_ovn, _families, _host_prefixes, _mtu, _join_network)
