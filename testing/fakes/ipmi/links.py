"""Links to a fake IPMI BMC: in simulated time, and over UDP on loopback."""

import heapq
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from selectors import EVENT_READ, DefaultSelector
from typing import Any

from testing.fakes.clock import FakeClock
from testing.fakes.ipmi.bmc import FakeIpmiBmc


@dataclass
class SimulatedLink:
    """Implements `wires.ipmi.link.Link`: time passes only while the client waits."""

    bmc: FakeIpmiBmc[Any]
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


def answer_until(
    bmcs: Mapping[socket.socket, Callable[[bytes], Iterable[bytes]]], is_ended: Callable[[], bool]
) -> None:
    """Answer what comes to each socket as its BMC does, until `is_ended`."""
    with DefaultSelector() as selector:
        for one, answers in bmcs.items():
            selector.register(one, EVENT_READ, answers)
        while not is_ended():
            for key, _ in selector.select(0.1):
                assert isinstance(key.fileobj, socket.socket)
                datagram, peer = key.fileobj.recvfrom(4096)
                for answer in key.data(datagram):
                    key.fileobj.sendto(answer, peer)


@contextmanager
def served(bmcs: Sequence[FakeIpmiBmc[Any]], address: str = "127.0.0.1") -> Iterator[list[int]]:
    """Serve each BMC at a UDP port of its own, in one thread; yield the ports."""
    ended, sockets = threading.Event(), {}
    for bmc in bmcs:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind((address, 0))
        sockets[one] = bmc.answers
    thread = threading.Thread(target=answer_until, args=(sockets, ended.is_set))
    thread.start()
    try:
        yield [one.getsockname()[1] for one in sockets]
    finally:
        ended.set()
        thread.join()
        for one in sockets:
            one.close()
