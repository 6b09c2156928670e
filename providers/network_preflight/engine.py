"""Checks the network before a VIP is claimed or moved: who answers it, who advertises its VRID, and what DNS says.

Behind a balancer of the site, it checks whether the balancer's addresses answer, and what DNS says. If servers boot
from the network, it checks who answers DHCP there.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address

from assets.contract import API_PORT, CONFIG_PORT
from base.errors import Fault, OwnAddressError, SegmentError
from base.shown import MOST, few
from cluster.option_types import Severity
from cluster.values.balancer import Balancer, needs_api_int
from cluster.values.phase import Phase
from cluster.values.vrrp import free_vrids
from providers.network_preflight.model import NetworkPreflightSpec, NetworkProbe, VipClaim
from providers.preflight import Finding, NotProbed, PreflightResult, PreflightWarning
from wires.segment.macs import described
from wires.segment.vrrp import Advert

BELOW_APPS = "preflight.apps"
"""A name without a record of its own: only a wildcard record answers it."""
PROBE_MAC = "02:6f:6b:64:00:00"
"""A locally administered MAC that no machine has, so the cluster's own dnsmasq, if it runs already, ignores it."""
SUGGESTED = 3
RECORD = {4: "A", 6: "AAAA"}
API_PORTS, INGRESS_PORTS = (API_PORT, CONFIG_PORT), (443, 80)
"""Ports of the site's balancer (openshift-docs, modules/nw-osp-configuring-external-load-balancer.adoc)."""


def check_network(spec: NetworkPreflightSpec, probe: NetworkProbe) -> PreflightResult:
    """Check everything, even after a finding."""
    claims = (spec.api, spec.ingress)
    if spec.balancer is Balancer.SITE:
        return PreflightResult((*_balancer(spec, probe), *_dhcp(spec, probe), *_names(spec, probe)))
    findings = [finding for claim in claims for vip in claim.vips for finding in _vip(spec, claim, vip, probe)]
    return PreflightResult((*findings, *_vrids(spec, claims, probe), *_dhcp(spec, probe), *_names(spec, probe)))


def _balancer(spec: NetworkPreflightSpec, probe: NetworkProbe) -> Iterator[Finding]:
    """Yield a fault per port that no host accepts or refuses; no backend runs yet, so a refusal proves nothing."""
    for claim, ports in ((spec.api, API_PORTS), (spec.ingress, INGRESS_PORTS)):
        for vip in claim.vips:
            for port in ports:
                if problem := probe.unanswered(vip, port):
                    yield _finding(
                        spec.severity.vip,
                        f"{claim.what} {vip}",
                        f"no host answers on TCP port {port} ({problem}), wanted the site's balancer",
                        f"have the balancer listen on {port} there, and let this machine reach it",
                    )


def _vip(spec: NetworkPreflightSpec, claim: VipClaim, vip: str, probe: NetworkProbe) -> Iterator[Finding]:
    what = f"{claim.what} {vip}"
    try:
        strangers = _strangers(claim, probe.macs_of(vip), probe)
    except OwnAddressError as error:
        yield _finding(spec.severity.vip, what, error.fault.what, error.fault.fix)
        return
    except SegmentError as error:
        yield NotProbed(f"{what}: {error}")
        return
    if strangers:
        machines = " and ".join(few(map(described, strangers)))
        yield _finding(
            spec.severity.vip,
            what,
            f"answered by {machines}, wanted only {', '.join(claim.holders)}",
            _fix_of_stranger(spec),
        )


def held_by_leaving(
    spec: NetworkPreflightSpec, leaving: Mapping[str, Collection[str]], probe: NetworkProbe
) -> Iterator[Fault]:
    """Yield a fault for each Ingress VIP that compute holds which has left the install-config: its drain has failed.

    Args:
        spec: The network of the compute that stays.
        leaving: The addresses of the compute that has left, by name.
        probe: Probes of the network.
    """
    for vip in spec.ingress.vips if leaving and spec.balancer is not Balancer.SITE else ():
        with suppress(SegmentError):  # which the preflight says itself
            macs = probe.macs_of(vip)
            for name, addresses in leaving.items():
                if macs & frozenset[str]().union(*map(probe.macs_of, addresses)):
                    what = f"held by {name}, which has left the install-config"
                    fix = "if its drain has failed, run `pulumi up` again, which goes on with it; else switch it off"
                    yield Fault(f"{spec.ingress.what} {vip}", what, fix)


def _fix_of_stranger(spec: NetworkPreflightSpec) -> str:
    find = "the switch shows the port of its MAC"
    if spec.phase is not Phase.BOOTSTRAP:
        return f"remove the address from that machine: the installed nodes keep it; {find}"
    return f"if the address is that machine's own, choose another VIP; else remove it from that machine: {find}"


def _strangers(claim: VipClaim, macs: frozenset[str], probe: NetworkProbe) -> frozenset[str]:
    """Return the MACs that belong to no machine that may hold the VIP."""
    strangers = macs - frozenset(claim.macs)
    families = {ip_address(vip).version for vip in claim.vips}
    for address in (address for addresses in claim.holders.values() for address in addresses):
        if strangers and ip_address(address).version in families:
            strangers -= probe.macs_of(address)
    return strangers


def _vrids(spec: NetworkPreflightSpec, claims: Sequence[VipClaim], probe: NetworkProbe) -> Iterator[Finding]:
    try:
        adverts = probe.adverts([vip for claim in claims for vip in claim.vips])
        taken = {advert.vrid for advert in adverts} | {claim.router_id for claim in claims}
        for claim in claims:
            for advert in _foreign(claim, adverts, probe)[:MOST]:
                where = f"VRID {claim.router_id} of the {claim.what}"
                yield _finding(spec.severity.vrid, where, _clash(advert), _fix_of(spec, claim, taken))
    except SegmentError as error:
        yield NotProbed(f"VRIDs {' and '.join(str(claim.router_id) for claim in claims)}: {error}")


def _foreign(claim: VipClaim, adverts: Collection[Advert], probe: NetworkProbe) -> list[Advert]:
    """Return other machines' adverts of the claim's VRID; in another family, the same VRID is another router."""
    families = {ip_address(vip).version for vip in claim.vips}
    own = {address for addresses in claim.holders.values() for address in addresses}
    foreign = [
        advert
        for advert in adverts
        if advert.vrid == claim.router_id
        and ip_address(advert.source).version in families
        and advert.source not in own
    ]
    # Over IPv6 multicast, a machine advertises from its link-local address, which the plan does not know.
    strangers = _strangers(claim, frozenset(advert.mac for advert in foreign), probe)
    return [advert for advert in foreign if advert.mac in strangers]


def _clash(advert: Advert) -> str:
    vips = ", ".join(few(advert.vips)) or "no address"
    return (
        f"advertised by {advert.source}, {described(advert.mac)}, for "
        f"{vips}, with priority {advert.priority} by VRRP version {advert.version}"
    )


def _fix_of(spec: NetworkPreflightSpec, claim: VipClaim, taken: Collection[int]) -> str:
    if spec.phase is Phase.PRODUCTION:
        return "give the other cluster another VRID: the installed machines of this one keep theirs"
    first, *more = map(str, free_vrids(taken)[:SUGGESTED])
    return f"`pulumi config set --path vrids.{claim.option} {first}` ({' and '.join(more)} are free too)"


def _dhcp(spec: NetworkPreflightSpec, probe: NetworkProbe) -> Iterator[Finding]:
    if not (segment := spec.provisioning):
        return
    where, managed = f"DHCP on {segment.bridge}", segment.mode == "Managed"
    if segment.is_ipv6:
        yield NotProbed(f"{where}: this program asks by IPv4 only")
        return
    mac = PROBE_MAC if managed else segment.macs[0]
    try:
        offers = probe.dhcp_offers(segment.bridge, mac)
    except SegmentError as error:
        yield NotProbed(f"{where}: {error}")
        return
    if managed:
        for offer in sorted(offers)[:MOST]:
            what = f"answered by {offer.server}, {described(offer.mac)}, wanted only this cluster's own server"
            fix = "write provisioningNetwork: Unmanaged if it is the site's; else remove it from this network"
            yield _finding(spec.severity.dhcp, where, what, fix)
    elif not offers:
        what = f"no server answers a PXE client with MAC {mac}, wanted the site's DHCP server"
        fix = "let it serve that MAC; `okd-baremetal network-boot` prints its configuration"
        yield _finding(spec.severity.dhcp, where, what, fix)


def _names(spec: NetworkPreflightSpec, probe: NetworkProbe) -> Iterator[Finding]:
    # Mostly not api-int: the machines ask the API VIP for it first (assets/keyfiles.py), and nobody else uses it.
    internal = (("api-int", "api-int", spec.api),) if needs_api_int(spec.balancer, spec.platform) else ()
    names = (("api", "api", spec.api), *internal, (BELOW_APPS, "*.apps", spec.ingress))
    for name, record, claim in names:
        for vip in claim.vips:
            version = ip_address(vip).version
            try:
                addresses = probe.resolve(f"{name}.{spec.domain}", version)
                answer = ", ".join(few(addresses)) or "nothing"
            except OSError as error:
                addresses, answer = frozenset[str](), str(error.strerror)
            if addresses != {vip}:
                change = "replace those in the site's DNS by" if addresses else "add to the site's DNS"
                yield _finding(
                    spec.severity.dns,
                    f"{name}.{spec.domain}",
                    f"the resolver of this machine answers {answer}, wanted only {vip}",
                    f"{change}: {record}.{spec.domain}. IN {RECORD[version]} {vip}",
                )


def _finding(severity: Severity, where: str, what: str, fix: str) -> Finding:
    fault = Fault(where, what, fix)
    return fault if severity == "error" else PreflightWarning(fault)
