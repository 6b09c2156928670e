"""One BMC, which serves one request at a time, with its faults and counters; and the API of its server."""

import asyncio
import sys
from collections import deque
from collections.abc import Coroutine

from testing.fakes.fleet.faults import KINDS, Fault
from testing.fakes.fleet.figures import Received
from testing.fakes.fleet.http import Answer, Connection, Request
from testing.fakes.fleet.machine import Machine
from testing.fakes.fleet.service import Service


class Bmc:
    """Serves the requests of all its connections in turn."""

    def __init__(self, machine: Machine, service: Service) -> None:
        self.machine, self.service = machine, service
        self.faults: list[Fault] = []
        self.connections: set[Connection] = set()
        self._waiting: deque[tuple[Connection, Request]] = deque()
        self._busy = False
        self._resets = 0
        self._starting = Fault("", "status", times=0)
        self._tasks: set[asyncio.Task[None]] = set()

    def opened(self, connection: Connection) -> None:
        """Count the connection."""
        self.machine.figures.connections += 1
        self.connections.add(connection)
        if self._resets:
            self._resets -= 1
            connection.reset()

    def closed(self, connection: Connection) -> None:
        """Remove the connection."""
        self.connections.discard(connection)

    def receive(self, connection: Connection, request: Request) -> None:
        """Count the request, and queue it."""
        figures = self.machine.figures
        # Keep one copy of each line: a fleet receives the same few lines a hundred thousand times.
        line, token = sys.intern(request.line), request.headers.get("x-auth-token", "")
        figures.received.append(Received(line, request.document, token))
        figures.peak = max(figures.peak, sum(other.unanswered for other in self.connections))
        self._waiting.append((connection, request))
        if not self._busy:
            self._next()

    def reboot(self, fault: Fault) -> None:
        """Restart the BMC as the fault describes it."""
        self.machine.restart_bmc(keeps=fault.keeps)
        self._resets = fault.connections
        self._starting = Fault("", "status", times=fault.requests, status=fault.status)
        self.drop()

    def drop(self) -> None:
        """End all connections, each with an RST."""
        for connection in self.connections:
            connection.reset()

    def run(self, work: Coroutine[None, None, None]) -> None:
        """Continue an answer in the background, while other requests are served."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _next(self) -> None:
        self._busy = bool(self._waiting)
        if not self._busy:
            return
        latency_s = self.machine.latency_s()
        if latency_s:
            asyncio.get_running_loop().call_later(latency_s, self._serve)
        else:
            self._serve()

    def _serve(self) -> None:
        machine = self.machine
        if machine.fetching and machine.pace.by_requests:  # a fetch takes no request, so wait for its end
            machine.fetching.add_done_callback(lambda _: self._serve())
            return
        connection, request = self._waiting.popleft()
        machine.tick()
        fault = next((fault for fault in self._script() if fault.strikes(request.line)), None)
        if fault is None:
            connection.answer(self.service.answer(request))
        else:
            KINDS[fault.kind](fault, self, connection, request)
        self._next()

    def _script(self) -> list[Fault]:
        return [self._starting, *self.faults]


class Api:
    """The API of a server: ready while the installed system runs."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def opened(self, connection: Connection) -> None:
        """Count nothing."""

    def closed(self, connection: Connection) -> None:
        """Do nothing."""

    def receive(self, connection: Connection, request: Request) -> None:
        """Answer /readyz."""
        self._machine.tick()
        connection.answer(Answer(200 if self._machine.running else 503))
