"""The cluster as the provisioner sees it, moved by a fake clock: who answers, what is ready, what was said."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from providers.errors import HypervisorError
from providers.vip_handoff.engine import Cluster
from tests.fakes.clock import FakeClock

VIP = "192.0.2.5"
BOOTSTRAP = "52:54:00:00:00:10"
NODES = {"master-0": "192.0.2.21", "master-1": "192.0.2.22", "master-2": "192.0.2.23"}
MACS = {address: f"52:54:00:00:00:{address[-2:]}" for address in NODES.values()}
STRANGER = "0a:00:00:00:00:01"
NEVER = float("inf")

CLUSTER = Cluster(
    vip=VIP,
    bootstrap_name="okd-bootstrap",
    bootstrap_mac=BOOTSTRAP,
    nodes=NODES,
    stable_s=30,
    soak_s=20,
    deadline_s=600,
    bootstrap_s=300,
)


@dataclass
class FakeLan:
    """Implements the `Segment`, `Guest` and `Client` of `providers.vip_handoff.engine`.

    Args:
        macs: Who answers the VIP, from the second (of the test) that is named.
        outages: By address (or `config` + address): seconds between which it does not answer.
        moves_s: How long after `release` a node answers the VIP.
        backs_s: How long after `hold` the bootstrap does.
        answers: What the guest says instead, by word; None: the channel is dead.
    """

    clock: FakeClock
    macs: list[tuple[float, frozenset[str]]] = field(default_factory=lambda: [(0, frozenset({BOOTSTRAP}))])
    outages: list[tuple[str, float, float]] = field(default_factory=list)
    moves_s: float = 4
    backs_s: float = 2
    answers: dict[str, str | None] = field(default_factory=dict)
    taker: str = MACS["192.0.2.22"]
    said: list[str] = field(default_factory=list)
    stopped_at: list[float] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock.now()

    @property
    def second(self) -> float:
        """Since the test began."""
        return self.clock.now() - self.started

    def vip_macs(self) -> frozenset[str]:
        return [macs for since, macs in sorted(self.macs, key=lambda each: each[0]) if since <= self.second][-1]

    def macs_of(self, address: str) -> frozenset[str]:
        return frozenset({MACS[address]} if address in MACS else ())

    def is_ready(self, address: str) -> bool:
        return self._answers(address)

    def serves_config(self, address: str) -> bool:
        return self._answers(f"config {address}")

    def say(self, word: str) -> str:
        self.said.append(word)
        self.order.append(word)
        answer = self.answers.get(word, {"release": "released", "hold": "held"}.get(word, "released"))
        if answer is None:
            raise HypervisorError("no answer within 10 s", where="channel")
        if word == "release" and answer.startswith("released"):
            self.macs.append((self.second + self.moves_s, frozenset({self.taker})))
        if word == "hold":
            self.macs.append((self.second + self.backs_s, frozenset({BOOTSTRAP})))
        return answer if " " in answer else f"{answer} vip=yes api=yes"

    def stop(self) -> None:
        self.stopped_at.append(self.second)
        self.order.append("stop")

    @contextmanager
    def client(self) -> Iterator["FakeLan"]:
        self.order.append("client begins")
        try:
            yield self
        finally:
            self.order.append("client ends")

    def figures(self) -> dict[str, Any]:
        return {"connects_tried": 450}

    def _answers(self, what: str) -> bool:
        return not any(name == what and begin <= self.second < end for name, begin, end in self.outages)
