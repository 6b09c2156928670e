"""Judgement of the segment before a VIP is claimed or moved: who has it, who has its router id, where names lead."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Protocol

from cluster.values.vrrp import free_router_ids
from providers.base.errors import OkdBaremetalError
from providers.base.verdict import Caution, Finding, Note, Unseen, Verdict
from wires.segment.macs import described
from wires.segment.vrrp import Advert

BELOW_APPS = "preflight.apps"
"""A name that nobody has written down: only a wildcard answers it."""
SUGGESTED = 3
RECORD = {4: "A", 6: "AAAA"}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A VIP, and who of the cluster may have it."""

    what: str
    """For people: API VIP, Ingress VIP."""
    option: str
    """Its key in `vrids`."""
    vips: Sequence[str]
    """One per family."""
    router_id: int
    holders: Mapping[str, Sequence[str]]
    """Addresses of each machine that may hold it, by name."""
    macs: Sequence[str]
    """Of those of them whose MAC is known beforehand."""


@dataclass(frozen=True, kw_only=True)
class WireSpec:
    """What is wanted of the segment."""

    phase: str
    domain: str
    """The cluster's."""
    api: Claim
    ingress: Claim
    severity: Mapping[str, str]
    """`error` or `warn`, by `vip`, `vrid`, `dns`."""


class Wire(Protocol):
    """What the judgement asks of the world; nothing is changed."""

    def macs_of(self, address: str) -> frozenset[str]:
        """MACs that answer an address.

        Raises:
            OkdBaremetalError: It cannot be asked from here.
        """
        ...

    def adverts(self, addresses: Collection[str]) -> Collection[Advert]:
        """What VRRP says on the networks of these addresses.

        Raises:
            OkdBaremetalError: It cannot be heard from here.
        """
        ...

    def resolve(self, name: str, version: int) -> frozenset[str]:
        """Addresses of a name, of IP version 4 or 6, as this machine's resolver has them.

        Raises:
            OSError: It has none.
        """
        ...


def judge(spec: WireSpec, wire: Wire) -> Verdict:
    """Look at everything, whatever is found on the way."""
    claims = (spec.api, spec.ingress)
    notes = [note for claim in claims for vip in claim.vips for note in _vip(spec, claim, vip, wire)]
    return Verdict((*notes, *_router_ids(spec, claims, wire), *_names(spec, wire)))


def _vip(spec: WireSpec, claim: Claim, vip: str, wire: Wire) -> Iterator[Note]:
    what = f"{claim.what} {vip}"
    try:
        strangers = _strangers(claim, wire.macs_of(vip), wire)
    except OkdBaremetalError as error:
        yield Unseen(f"{what}: {error}")
        return
    if strangers:
        seen = " and ".join(map(described, sorted(strangers)))
        yield _note(
            spec.severity["vip"],
            f"{what}: answered by {seen}, wanted nobody but {', '.join(claim.holders)}",
            "end that machine, or take the address from it; the switch knows the port of its MAC",
        )


def _strangers(claim: Claim, macs: frozenset[str], wire: Wire) -> frozenset[str]:
    """Those that are no MAC of a machine that may hold the VIP."""
    left = macs - frozenset(claim.macs)
    families = {ip_address(vip).version for vip in claim.vips}
    for address in (address for addresses in claim.holders.values() for address in addresses):
        if left and ip_address(address).version in families:
            left -= wire.macs_of(address)
    return left


def _router_ids(spec: WireSpec, claims: Sequence[Claim], wire: Wire) -> Iterator[Note]:
    try:
        heard = wire.adverts([vip for claim in claims for vip in claim.vips])
        taken = {advert.router_id for advert in heard} | {claim.router_id for claim in claims}
        for claim in claims:
            for advert in _foreign(claim, heard, wire):
                yield _note(spec.severity["vrid"], _clash(claim, advert), _way_out(spec, claim, taken))
    except OkdBaremetalError as error:
        yield Unseen(f"VRIDs {' and '.join(str(claim.router_id) for claim in claims)}: {error}")


def _foreign(claim: Claim, heard: Collection[Advert], wire: Wire) -> list[Advert]:
    """Adverts of its router id by others; in another family, the same id is another virtual router."""
    families = {ip_address(vip).version for vip in claim.vips}
    own = {address for addresses in claim.holders.values() for address in addresses}
    found = [
        advert
        for advert in heard
        if advert.router_id == claim.router_id
        and ip_address(advert.source).version in families
        and advert.source not in own
    ]
    # By IPv6 multicast a machine speaks from its link-local address, which nothing of the plan names.
    strangers = _strangers(claim, frozenset(advert.mac for advert in found), wire)
    return [advert for advert in found if advert.mac in strangers]


def _clash(claim: Claim, advert: Advert) -> str:
    vips = ", ".join(advert.vips) or "no address"
    return (
        f"VRID {claim.router_id} of the {claim.what}: advertised by {advert.source}, {described(advert.mac)}, for "
        f"{vips}, with priority {advert.priority} by VRRP version {advert.version}"
    )


def _way_out(spec: WireSpec, claim: Claim, taken: Collection[int]) -> str:
    if spec.phase == "production":
        return "have the other cluster take another one: the machines of this one keep theirs"
    first, *more = map(str, free_router_ids(taken)[:SUGGESTED])
    return f"`pulumi config set --path vrids.{claim.option} {first}` (nobody is heard on {', '.join(more)} either)"


def _names(spec: WireSpec, wire: Wire) -> Iterator[Note]:
    names = (("api", "api", spec.api), ("api-int", "api-int", spec.api), (BELOW_APPS, "*.apps", spec.ingress))
    for name, record, claim in names:
        for vip in claim.vips:
            version = ip_address(vip).version
            try:
                found = wire.resolve(f"{name}.{spec.domain}", version)
                said = ", ".join(sorted(found)) or "nothing"
            except OSError as error:
                found, said = frozenset[str](), str(error.strerror)
            if found != {vip}:
                yield _note(
                    spec.severity["dns"],
                    f"{name}.{spec.domain}: the resolver of this machine says {said}, wanted {vip} alone",
                    f"write in the site's DNS: {record}.{spec.domain}. IN {RECORD[version]} {vip}",
                )


def _note(severity: str, what: str, mend: str) -> Note:
    finding = Finding(what, mend)
    return finding if severity == "error" else Caution(str(finding))
