"""Links to a fake IPMI BMC: in simulated time, and over UDP on loopback."""

import heapq
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from selectors import EVENT_READ, DefaultSelector

from testing.fakes.clock import FakeClock
from testing.fakes.ipmi.bmc import FakeIpmiBmc


@dataclass
class SimulatedLink:
    """Implements `wires.ipmi.link.Link`: time passes only while the client waits."""

    bmc: FakeIpmiBmc
    clock: FakeClock
    closed: bool = False
    _coming: list[tuple[float, int, bytes]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    def send(self, datagram: bytes) -> None:
        at = self.clock.now() + self.bmc.latency_s
        for answer in self.bmc.answers(datagram):
            heapq.heappush(self._coming, (at, next(self._numbers), answer))

    def receive(self, within_s: float) -> bytes | None:
        until = self.clock.now() + within_s
        if self._coming and self._coming[0][0] <= until:
            at, _, answer = heapq.heappop(self._coming)
            self.clock.sleep(max(0.0, at - self.clock.now()))
            return answer
        self.clock.sleep(within_s)
        return None

    def close(self) -> None:
        self.closed = True


class TickingClock(FakeClock):
    """The time of the machine, for a server behind UDP."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


@contextmanager
def served(bmcs: Sequence[FakeIpmiBmc], address: str = "127.0.0.1") -> Iterator[list[int]]:
    """Serve each BMC at a UDP port of its own, in one thread; yield the ports."""
    selector, ended = DefaultSelector(), threading.Event()
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in bmcs]
    for one, bmc in zip(sockets, bmcs, strict=True):
        one.bind((address, 0))
        selector.register(one, EVENT_READ, bmc)

    def serve() -> None:
        while not ended.is_set():
            for key, _ in selector.select(0.1):
                assert isinstance(key.fileobj, socket.socket)
                datagram, peer = key.fileobj.recvfrom(4096)
                for answer in key.data.answers(datagram):
                    key.fileobj.sendto(answer, peer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield [one.getsockname()[1] for one in sockets]
    finally:
        ended.set()
        thread.join()
        selector.close()
        for one in sockets:
            one.close()
