"""Clashes between clusters: values that only one of those on a layer-2 network can have, or only one anywhere."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from base.errors import Fault
from cluster.install_config import InstallConfig
from cluster.install_config.platform import MANAGED
from cluster.install_config.rules.names import dns_fault, name_fault
from cluster.install_config.rules.vips import user_managed
from cluster.options import MachineOptions, Options
from cluster.plan.address_table.conflicts import conflicts, listed
from cluster.plan.address_table.rows import Row, is_installed, rows_of
from cluster.plan.address_table.uses import IN_TWO_CLUSTERS, Use
from cluster.plan.intent import NO_OPTIONS
from cluster.plan.refusals.options import OWN_MACHINE
from cluster.values.vrrp import derived_vrids, free_vrids


class ClusterConfig(NamedTuple):
    """The install-config of one cluster."""

    file: str
    """The path as the user wrote it."""
    config: InstallConfig
    site: str = ""
    """The site, whose clusters share a layer-2 network."""
    options: MachineOptions = NO_OPTIONS
    """The options of the stack."""


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

    Names in DNS, MACs and machines are unique everywhere. All else may be used again at another site, behind its own
    router. The bootstrap VM of an installed cluster is gone, so its address is free. This ignores invalid values,
    because the check of each file reports them. A cluster with the name of an earlier one of its site gets no line
    about its VRIDs, because they follow from the name.
    """
    faults: list[list[Fault]] = [[] for _ in clusters]
    rows = [_rows(number, cluster) for number, cluster in enumerate(clusters)]
    for site in dict.fromkeys(cluster.site for cluster in clusters):
        numbers = [number for number, cluster in enumerate(clusters) if cluster.site == site]
        for family in (_names, _vrids):
            for index, fault in family([clusters[number] for number in numbers]):
                faults[numbers[index]].append(fault)
        at_site = (row for number in numbers for row in rows[number] if row.use is not Use.CARD)
        for index, fault in _conflicts(at_site):
            faults[index].append(fault)
    for number, fault in (
        *_domains(clusters),
        *_machines(clusters),
        *_conflicts(row for of_cluster in rows for row in of_cluster if row.use is Use.CARD),
    ):
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


def _vrids(clusters: Sequence[ClusterConfig]) -> _Found:
    named = _distinct_names(clusters)
    vrids = {claim.number: _vrids_of(clusters[claim.number]) for claim in named}
    free = iter(free_vrids({vrid for of_cluster in vrids.values() for vrid in of_cluster.values()}))
    claims = (
        _Value(claim.number, vrid, claim.path, vip) for claim in named for vip, vrid in vrids[claim.number].items()
    )
    for claim, earlier in _shared(claims):
        owners = listed(f"{other.what} VRID of {clusters[other.number].file}" for other in earlier)
        instead = next(free, None)
        what = f"its {claim.what} VRID {claim.key} is the {owners} too"
        if instead is None:
            fault = Fault(claim.path, f"{what}, and none is free", "put this cluster into another network")
        else:
            option = f"vrids: {{{claim.what}: {instead}}}"
            fix = f"set {option}, which is free, in its stack's options before its nodes are installed"
            fault = Fault(claim.path, what, fix)
        yield claim.number, fault


def _vrids_of(cluster: ClusterConfig) -> dict[str, int]:
    """Return the VRID of each VIP that a cluster may claim, by the VIP's option."""
    managed, own = cluster.config.baremetal.provisioning_network == MANAGED, not user_managed(cluster.config)
    derived, chosen = derived_vrids(cluster.config.metadata.name)._asdict(), cluster.options.vrids
    vrids = derived | chosen.model_dump(exclude_none=True)
    return {vip: vrid for vip, vrid in vrids.items() if (managed if vip == "provisioning" else own)}


def _machines(clusters: Sequence[ClusterConfig]) -> _Found:
    """Yield the consents to wipe a machine that an earlier cluster has."""
    claims = (
        _Value(index, machine.strip().lower(), f"config: consent.{host}", machine)
        for index, cluster in enumerate(clusters)
        if isinstance(cluster.options, Options)
        for host, machine in cluster.options.consent.items()
    )
    for claim, earlier in _shared(claims):
        what = f"{claim.what} is a machine of {_files(clusters, earlier)} already"
        yield claim.number, Fault(claim.path, what, OWN_MACHINE)


def _rows(number: int, cluster: ClusterConfig) -> list[Row]:
    """Return the addresses of a cluster, whose number holds them all."""
    return [
        row._replace(owner=str(number), file=cluster.file)
        for row in rows_of(cluster.config, cluster.options)
        if not (row.use is Use.BOOTSTRAP and is_installed(cluster.options))
    ]


def _conflicts(rows: Iterable[Row]) -> _Found:
    return ((int(row.owner), fault) for row, fault in conflicts(rows, IN_TWO_CLUSTERS))


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


def _files(clusters: Sequence[ClusterConfig], claims: Iterable[_Value]) -> str:
    return listed(clusters[claim.number].file for claim in claims)
