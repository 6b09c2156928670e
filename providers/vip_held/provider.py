"""RPC shell of `VipHeld`."""

from providers.base.clock import SYSTEM_CLOCK
from providers.base.dynamic import Props, Provider
from providers.base.progress import row, warnings
from providers.vip_held.engine import VipHeldEngine
from wires.segment.neighbours import macs_at, unproven


class VipHeldProvider(Provider):
    """Proves the holder; owns nothing."""

    def _create(self, props: Props) -> tuple[str, Props]:
        return props["vip"], self._update("", {}, props)

    def _update(self, id_: str, olds: Props, news: Props) -> Props:
        if said := unproven():
            warnings(news["urn"])(said)
        holder, macs = _engine(news).prove(deadline_s=news["deadline_s"])
        return {"holder": holder, "macs": macs, "unproven": said}

    def _read(self, id_: str, props: Props) -> Props:
        holder, macs = _engine(props).holder()
        if not macs:
            print(f"VIP {props['vip']}: nobody answers it now; kept what was known", flush=True)
            return {}
        return {"holder": holder, "macs": macs}


def _engine(props: Props) -> VipHeldEngine:
    return VipHeldEngine(props["vip"], props["nodes"], macs_at, SYSTEM_CLOCK, row(props["urn"]))
