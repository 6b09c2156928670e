"""Judges the network before a VIP is claimed or moved: who answers it, who advertises its VRID, and what DNS says.

With a balancer of the site, whether its addresses answer, and what DNS says. If servers boot from the network, who
answers DHCP there.
"""

from collections.abc import Collection, Iterator, Sequence
from ipaddress import ip_address

from assets.contract import API_PORT, CONFIG_PORT
from base.errors import Fault, SegmentError
from cluster.options import Phase, Severity
from cluster.values.balancer import Balancer
from cluster.values.vrrp import free_router_ids
from providers.network_preflight.model import NetworkPreflightSpec, NetworkProbe, VipClaim
from providers.preflight import Caution, Note, Unseen, Verdict
from wires.segment.macs import described
from wires.segment.vrrp import Advert

BELOW_APPS = "preflight.apps"
"""A name without a record of its own: only a wildcard record answers it."""
NOBODYS_MAC = "02:6f:6b:64:00:00"
"""MAC of no machine, locally administered: so our own dnsmasq, wherever it runs already, ignores it."""
SUGGESTED = 3
RECORD = {4: "A", 6: "AAAA"}
API_PORTS, INGRESS_PORTS = (API_PORT, CONFIG_PORT), (443, 80)
"""Ports of the site's balancer (openshift-docs, modules/nw-osp-configuring-external-load-balancer.adoc)."""


def judge(spec: NetworkPreflightSpec, probe: NetworkProbe) -> Verdict:
    """Probe and judge everything, even after a finding."""
    claims = (spec.api, spec.ingress)
    if spec.balancer is Balancer.SITE:
        return Verdict((*_balancer(spec, probe), *_dhcp(spec, probe), *_names(spec, probe)))
    notes = [note for claim in claims for vip in claim.vips for note in _vip(spec, claim, vip, probe)]
    return Verdict((*notes, *_router_ids(spec, claims, probe), *_dhcp(spec, probe), *_names(spec, probe)))


def _balancer(spec: NetworkPreflightSpec, probe: NetworkProbe) -> Iterator[Note]:
    """Yield a fault per port that no host accepts or refuses; no backend runs yet, so a refusal proves nothing."""
    for claim, ports in ((spec.api, API_PORTS), (spec.ingress, INGRESS_PORTS)):
        for vip in claim.vips:
            for port in ports:
                if problem := probe.unanswered(vip, port):
                    yield _note(
                        spec.severity.vip,
                        f"{claim.what} {vip}",
                        f"no host answers on TCP port {port} ({problem}), wanted the site's balancer",
                        f"have the balancer listen on {port} there, and let this machine reach it",
                    )


def _vip(spec: NetworkPreflightSpec, claim: VipClaim, vip: str, probe: NetworkProbe) -> Iterator[Note]:
    what = f"{claim.what} {vip}"
    try:
        strangers = _strangers(claim, probe.macs_of(vip), probe)
    except SegmentError as error:
        yield Unseen(f"{what}: {error}")
        return
    if strangers:
        seen = " and ".join(map(described, sorted(strangers)))
        yield _note(
            spec.severity.vip,
            what,
            f"answered by {seen}, wanted nobody but {', '.join(claim.holders)}",
            "switch that machine off, or remove the address from it; the switch shows the port of its MAC",
        )


def _strangers(claim: VipClaim, macs: frozenset[str], probe: NetworkProbe) -> frozenset[str]:
    """Return the MACs that belong to no machine that may hold the VIP."""
    left = macs - frozenset(claim.macs)
    families = {ip_address(vip).version for vip in claim.vips}
    for address in (address for addresses in claim.holders.values() for address in addresses):
        if left and ip_address(address).version in families:
            left -= probe.macs_of(address)
    return left


def _router_ids(spec: NetworkPreflightSpec, claims: Sequence[VipClaim], probe: NetworkProbe) -> Iterator[Note]:
    try:
        adverts = probe.adverts([vip for claim in claims for vip in claim.vips])
        taken = {advert.router_id for advert in adverts} | {claim.router_id for claim in claims}
        for claim in claims:
            for advert in _foreign(claim, adverts, probe):
                where = f"VRID {claim.router_id} of the {claim.what}"
                yield _note(spec.severity.vrid, where, _clash(advert), _fix_of(spec, claim, taken))
    except SegmentError as error:
        yield Unseen(f"VRIDs {' and '.join(str(claim.router_id) for claim in claims)}: {error}")


def _foreign(claim: VipClaim, adverts: Collection[Advert], probe: NetworkProbe) -> list[Advert]:
    """Return other machines' adverts of the claim's VRID; in another family, the same VRID is another router."""
    families = {ip_address(vip).version for vip in claim.vips}
    own = {address for addresses in claim.holders.values() for address in addresses}
    found = [
        advert
        for advert in adverts
        if advert.router_id == claim.router_id
        and ip_address(advert.source).version in families
        and advert.source not in own
    ]
    # Over IPv6 multicast, a machine advertises from its link-local address, which the plan does not know.
    strangers = _strangers(claim, frozenset(advert.mac for advert in found), probe)
    return [advert for advert in found if advert.mac in strangers]


def _clash(advert: Advert) -> str:
    vips = ", ".join(advert.vips) or "no address"
    return (
        f"advertised by {advert.source}, {described(advert.mac)}, for "
        f"{vips}, with priority {advert.priority} by VRRP version {advert.version}"
    )


def _fix_of(spec: NetworkPreflightSpec, claim: VipClaim, taken: Collection[int]) -> str:
    if spec.phase is Phase.PRODUCTION:
        return "give the other cluster another VRID: the installed machines of this one keep theirs"
    first, *more = map(str, free_router_ids(taken)[:SUGGESTED])
    return f"`pulumi config set --path vrids.{claim.option} {first}` (nobody advertises {', '.join(more)} either)"


def _dhcp(spec: NetworkPreflightSpec, probe: NetworkProbe) -> Iterator[Note]:
    if not (segment := spec.provisioning):
        return
    where, managed = f"DHCP on {segment.bridge}", segment.mode == "Managed"
    mac = NOBODYS_MAC if managed else segment.macs[0]
    try:
        offers = probe.dhcp_offers(segment.bridge, mac)
    except SegmentError as error:
        yield Unseen(f"{where}: {error}")
        return
    if managed:
        for offer in sorted(offers):
            what = f"answered by {offer.server}, {described(offer.mac)}, wanted nobody but this cluster's own"
            fix = "switch that DHCP server off there, or write provisioningNetwork: Unmanaged"
            yield _note(spec.severity.dhcp, where, what, fix)
    elif not offers:
        what = f"nobody answers a PXE client of MAC {mac}, wanted the site's DHCP server"
        fix = "let it serve that MAC; `okd-baremetal network-boot` prints its configuration"
        yield _note(spec.severity.dhcp, where, what, fix)


def _names(spec: NetworkPreflightSpec, probe: NetworkProbe) -> Iterator[Note]:
    # Not api-int: the machines ask the API VIP for it first (assets/keyfiles.py), and nobody else uses it. But the
    # site's balancer answers no DNS, and a server's first boot needs api-int.
    internal = (("api-int", "api-int", spec.api),) if spec.balancer is Balancer.SITE else ()
    names = (("api", "api", spec.api), *internal, (BELOW_APPS, "*.apps", spec.ingress))
    for name, record, claim in names:
        for vip in claim.vips:
            version = ip_address(vip).version
            try:
                found = probe.resolve(f"{name}.{spec.domain}", version)
                answer = ", ".join(sorted(found)) or "nothing"
            except OSError as error:
                found, answer = frozenset[str](), str(error.strerror)
            if found != {vip}:
                yield _note(
                    spec.severity.dns,
                    f"{name}.{spec.domain}",
                    f"the resolver of this machine answers {answer}, wanted {vip} alone",
                    f"add to the site's DNS: {record}.{spec.domain}. IN {RECORD[version]} {vip}",
                )


def _note(severity: Severity, where: str, what: str, fix: str) -> Note:
    fault = Fault(where, what, fix)
    return fault if severity == "error" else Caution(fault)
