"""The cluster as the provisioner sees it, with a fake clock: answering MACs, readiness, words on the channel."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from assets.contract import ALIVE_PORT, API_PORT, CONFIG_PORT
from base.errors import HypervisorError, SegmentError
from providers.vip_handoff.model import VipHandoffSpec
from testing.fakes.clock import FakeClock

BOOTSTRAP_ADDRESS = "192.0.2.20"
VIP, VIP6 = "192.0.2.5", "2001:db8::5"
BOOTSTRAP = "52:54:00:00:00:10"
NODES = {"master-0": "192.0.2.21", "master-1": "192.0.2.22", "master-2": "192.0.2.23"}
MACS = {address: f"52:54:00:00:00:{address[-2:]}" for address in NODES.values()}
STRANGER = "0a:00:00:00:00:01"
FLOOD = frozenset(f"0a:00:00:01:{number >> 8:02x}:{number & 255:02x}" for number in range(23_894))
"""As many MACs as a machine on the segment forged in a second (2026-11-25)."""
NEVER = float("inf")

PROPS: dict[str, Any] = {
    "phase": "bootstrap",
    "vips": [VIP],
    "domain": "okd.lab.test",
    "bootstrap_name": "okd-bootstrap",
    "bootstrap_mac": BOOTSTRAP,
    "bootstrap_address": BOOTSTRAP_ADDRESS,
    "nodes": NODES,
    "min_ready": 3.0,
    "libvirt_uri": "test:///default",
    "stack": "prod",
    "payload_sha256": "a" * 64,
    "stable_s": 30.0,
    "soak_s": 20.0,
    "deadline_s": 600.0,
    "bootstrap_s": 300.0,
    "shutdown_s": 5.0,
}
"""As Pulumi's engine passes them: numbers are floats."""


def spec_with(**changes: Any) -> VipHandoffSpec:
    return VipHandoffSpec.model_validate({**PROPS, **changes})


SPEC = spec_with()


@dataclass
class FakeLan:
    """The protocols of the handoff's model: `missing` and `kept` are its signals, `save` its `Save`.

    Args:
        clock: The test's clock.
        macs: The MACs that answer the VIP, each set with the second of the test from which it does.
        outages: Address (or `config` or `haproxy` + address), and the seconds between which it does not answer.
        second_macs: As `macs`, for a second VIP; empty if there is none.
        one_way: Whether the bootstrap does not hear the nodes, and answers on after a release, until `leave`.
        leaves_s: Seconds from `leave` until it no longer answers.
        moves_s: Seconds from `release` until a node answers the VIP.
        backs_s: Seconds from `hold` until the bootstrap answers the VIP.
        ends_s: The second from which the bootstrap itself accepts no connections.
        config_ends_s: The same, but only for its config server.
        completes_s: The second from which the payload reports that its bootstrap may end.
        hands_over_s: The second from which etcd's operator reports that Pacemaker runs etcd.
        silent_s: The second from which the channel is dead.
        blind_s: The second from which the segment cannot be probed.
        saves_s: The second from which etcd can be saved.
        stuck: Whether the VM cannot be stopped.
        elsewhere: Whether the VM runs under another libvirt than the one that is asked to stop it.
        answers: Answers of the guest that replace the usual ones, by word; None for a dead channel.
        taker: The MAC that answers the VIP after a `release`.
        state: The first word of the guest's answers.
    """

    clock: FakeClock
    macs: list[tuple[float, frozenset[str]]] = field(default_factory=lambda: [(0, frozenset({BOOTSTRAP}))])
    second_macs: list[tuple[float, frozenset[str]]] = field(default_factory=list)
    outages: list[tuple[str, float, float]] = field(default_factory=list)
    one_way: bool = False
    leaves_s: float = 0
    moves_s: float = 4
    backs_s: float = 2
    ends_s: float = 40
    config_ends_s: float = 40
    completes_s: float = 0
    hands_over_s: float = 0
    silent_s: float = NEVER
    blind_s: float = NEVER
    saves_s: float = 0
    stuck: bool = False
    elsewhere: bool = False
    answers: dict[str, str | None] = field(default_factory=dict)
    taker: str = MACS["192.0.2.22"]
    state: str = "held"
    sent: list[str] = field(default_factory=list)
    """Words on the channel."""
    stopped_at: list[float] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    """Words, the snapshot, the end of the VM, and the client's start and end, in order."""
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock.now()

    @property
    def second(self) -> float:
        """Seconds since the test began."""
        return self.clock.now() - self.started

    def save(self) -> str | None:
        if self.second < self.saves_s:
            return "no member gave a snapshot"
        self.order.append("etcd saved")
        return None

    def vip_macs(self) -> tuple[frozenset[str], ...]:
        if self.second >= self.blind_s:
            raise SegmentError("no ARP here: Network is down", where="bridge", fix="set the bridge up")
        return tuple(self._now(macs) for macs in (self.macs, self.second_macs) if macs)

    def macs_of(self, address: str) -> frozenset[str]:
        if address == BOOTSTRAP_ADDRESS:
            return frozenset({BOOTSTRAP} if self.elsewhere or not self.stopped_at else ())
        return frozenset({MACS[address]} if address in MACS else ())

    def accepts(self, address: str, port: int) -> bool:
        if port == ALIVE_PORT:
            return self._answers(f"haproxy {address}")
        assert address == BOOTSTRAP_ADDRESS
        return self.second < {API_PORT: self.ends_s, CONFIG_PORT: self.config_ends_s}[port]

    def problem(self, address: str) -> str | None:
        if address == BOOTSTRAP_ADDRESS and not self.accepts(address, API_PORT):
            return "ConnectionRefusedError"
        return None if self._answers(address) else "status 500"

    def serves_config(self, address: str) -> bool:
        return self._answers(f"config {address}")

    def send(self, word: str) -> str:
        self.sent.append(word)
        self.order.append(word)
        answer = self.answers.get(word, "released vip=yes api=yes")
        if answer is None or self.second >= self.silent_s:
            raise HypervisorError("no answer within 10 s", where="channel")
        if word in self.answers and not answer.startswith("released"):
            return answer
        if word == "release":
            self.state = "released"
            still = {BOOTSTRAP} if self.one_way else set[str]()
            self.macs.append((self.second + self.moves_s, frozenset({self.taker, *still})))
        if word == "leave":
            self.macs.append((self.second + self.leaves_s, frozenset({self.taker})))
        if word == "hold":
            self.state = "held"
            self.macs.append((self.second + self.backs_s, frozenset({BOOTSTRAP})))
        return answer if word in self.answers else answer.replace("released", self.state)

    def stop(self) -> None:
        if self.stuck:
            raise HypervisorError("libvirt is not reachable", where="qemu:///system")
        self.stopped_at.append(self.second)
        self.order.append("stop")

    def missing(self, address: str) -> str | None:
        assert address == VIP
        return None if self.second >= self.completes_s else "the ConfigMap is not there"

    def kept(self, address: str) -> str | None:
        assert address == VIP
        return None if self.second >= self.hands_over_s else "etcd is still in its static pods"

    @contextmanager
    def client(self) -> Iterator["FakeLan"]:
        self.order.append("client begins")
        try:
            yield self
        finally:
            self.order.append("client ends")

    def figures(self, started: float) -> dict[str, Any]:
        return {
            "gap_ms": 31,
            "gap_at_s": self.started + 33.5 - started,
            "probes_sent": 500,
            "probes_failed": 0,
            "clients": {"connects_tried": 450},
        }

    def _answers(self, what: str) -> bool:
        return not any(name == what and begin <= self.second < end for name, begin, end in self.outages)

    def _now(self, macs: list[tuple[float, frozenset[str]]]) -> frozenset[str]:
        return [answering for since, answering in sorted(macs, key=lambda entry: entry[0]) if since <= self.second][
            -1
        ]
