"""RPC shell of `WirePreflight`."""

from typing import Any

from providers.base.dynamic import Props, Provider
from providers.base.progress import row, warnings
from providers.base.verdict import Verdict
from providers.network_preflight.engine import Claim, WireSpec, judge
from providers.network_preflight.segment import HostWire


class WirePreflightProvider(Provider):
    """Looks and judges; owns nothing."""

    def _create(self, props: Props) -> tuple[str, Props]:
        return "wire", self._update("", {}, props)

    def _update(self, id_: str, olds: Props, news: Props) -> Props:
        verdict = _verdict(news)
        verdict.refuse("the network", "nothing was started, no VIP moved")
        verdict.tell(warnings(news["urn"]), row(news["urn"]))
        return {"warnings": verdict.warnings, "unseen": verdict.unseen}

    def _read(self, id_: str, props: Props) -> Props:
        warn = warnings(props["urn"])
        for line in _verdict(props).lines():
            warn(line)
        return {}


def _verdict(props: Props) -> Verdict:
    spec = WireSpec(
        phase=props["phase"],
        domain=props["domain"],
        api=_claim(props["api"]),
        ingress=_claim(props["ingress"]),
        severity=props["severity"],
    )
    return judge(spec, HostWire(row(props["urn"])))


def _claim(given: dict[str, Any]) -> Claim:
    return Claim(**{**given, "router_id": int(given["router_id"])})
