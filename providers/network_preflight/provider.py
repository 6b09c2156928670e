"""Pulumi's calls for `NetworkPreflight`."""

from providers.network_preflight.engine import check_network
from providers.network_preflight.model import NetworkPreflightOuts, NetworkPreflightSpec
from providers.network_preflight.probe import LocalNetworkProbe
from providers.preflight import PreflightResult
from providers.pulumi.dynamic import Provider
from providers.pulumi.plugin import row, warnings


class NetworkPreflightProvider(Provider[NetworkPreflightSpec, NetworkPreflightOuts]):
    """Create and update check the network, read checks it and warns, delete does nothing."""

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
