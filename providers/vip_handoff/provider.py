"""RPC shell of `VipHandoff`: wires the engine to ARP, HTTPS and libvirt."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

from assets.payload import payload_ca, read_payload
from providers.clock import SYSTEM_CLOCK
from providers.dynamic import Props, Provider, is_known
from providers.hypervisor.libvirt_wire import connected
from providers.hypervisor.shutdown import stop
from providers.lock import held
from providers.probe.api import API_PORT, Api
from providers.probe.client import VipClient
from providers.probe.https import connect_problem
from providers.probe.neighbours import answering_macs, interface_to
from providers.progress import row
from providers.vip_handoff.engine import Cluster, HandoffEngine, holder_of


@dataclass(frozen=True)
class Lan:
    """The engine's `Segment`, seen over one interface."""

    interface: str
    vip: str
    api: Api

    def vip_macs(self) -> frozenset[str]:
        """See `Segment`."""
        return answering_macs(self.interface, self.vip)

    def macs_of(self, address: str) -> frozenset[str]:
        """See `Segment`."""
        return answering_macs(self.interface, address, wait_s=0.1)

    def is_ready(self, address: str) -> bool:
        """See `Segment`."""
        return self.api.is_ready(address)

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
    """The engine's `Client`."""

    client: VipClient

    def figures(self) -> dict[str, Any]:
        """See `Client`."""
        connects_, requests = self.client.connects, self.client.requests
        return {
            "connects_tried": connects_.tried,
            "connects_failed": connects_.failed,
            "connects_broken_in_flight": connects_.retried,
            "gap_ms": round(connects_.gap_ms),
            "requests_tried": requests.tried,
            "requests_failed_after_retry": requests.failed,
            "requests_broken_in_flight": requests.retried,
            "problems": [*connects_.problems, *requests.problems],
        }


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
        engine = _engine(props)
        with held(f"VIP {props['vip']}"):
            outs = engine.prove_bootstrap() if props["phase"] == "bootstrap" else engine.prove_control_plane()
        return props["vip"], outs

    def _update(self, id_: str, olds: Props, news: Props) -> Props:
        engine = _engine(news)
        with held(f"VIP {news['vip']}"):
            if news["phase"] == "bootstrap":
                return engine.prove_bootstrap()
            if olds["phase"] == "production":
                return {**engine.prove_control_plane(), "felt": olds.get("felt"), "timeline": olds.get("timeline")}
            guest = BootstrapGuest(news["libvirt_uri"], news["bootstrap_name"], news["urn"], news["shutdown_s"])
            return engine.move(guest, lambda: _client(news, _lan(news)))

    def _read(self, id_: str, props: Props) -> Props:
        # A refresh needs no payload at hand: it asks the wire alone.
        interface = interface_to(props["vip"])
        macs = answering_macs(interface, props["vip"], wait_s=1)
        if not macs:
            print(f"VIP {props['vip']}: nobody answers it now; kept what was known", flush=True)
            return {}
        holder = holder_of(macs, _cluster(props), lambda address: answering_macs(interface, address))
        return {"holder": holder, "macs": sorted(macs)}


@contextmanager
def _client(props: Props, lan: Lan) -> Iterator[MeasuringClient]:
    def connect() -> str | None:
        return connect_problem(props["vip"], API_PORT)

    with VipClient(connect, lambda: lan.api.problem(props["vip"])) as client:
        yield MeasuringClient(client)


def _lan(props: Props) -> Lan:
    ca_pem = payload_ca(read_payload(props["stack"], "master", props["payload_sha256"]))
    return Lan(interface_to(props["vip"]), props["vip"], Api(props["domain"], ca_pem))


def _cluster(props: Props) -> Cluster:
    return Cluster(**{field.name: props[field.name] for field in fields(Cluster)})


def _engine(props: Props) -> HandoffEngine:
    return HandoffEngine(_cluster(props), _lan(props), SYSTEM_CLOCK, row(props["urn"]))
