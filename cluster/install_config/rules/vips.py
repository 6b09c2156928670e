"""The virtual addresses of API and Ingress, and who serves them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from base.errors import Fault, Stricter
from cluster.install_config.rules.networks import lists, versions
from cluster.install_config.schema import InstallConfig
from cluster.values.address import IPV4, Address, Network, in_any, networks, parse_address

MOST = 2
DEFAULT_BALANCER = "OpenShiftManagedDefault"
USER_MANAGED = "UserManaged"
DNS_RECORDS = ("Internal", "External")


class _WrittenVip(NamedTuple):
    """One VIP of one list."""

    name: str
    """`apiVIPs[0]`."""
    text: str
    address: Address | None


def _counts(config: InstallConfig) -> Iterator[Fault]:
    for key, texts in _texts(config).items():
        if not texts:
            yield Fault(_path(key), "missing", "write the address (DNS is not asked for it)")
        elif len(texts) > MOST:
            what = f"{', '.join(texts)}: {len(texts)} addresses"
            yield Fault(_path(key), what, f"write at most {MOST}, one of each family")


def _syntax(config: InstallConfig) -> Iterator[Fault]:
    for vips in _written_vips(config).values():
        for vip in vips:
            if vip.address is None:
                what = f"{vip.text} is not an IP address" if vip.text else "missing"
                yield Fault(_path(vip.name), what, "write only an address, for example 192.168.111.5")


def _vips_differ(config: InstallConfig) -> Iterator[Fault]:
    if user_managed(config):
        return
    vips = _written_vips(config)
    for api in vips["apiVIPs"]:
        for ingress in vips["ingressVIPs"]:
            if api.address is not None and api.address == ingress.address:
                what = f"{api.text} is {ingress.name} too"
                yield Fault(_path(api.name), what, "give API and Ingress an address each")


def _vip_in_machine_network(config: InstallConfig) -> Iterator[Fault]:
    """Yield the VIPs that no machine can hold."""
    by_list = lists(config.networking)
    machine = by_list["machineNetwork"]
    families = versions(machine)
    if user_managed(config) or not families:
        return
    services = set(versions(by_list["serviceNetwork"]))
    missing = services - set(families) if len(services) > 1 else set[int]()  # a line of its own, in networks.py
    for vips in _written_vips(config).values():
        for vip in vips:
            if vip.address is None or vip.address.version in missing:
                continue
            if fault := _network_fault(vip.address, networks(list(machine))):
                yield replace(fault, where=_path(vip.name), what=f"{vip.text} {fault.what}")


def _order(config: InstallConfig) -> Iterator[Fault]:
    """Yield the VIPs that put another family first: in dual stack, the first one is the primary one everywhere."""
    by_list = {name: versions(texts) for name, texts in lists(config.networking).items()}
    firsts = {name: present[0] for name, present in by_list.items() if len(set(present)) > 1}
    if "serviceNetwork" not in firsts:
        return
    for vips in _written_vips(config).values():
        address = vips[0].address if vips else None
        if address is None:
            continue
        if other := [name for name, version in firsts.items() if version != address.version]:
            first = f"IPv{firsts[other[0]]} comes first in {', '.join(other)}"
            what = f"{vips[0].text} is IPv{address.version}, but {first}"
            yield Fault(_path(vips[0].name), what, "put the same family first everywhere")


def _one_per_family(config: InstallConfig) -> Iterator[Fault]:
    for vips in _written_vips(config).values():
        known = [vip.address.version for vip in vips if vip.address is not None]
        if len(known) > len(set(known)):
            first, second = vips
            what = f"{second.text} is IPv{known[0]} as {first.name} is"
            yield Fault(_path(second.name), what, "remove it, or write one of the other family")


def _load_balancer(config: InstallConfig) -> Iterator[Fault]:
    kind = _balancer(config)
    if kind not in (DEFAULT_BALANCER, USER_MANAGED):
        what = f"{kind} is unknown" if kind else "missing"
        yield Fault(_path("loadBalancer.type"), what, f"write {DEFAULT_BALANCER} or {USER_MANAGED}")


def _dns_records(config: InstallConfig) -> Iterator[Fault]:
    kind = config.baremetal.dns_records_type
    path = _path("dnsRecordsType")
    if kind not in ("", *DNS_RECORDS):
        yield Stricter(path, f"{kind} is unknown", f"write {' or '.join(DNS_RECORDS)}")
    elif kind == "External" and _balancer(config) == DEFAULT_BALANCER:
        yield Fault(path, f"External needs loadBalancer.type: {USER_MANAGED}", "write that too, or Internal")


def _texts(config: InstallConfig) -> dict[str, tuple[str, ...]]:
    return {"apiVIPs": config.baremetal.api_vips, "ingressVIPs": config.baremetal.ingress_vips}


def _written_vips(config: InstallConfig) -> dict[str, list[_WrittenVip]]:
    """Return the VIPs by key; none of a list that is too long, which has its line already."""
    vips = {
        key: [_WrittenVip(f"{key}[{index}]", text, parse_address(text)) for index, text in enumerate(texts)]
        for key, texts in _texts(config).items()
    }
    return {key: listed if len(listed) <= MOST else [] for key, listed in vips.items()}


def _network_fault(address: Address, machine: list[Network]) -> Fault | None:
    containing = [network for network in machine if in_any(address, [network])]
    if not containing:
        what = f"is in no machine network ({', '.join(map(str, machine))})"
        return Fault("", what, "choose an address from one of them")
    for network in containing:
        if network.prefixlen >= network.max_prefixlen - 1:  # a point-to-point network has hosts only
            continue
        if address == network.network_address:
            return Stricter("", f"is the network address of {network}", "choose another")
        if address.version == IPV4 and address == network.broadcast_address:
            return Stricter("", f"is the broadcast address of {network}", "choose another")
    return None


def _balancer(config: InstallConfig) -> str:
    balancer = config.baremetal.load_balancer
    return DEFAULT_BALANCER if balancer is None else balancer.type


def user_managed(config: InstallConfig) -> bool:
    """Return whether no keepalived runs, because the site balances API and Ingress itself."""
    return _balancer(config) == USER_MANAGED


def _path(name: str) -> str:
    return f"platform.baremetal.{name}"


RULES = (
    _counts,
    _syntax,
    _vips_differ,
    _vip_in_machine_network,
    _order,
    _one_per_family,
    _load_balancer,
    _dns_records,
)
