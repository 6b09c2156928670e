"""Pulumi's calls for `VipHeld`."""

from functools import partial

from assets.contract import INGRESS_PORT
from base.clock import SYSTEM_CLOCK
from base.errors import OkdBaremetalError
from base.shown import MOST
from cluster.values.balancer import Balancer
from providers.pulumi.dynamic import Provider
from providers.pulumi.plugin import row, warnings
from providers.vip_held.engine import VipHeldEngine
from providers.vip_held.model import VipHeldOuts, VipHeldSpec
from wires.api.https import handshake_problem
from wires.segment.neighbours import macs_at, unproven
from wires.shown_certificate import expiry_warning


class VipHeldProvider(Provider[VipHeldSpec, VipHeldOuts]):
    """Create and update prove the holder, read probes it, delete does nothing."""

    def _create(self, spec: VipHeldSpec) -> tuple[str, VipHeldOuts]:
        return spec.vip, _proven(spec)

    def _update(self, old: VipHeldSpec, outs: VipHeldOuts, new: VipHeldSpec) -> VipHeldOuts:
        return _proven(new)

    def _read(self, spec: VipHeldSpec, outs: VipHeldOuts) -> VipHeldOuts:
        warn = warnings(spec.urn)
        if soon := expiry_warning(spec.vip, INGRESS_PORT):
            warn(f"VIP {spec.vip}: the certificate of the router {soon}")
        if spec.balancer is Balancer.SITE:
            if problem := handshake_problem(spec.vip, INGRESS_PORT):
                warn(f"VIP {spec.vip}: no router serves there now ({problem})")
            return outs
        try:
            holder, macs = _engine(spec).holder()
        except OkdBaremetalError as error:
            warn(f"VIP {spec.vip}: could not be probed; the recorded holder stays: {error}")
            return outs
        if not macs:
            warn(f"VIP {spec.vip}: no machine answers it now; the recorded holder stays")
            return outs
        return VipHeldOuts(holder=holder, macs=macs[:MOST], unproven=outs.unproven)


def _proven(spec: VipHeldSpec) -> VipHeldOuts:
    # The site's balancer is probed only over TCP.
    if blind_spot := None if spec.balancer is Balancer.SITE else unproven():
        warnings(spec.urn)(blind_spot)
    holder, macs = _engine(spec).prove(deadline_s=spec.deadline_s)
    return VipHeldOuts(holder=holder, macs=macs, unproven=blind_spot)


def _engine(spec: VipHeldSpec) -> VipHeldEngine:
    router = partial(handshake_problem, port=INGRESS_PORT)
    return VipHeldEngine(spec.vip, spec.nodes, macs_at, router, SYSTEM_CLOCK, row(spec.urn), spec.balancer)
