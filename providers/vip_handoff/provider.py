"""RPC shell of `VipHandoff`: wires the engine to ARP, HTTPS and libvirt."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from payload.checks import read_payload
from payload.kubeconfig import api_ca, read_kubeconfig
from providers.base.clock import SYSTEM_CLOCK
from providers.base.dynamic import Props, Provider, is_known
from providers.base.errors import OkdBaremetalError
from providers.base.lock import held
from providers.base.progress import row, warnings
from providers.vip_handoff.checks import holder_of
from providers.vip_handoff.engine import HandoffEngine
from providers.vip_handoff.model import UNMEASURED, Cluster
from providers.vip_handoff.okd import Okd
from wires.api.api import API_PORT, Api
from wires.api.client import VipClient
from wires.api.https import connect_problem
from wires.libvirt.connection import connected
from wires.libvirt.shutdown import stop
from wires.segment.neighbours import macs_at, unproven

MEASURED = ("completion", "timeline", "holders", "seconds", *UNMEASURED)
"""Outputs that tell of the move, and stay as they are after it."""


@dataclass(frozen=True)
class Lan:
    """The engine's `Segment`, seen from this machine."""

    vips: tuple[str, ...]
    api: Api

    def vip_macs(self) -> tuple[frozenset[str], ...]:
        """See `Segment`."""
        return tuple(map(macs_at, self.vips))

    def macs_of(self, address: str) -> frozenset[str]:
        """See `Segment`."""
        return macs_at(address, wait_s=0.1)

    def problem(self, address: str) -> str | None:
        """See `Segment`."""
        return self.api.problem(address)

    def serves_config(self, address: str) -> bool:
        """See `Segment`."""
        return self.api.serves_config(address)


@dataclass(frozen=True)
class BootstrapGuest:
    """The engine's `Guest`, over libvirt."""

    uri: str
    name: str
    urn: str
    deadline_s: float

    def say(self, word: str) -> str:
        """See `Guest`."""
        with connected(self.uri) as hypervisor:
            return hypervisor.ask(self.name, word)

    def stop(self) -> None:
        """See `Guest`."""
        with connected(self.uri) as hypervisor:
            stop(hypervisor, self.name, deadline_s=self.deadline_s, clock=SYSTEM_CLOCK, report=row(self.urn))


@dataclass(frozen=True)
class MeasuringClient:
    """The engine's `Client`: one per VIP."""

    clients: tuple[VipClient, ...]

    def figures(self, started: float) -> dict[str, Any]:
        """See `Client`."""
        connects = [client.connects for client in self.clients]
        requests = [client.requests for client in self.clients]
        both = [*connects, *requests]
        worst = max(connects, key=lambda each: each.gap_ms)
        return {
            "gap_ms": round(worst.gap_ms),
            "gap_at_s": round(worst.gap_began - started, 2) if worst.gap_ms else None,
            "probes_sent": sum(each.tried for each in both),
            "probes_failed": sum(each.failed for each in both),
            "felt": {
                "connects_tried": sum(each.tried for each in connects),
                "connects_failed": sum(each.failed for each in connects),
                "connects_broken_in_flight": sum(each.retried for each in connects),
                "requests_tried": sum(each.tried for each in requests),
                "requests_failed_after_retry": sum(each.failed for each in requests),
                "requests_broken_in_flight": sum(each.retried for each in requests),
                "problems": [problem for each in both for problem in each.problems],
            },
        }


@contextmanager
def measuring(vips: tuple[str, ...], api: Api) -> Iterator[MeasuringClient]:
    """Clients of all VIPs at work."""
    with ExitStack() as stack:
        yield MeasuringClient(
            tuple(
                stack.enter_context(VipClient(partial(connect_problem, vip, API_PORT), partial(api.problem, vip)))
                for vip in vips
            )
        )


class VipHandoffProvider(Provider):
    """Proves the VIP's holder in phase `bootstrap`, moves it on the way to `production`, owns nothing."""

    def _problems(self, olds: Props, news: Props) -> list[tuple[str, str]]:
        phase = news.get("phase")
        if not is_known(phase):
            return []
        if olds.get("phase") == "production" and phase == "bootstrap":
            return [
                ("phase", "production is behind you: there is no way back to bootstrap. Set it to production again")
            ]
        if not olds and phase == "production" and not news.get("import_production"):
            why = "the stack is empty: start with phase bootstrap, or (its state was lost) set import_production"
            return [("phase", why)]
        return []

    def _create(self, props: Props) -> tuple[str, Props]:
        return ",".join(props["vips"]), self._update("", {"phase": props["phase"]}, props)

    def _update(self, id_: str, olds: Props, news: Props) -> Props:
        engine = _engine(news)
        if said := unproven():
            warnings(news["urn"])(said)
        with held(_name(news)):
            if news["phase"] == "bootstrap":
                outs = engine.prove_bootstrap()
            elif olds["phase"] == "production":
                outs = engine.prove_control_plane() | {name: olds[name] for name in MEASURED if name in olds}
            else:
                outs = engine.move()
        return {**outs, "unproven": said}

    def _delete(self, id_: str, props: Props) -> None:
        """In phase `bootstrap` the cluster is ended: nobody shall take the VIP, so that the VM may be deleted."""
        if props["phase"] == "bootstrap":
            _guest(props).stop()

    def _read(self, id_: str, props: Props) -> Props:
        # A refresh needs no payload at hand: it asks the wire alone.
        try:
            seen = tuple(macs_at(vip, wait_s=1) for vip in props["vips"])
            holder = holder_of(seen, _cluster(props), macs_at)
        except OkdBaremetalError as error:
            print(f"{_name(props)}: not seen: {error}; kept what was known", flush=True)
            return {}
        macs = sorted(frozenset[str]().union(*seen))
        if not macs:
            print(f"{_name(props)}: nobody answers it now; kept what was known", flush=True)
            return {}
        print(f"{_name(props)}: held by {holder or 'no one machine'}, {len(macs)} MACs answer", flush=True)
        return {"holder": holder, "mac": macs[0] if holder else None, "macs": macs}


def _name(props: Props) -> str:
    return f"VIP {' and '.join(props['vips'])}"


def _cluster(props: Props) -> Cluster:
    given = {field.name: props[field.name] for field in fields(Cluster)}
    return Cluster(**{**given, "vips": tuple(props["vips"])})


def _engine(props: Props) -> HandoffEngine:
    cluster = _cluster(props)
    kubeconfig = read_kubeconfig(props["stack"])
    payload = read_payload(props["stack"], "master", props["payload_sha256"])
    api = Api(props["domain"], api_ca(payload, kubeconfig))
    signal = Okd(kubeconfig.api(props["domain"])).missing if kubeconfig else None
    client = partial(measuring, cluster.vips, api)
    lan, guest = Lan(cluster.vips, api), _guest(props)
    return HandoffEngine(cluster, lan, guest, signal, client, SYSTEM_CLOCK, row(props["urn"]))


def _guest(props: Props) -> BootstrapGuest:
    return BootstrapGuest(props["libvirt_uri"], props["bootstrap_name"], props["urn"], props["shutdown_s"])
