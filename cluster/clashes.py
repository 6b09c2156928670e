"""Clashes between clusters: values that only one of those on a layer-2 network can have, or only one anywhere."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from base.errors import Fault
from cluster.install_config import InstallConfig
from cluster.install_config.platform import DISABLED, MANAGED
from cluster.install_config.rules.names import dns_fault, name_fault
from cluster.install_config.rules.vips import user_managed
from cluster.options import Vrids
from cluster.values.address import Network, overlap, parse_address, parse_cidr
from cluster.values.bmc_url import BmcUrlError, parse_redfish_url
from cluster.values.mac import parse_mac
from cluster.values.vrrp import free_router_ids, router_ids

NAMED = 3
"""The number of earlier clusters that one line names."""


class ClusterConfig(NamedTuple):
    """The install-config of one cluster."""

    file: str
    """The path as the user wrote it."""
    config: InstallConfig
    site: str = ""
    """The site, whose clusters share a layer-2 network."""
    vrids: Vrids = Vrids()
    """The option of the stack."""


class _Value(NamedTuple):
    """A value that one cluster claims for itself."""

    number: int
    """Number of the cluster, from 0."""
    key: Hashable
    path: str
    what: str
    """The value as in the file; for a VRID, the VIP or cluster that it belongs to."""


_Found = Iterator[tuple[int, Fault]]
"""Faults, each with the number of its cluster."""


def clashes_between(clusters: Sequence[ClusterConfig]) -> list[list[Fault]]:
    """Return the clashes of each cluster with the clusters before it.

    Names in DNS and MACs are unique everywhere. All else may be used again at another site, behind its own router.
    This ignores invalid values, because the check of each file reports them. A cluster with the name of an earlier
    one of its site gets no line about its VRIDs, because they follow from the name.
    """
    faults: list[list[Fault]] = [[] for _ in clusters]
    for site in dict.fromkeys(cluster.site for cluster in clusters):
        numbers = [number for number, cluster in enumerate(clusters) if cluster.site == site]
        for family in (_names, _router_ids, _vips, _bmcs, _networks):
            for index, fault in family([clusters[number] for number in numbers]):
                faults[numbers[index]].append(fault)
    for family in (_domains, _macs):
        for number, fault in family(clusters):
            faults[number].append(fault)
    return faults


def _names(clusters: Sequence[ClusterConfig]) -> _Found:
    for claim, earlier in _shared(_name_claims(clusters)):
        what = f"{claim.key} is the name of {_files(clusters, earlier)} too, and so are its VRIDs"
        yield claim.number, Fault(claim.path, what, "choose another")


def _domains(clusters: Sequence[ClusterConfig]) -> _Found:
    """Yield the clashes between sites; `_names` has those within one."""
    claims = (
        claim._replace(key=f"{claim.key}.{domain}")
        for claim in _name_claims(clusters)
        if not dns_fault(domain := clusters[claim.number].config.base_domain.removesuffix("."))
    )
    for claim, earlier in _shared(claims):
        site = clusters[claim.number].site
        if elsewhere := [other for other in earlier if clusters[other.number].site != site]:
            what = f"{claim.key} is the domain of {_files(clusters, elsewhere)} too"
            yield claim.number, Fault(claim.path, what, "choose another name, or another baseDomain")


def _router_ids(clusters: Sequence[ClusterConfig]) -> _Found:
    kept_alive = [claim for claim in _distinct_names(clusters) if not user_managed(clusters[claim.number].config)]
    ids = {claim.number: _router_ids_of(clusters[claim.number]) for claim in kept_alive}
    free = iter(free_router_ids({router_id for of_cluster in ids.values() for router_id in of_cluster.values()}))
    claims = (
        _Value(claim.number, router_id, claim.path, vip)
        for claim in kept_alive
        for vip, router_id in ids[claim.number].items()
    )
    for claim, earlier in _shared(claims):
        owners = _listed(f"{other.what} VRID of {clusters[other.number].file}" for other in earlier)
        instead = next(free, None)
        what = f"its {claim.what} VRID {claim.key} is the {owners} too"
        if instead is None:
            fault = Fault(claim.path, f"{what}, and none is free", "put this cluster into another network")
        else:
            fix = f"set vrids: {{{claim.what}: {instead}}}, which is free, in its stack's options"
            fault = Fault(claim.path, what, fix)
        yield claim.number, fault


def _router_ids_of(cluster: ClusterConfig) -> dict[str, int]:
    """Return the router id of each VIP that a cluster may claim, by the VIP's option."""
    managed = cluster.config.baremetal.provisioning_network == MANAGED
    ids = router_ids(cluster.config.metadata.name)._asdict() | cluster.vrids.model_dump(exclude_none=True)
    return {vip: router_id for vip, router_id in ids.items() if managed or vip != "provisioning"}


def _vips(clusters: Sequence[ClusterConfig]) -> _Found:
    claims = (
        _Value(index, parse_address(text), f"platform.baremetal.{key}[{number}]", text)
        for index, cluster in enumerate(clusters)
        for key, texts in (
            ("apiVIPs", cluster.config.baremetal.api_vips),
            ("ingressVIPs", cluster.config.baremetal.ingress_vips),
        )
        for number, text in enumerate(texts)
    )
    return _taken(clusters, claims, "choose another")


def _macs(clusters: Sequence[ClusterConfig]) -> _Found:
    claims = (
        _Value(index, parse_mac(text), f"platform.baremetal.{key}", text)
        for index, cluster in enumerate(clusters)
        for key, text in _cards(cluster.config)
    )
    return _taken(clusters, claims, "write another: each network card has its own")


def _cards(config: InstallConfig) -> Iterator[tuple[str, str]]:
    yield "externalMACAddress", config.baremetal.external_mac_address
    yield "provisioningMACAddress", config.baremetal.provisioning_mac_address
    for index, host in enumerate(config.baremetal.hosts or ()):
        yield f"hosts[{index}].bootMACAddress", host.boot_mac_address


def _bmcs(clusters: Sequence[ClusterConfig]) -> _Found:
    claims = (
        _Value(index, _server(host.bmc.address), f"platform.baremetal.hosts[{number}].bmc.address", host.bmc.address)
        for index, cluster in enumerate(clusters)
        for number, host in enumerate(cluster.config.baremetal.hosts or ())
    )
    return _taken(clusters, claims, "write another: a server belongs to one cluster")


def _server(address: str) -> Hashable:
    try:
        return parse_redfish_url(address).server
    except BmcUrlError:
        return None


def _networks(clusters: Sequence[ClusterConfig]) -> _Found:
    path = "platform.baremetal.provisioningNetworkCIDR"
    claims_by_network: dict[Network, list[_Value]] = defaultdict(list)
    for index, cluster in enumerate(clusters):
        text = cluster.config.baremetal.provisioning_network_cidr
        cidr = parse_cidr(text)
        if cidr is None or cluster.config.baremetal.provisioning_network == DISABLED:
            continue
        touched = [network for network in claims_by_network if overlap(network, cidr.network)]
        if owners := [
            f"{other.what} of {clusters[other.number].file}"
            for network in touched
            for other in claims_by_network[network]
        ]:
            fix = f"write a network of its own, or provisioningNetwork: {DISABLED}"
            yield index, Fault(path, f"{text} overlaps {_listed(owners)}", fix)
        claims_by_network[cidr.network].append(_Value(index, cidr.network, path, text))


def _name_claims(clusters: Sequence[ClusterConfig]) -> Iterator[_Value]:
    for index, cluster in enumerate(clusters):
        name = cluster.config.metadata.name
        if not name_fault(name):
            yield _Value(index, name, "metadata.name", name)


def _distinct_names(clusters: Sequence[ClusterConfig]) -> list[_Value]:
    """Return the first claim to each name."""
    firsts: dict[Hashable, _Value] = {}
    for claim in _name_claims(clusters):
        firsts.setdefault(claim.key, claim)
    return list(firsts.values())


def _shared(claims: Iterable[_Value]) -> Iterator[tuple[_Value, list[_Value]]]:
    """Yield each claim to a value that earlier clusters have, with their claims."""
    claims_by_key: dict[Hashable, list[_Value]] = defaultdict(list)
    for claim in claims:
        if earlier := [other for other in claims_by_key[claim.key] if other.number != claim.number]:
            yield claim, earlier
        claims_by_key[claim.key].append(claim)


def _taken(clusters: Sequence[ClusterConfig], claims: Iterable[_Value], fix: str) -> _Found:
    """Yield a fault per claim to a value that an earlier cluster has."""
    for claim, earlier in _shared(claim for claim in claims if claim.key is not None):
        owners = _listed(f"{other.path} of {clusters[other.number].file}" for other in earlier)
        yield claim.number, Fault(claim.path, f"{claim.what} is {owners} already", fix)


def _files(clusters: Sequence[ClusterConfig], claims: Iterable[_Value]) -> str:
    return _listed(clusters[claim.number].file for claim in claims)


def _listed(owners: Iterable[str]) -> str:
    """Return as many names as a line can hold, and the number of the others."""
    texts = list(owners)
    more = len(texts) - NAMED
    return ", ".join(texts[:NAMED]) + (f" and {more} more" if more > 0 else "")
