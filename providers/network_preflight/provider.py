"""Pulumi's calls for `NetworkPreflight`."""

from collections.abc import Iterator

from base.errors import Fault
from cluster.installed import NODES, VRRP, fixed
from cluster.values.balancer import Balancer
from cluster.values.phase import Phase
from providers.network_preflight.engine import check_network, held_by_leaving
from providers.network_preflight.model import NetworkPreflightOuts, NetworkPreflightSpec, VipClaim
from providers.network_preflight.probe import LocalNetworkProbe
from providers.preflight import PreflightResult
from providers.pulumi.dynamic import Provider
from providers.pulumi.plugin import row, warnings


class NetworkPreflightProvider(Provider[NetworkPreflightSpec, NetworkPreflightOuts]):
    """Create and update check the network, read checks it and warns, delete does nothing."""

    def _faults(self, old: NetworkPreflightSpec | None, new: NetworkPreflightSpec) -> Iterator[Fault]:
        if old and new.phase is Phase.PRODUCTION:
            for before, now in new.claims_since(old):
                yield from fixed(f"platform.baremetal.{now.field}", _listed(before), _listed(now), NODES)
                if new.balancer is not Balancer.SITE or now is new.provisioning_vip:
                    yield from _vrrp_faults(before, now)

    def _create(self, spec: NetworkPreflightSpec) -> tuple[str, NetworkPreflightOuts]:
        return "network", _checked(spec)

    def _update(
        self, old: NetworkPreflightSpec, outs: NetworkPreflightOuts, new: NetworkPreflightSpec
    ) -> NetworkPreflightOuts:
        leaving = new.left_since(old, outs) if new.phase is Phase.PRODUCTION else {}
        return _checked(new.before_leaving(leaving)).changed(leaving=leaving)

    def _read(self, spec: NetworkPreflightSpec, outs: NetworkPreflightOuts) -> NetworkPreflightOuts:
        warn = warnings(spec.urn)
        for line in _result(spec.before_leaving(outs.leaving)).lines():
            warn(line)
        for fault in held_by_leaving(spec, outs.leaving, LocalNetworkProbe(row(spec.urn))):
            warn(str(fault))
        return outs


def _listed(claim: VipClaim) -> str:
    return ", ".join(claim.vips)


def _vrrp_faults(before: VipClaim, now: VipClaim) -> Iterator[Fault]:
    yield from fixed(f"vrids.{now.option}", before.router_id, now.router_id, VRRP)
    if before.transport:
        yield from fixed(f"vrrp.{now.option}", before.transport, now.transport, VRRP)


def _checked(spec: NetworkPreflightSpec) -> NetworkPreflightOuts:
    result = _result(spec)
    result.refuse("the network", "nothing was started, no VIP moved")
    result.report(warnings(spec.urn), row(spec.urn))
    return NetworkPreflightOuts(warnings=result.warnings, unseen=result.not_probed)


def _result(spec: NetworkPreflightSpec) -> PreflightResult:
    return check_network(spec, LocalNetworkProbe(row(spec.urn)))
