"""Pulumi's calls for `NetworkPreflight`."""

from collections.abc import Iterator

from base.errors import Fault
from cluster.installed import VRRP, fixed
from cluster.options import Phase
from cluster.values.balancer import Balancer
from providers.network_preflight.engine import check_network
from providers.network_preflight.model import NetworkPreflightOuts, NetworkPreflightSpec
from providers.network_preflight.probe import LocalNetworkProbe
from providers.preflight import PreflightResult
from providers.pulumi.dynamic import Provider
from providers.pulumi.plugin import row, warnings


class NetworkPreflightProvider(Provider[NetworkPreflightSpec, NetworkPreflightOuts]):
    """Create and update check the network, read checks it and warns, delete does nothing."""

    def _faults(self, old: NetworkPreflightSpec | None, new: NetworkPreflightSpec) -> Iterator[Fault]:
        if old and new.phase is Phase.PRODUCTION and new.balancer is Balancer.CLUSTER:
            for before, now in ((old.api, new.api), (old.ingress, new.ingress)):
                yield from fixed(f"vrids.{now.option}", before.router_id, now.router_id, VRRP)

    def _create(self, spec: NetworkPreflightSpec) -> tuple[str, NetworkPreflightOuts]:
        return "network", _checked(spec)

    def _update(
        self, old: NetworkPreflightSpec, outs: NetworkPreflightOuts, new: NetworkPreflightSpec
    ) -> NetworkPreflightOuts:
        return _checked(new)

    def _read(self, spec: NetworkPreflightSpec, outs: NetworkPreflightOuts) -> NetworkPreflightOuts:
        warn = warnings(spec.urn)
        for line in _result(spec).lines():
            warn(line)
        return outs


def _checked(spec: NetworkPreflightSpec) -> NetworkPreflightOuts:
    result = _result(spec)
    result.refuse("the network", "nothing was started, no VIP moved")
    result.report(warnings(spec.urn), row(spec.urn))
    return NetworkPreflightOuts(warnings=result.warnings, unseen=result.not_probed)


def _result(spec: NetworkPreflightSpec) -> PreflightResult:
    return check_network(spec, LocalNetworkProbe(row(spec.urn)))
