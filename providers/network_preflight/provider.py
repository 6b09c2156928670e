"""Pulumi's calls for `NetworkPreflight`."""

from base.spec import Outs
from providers.network_preflight.engine import judge
from providers.network_preflight.model import NetworkPreflightSpec
from providers.network_preflight.probe import LocalNetworkProbe
from providers.preflight import Verdict
from providers.pulumi.dynamic import Provider
from providers.pulumi.plugin import row, warnings


class NetworkPreflightOuts(Outs):
    """Findings of the preflight."""

    warnings: list[str] = []
    """Findings that did not stop `up`, one line each."""
    unseen: list[str] = []
    """Things that the preflight could not probe, and why."""


class NetworkPreflightProvider(Provider[NetworkPreflightSpec, NetworkPreflightOuts]):
    """Create and update probe and judge, read probes and warns, delete does nothing."""

    def _create(self, spec: NetworkPreflightSpec) -> tuple[str, NetworkPreflightOuts]:
        return "network", _judged(spec)

    def _update(
        self, old: NetworkPreflightSpec, outs: NetworkPreflightOuts, new: NetworkPreflightSpec
    ) -> NetworkPreflightOuts:
        return _judged(new)

    def _read(self, spec: NetworkPreflightSpec, outs: NetworkPreflightOuts) -> NetworkPreflightOuts:
        warn = warnings(spec.urn)
        for line in _verdict(spec).lines():
            warn(line)
        return outs


def _judged(spec: NetworkPreflightSpec) -> NetworkPreflightOuts:
    verdict = _verdict(spec)
    verdict.refuse("the network", "nothing was started, no VIP moved")
    verdict.report(warnings(spec.urn), row(spec.urn))
    return NetworkPreflightOuts(warnings=verdict.warnings, unseen=verdict.unseen)


def _verdict(spec: NetworkPreflightSpec) -> Verdict:
    return judge(spec, LocalNetworkProbe(row(spec.urn)))
