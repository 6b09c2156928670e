"""The fleet's sockets: BMC, API and kubelet on each host's address, and the control endpoint."""

import asyncio
import json
import resource
import socket
import ssl
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from typing import Any, Self

from testing.fakes.fleet import captured
from testing.fakes.fleet.bmc import Api, Bmc
from testing.fakes.fleet.certificates import Certificates
from testing.fakes.fleet.faults import Fault
from testing.fakes.fleet.fetch import fetch
from testing.fakes.fleet.figures import Figures, Pace
from testing.fakes.fleet.http import Answer, Connection, Receiver, Request
from testing.fakes.fleet.machine import Machine
from testing.fakes.fleet.service import Service

API_PORT = 6443
KUBELET_PORT = 10250
CLAIM_PORT = 10257
"""Nothing speaks on it: a fleet that listens on it has the block of the address."""
POLL_S = 0.1
BLOCKS = range(9, 64)
"""Second octets of loopback addresses; each fleet on this machine takes the first free one."""
BACKLOG = 64


@dataclass(frozen=True)
class Options:
    """Options of a fleet.

    Args:
        vendors: Names of vendors, or files of captures; host i has `vendors[i % len(vendors)]`.
        pieces: Number of pieces of a medium that a server reads, each with a Range request.
    """

    hosts: int = 1
    vendors: tuple[str, ...] = ("generic",)
    tls: bool = True
    username: str = "admin"
    password: str = field(default="s3cret-of-the-BMC", repr=False)
    pace: Pace = field(default_factory=Pace)
    pieces: int = 3
    piece_bytes: int = 1 << 16

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parse the JSON of `asdict`."""
        values = json.loads(text)
        return cls(**{**values, "pace": Pace(**values["pace"])})


def address_of(block: int, index: int) -> str:
    """Return the address of a host, for its BMC and its server."""
    return f"127.{block}.{index >> 8}.{index & 255}"


class Server:
    """The whole fleet, on the running loop."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.certificates = Certificates()
        self.bmcs = [self._bmc(index) for index in range(options.hosts)]
        self.block = self.port = 0
        self._listeners: dict[int, asyncio.Server] = {}
        self._stack = ExitStack()
        self._running: dict[int, list[asyncio.Server]] = {}
        """What listens only while the installed system of a host runs."""
        self._contexts: dict[int, ssl.SSLContext] = {}
        """TLS of each host's API and kubelet, and at first of its BMC."""

    async def start(self) -> None:
        """Listen on every address."""
        self._claim_block()
        for index in range(len(self.bmcs)):
            address = address_of(self.block, index)
            context = self._contexts[index] = self.certificates.context(address)
            if self.options.pace.by_requests:
                await self._serve_node(index, API_PORT)
            await self.listen(index, context)
        systems = asyncio.ensure_future(self._run_systems())
        self._stack.callback(systems.cancel)

    async def _run_systems(self) -> None:
        """Have the installed system of each server listen while it runs, and refuse connections before.

        Where time is the number of requests, its API answers 503 before: those to it count.
        """
        ports = [KUBELET_PORT] if self.options.pace.by_requests else [KUBELET_PORT, API_PORT]
        while True:
            for index, bmc in enumerate(self.bmcs):
                runs = bmc.machine.is_running()
                if runs and index not in self._running:
                    self._running[index] = [await self._serve_node(index, port) for port in ports]
                elif not runs and index in self._running:
                    for server in self._running.pop(index):
                        server.close()
            await asyncio.sleep(POLL_S)

    async def _serve_node(self, index: int, port: int) -> asyncio.Server:
        """Start to listen as the API or the kubelet of a host."""
        wire = _listener(address_of(self.block, index), port)
        return await self._serve(wire, Api(self.bmcs[index].machine), self._contexts[index])

    async def listen(self, index: int, context: ssl.SSLContext) -> None:
        """Start to listen as a BMC."""
        wire = _listener(address_of(self.block, index), self.port)
        self.port = wire.getsockname()[1]
        tls = context if self.options.tls else None
        self._listeners[index] = await self._serve(wire, self.bmcs[index], tls)

    def silence(self, index: int) -> None:
        """Stop to listen as a BMC, and end its connections."""
        self._listeners[index].close()
        self.bmcs[index].drop()

    async def control(self, receiver: Receiver) -> int:
        """Start the control endpoint; return its port."""
        wire = _listener("127.0.0.1", 0)
        await self._serve(wire, receiver, None)
        return int(wire.getsockname()[1])

    async def close(self) -> None:
        """Stop listening."""
        self._stack.close()
        for bmc in self.bmcs:
            bmc.drop()
        await asyncio.sleep(0)

    def _bmc(self, index: int) -> Bmc:
        options = self.options
        vendor = captured.vendor_of(options.vendors[index % len(options.vendors)])
        machine = Machine(index, vendor, options.pace, self._fetch)
        if vendor.capture:
            captured.set_captured_state(machine)
        return Bmc(machine, Service(machine, options.username, options.password))

    async def _fetch(self, machine: Machine, url: str) -> None:
        address = address_of(self.block, machine.index)
        await fetch(machine, url, address, self.options.pieces, self.options.piece_bytes)

    async def _serve(self, wire: socket.socket, receiver: Receiver, tls: ssl.SSLContext | None) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(partial(Connection, receiver), sock=wire, ssl=tls, backlog=BACKLOG)
        self._stack.callback(server.close)
        return server

    def _claim_block(self) -> None:
        """Claim a free block by listening on a port of its first address."""
        for self.block in BLOCKS:
            with suppress(OSError):
                self._stack.enter_context(_listener(address_of(self.block, 0), CLAIM_PORT))
                return
        raise OSError(f"port {CLAIM_PORT} is in use on every loopback block for fleets")


def _listener(address: str, port: int) -> socket.socket:
    wire = socket.socket()
    try:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        wire.bind((address, port))
        wire.listen(BACKLOG)
    except OSError:
        wire.close()
        raise
    return wire


class Control:
    """Answers `POST /<method>`: calls that method with the JSON body as arguments, and returns its result as JSON."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._tasks: set[asyncio.Task[None]] = set()

    def opened(self, connection: Connection) -> None:
        """Count nothing."""

    def closed(self, connection: Connection) -> None:
        """Do nothing."""

    def receive(self, connection: Connection, request: Request) -> None:
        """Call the method that a request names."""
        task = asyncio.ensure_future(self._do(connection, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _do(self, connection: Connection, request: Request) -> None:
        methods: dict[str, Callable[..., Awaitable[Any]]] = {
            "figures": self.figures,
            "state": self.state,
            "total": self.total,
            "fault": self.fault,
            "heal": self.heal,
            "change": self.change,
            "forget": self.forget,
        }
        name, arguments = request.path.strip("/"), json.loads(request.body)
        try:
            answer = await methods[name](**arguments)
        except (ValueError, TypeError, KeyError) as error:
            connection.answer(Answer(400, f"{name}: {error!r}"))
        else:
            connection.answer(Answer(200, answer))

    async def figures(self, host: int) -> dict[str, Any]:
        """Return the counters of a host."""
        counted = self._server.bmcs[host].machine.figures
        return {**vars(counted), "received": [asdict(request) for request in counted.received]}

    async def state(self, host: int) -> dict[str, Any]:
        """Return the state of a host."""
        return vars(self._server.bmcs[host].machine.state())

    async def total(self) -> dict[str, Any]:
        """Return the sums of the counters of all hosts."""
        counted = [bmc.machine.figures for bmc in self._server.bmcs]
        return {
            "requests": sum(len(figures.received) for figures in counted),
            "resets": sum((figures.resets for figures in counted), Counter[str]()),
            "installs": sum(figures.installs for figures in counted),
            "fetched": sum(figures.fetched for figures in counted),
            "connections": sum(figures.connections for figures in counted),
            "connected": sum(len(bmc.connections) for bmc in self._server.bmcs),
            "sessions": sum(len(bmc.machine.sessions) for bmc in self._server.bmcs),
            "running": sum(bmc.machine.running for bmc in self._server.bmcs),
            "cpu_s": time.thread_time(),
            "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }

    async def fault(self, hosts: list[int], faults: list[dict[str, Any]]) -> None:
        """Add faults to the scripts of some hosts."""
        for host in hosts:
            self._server.bmcs[host].faults += [Fault(**fault) for fault in faults]

    async def heal(self, hosts: list[int]) -> None:
        """Clear the scripts of some hosts."""
        for host in hosts:
            self._server.bmcs[host].faults.clear()

    async def change(self, hosts: list[int], state: dict[str, Any]) -> None:
        """Change the state of some hosts at once."""
        certificate, listening = state.pop("certificate", ""), state.pop("listening", None)
        tls = state.pop("tls", "")
        for host in hosts:
            self._server.bmcs[host].machine.change(**state)
            if certificate or tls or listening is not None:
                self._server.silence(host)
            if certificate or tls or listening:
                context = self._server.certificates.context
                address = address_of(self._server.block, host)
                await self._server.listen(host, context(address, certificate or "good", tls))

    async def forget(self) -> None:
        """Reset all counters."""
        for bmc in self._server.bmcs:
            counted = bmc.machine.figures
            for counter in fields(Figures):
                setattr(counted, counter.name, getattr(Figures(), counter.name))


async def serve(options: Options, ready: Callable[[dict[str, Any]], None], leash: int) -> None:
    """Run a fleet.

    Args:
        ready: Called once, with the ports and the address block.
        leash: File descriptor; the fleet ends when its other end is closed.
    """
    server, end = Server(options), asyncio.Event()
    try:
        await server.start()
        control = await server.control(Control(server))
        asyncio.get_running_loop().add_reader(leash, end.set)
        ready({"control": control, "block": server.block, "port": server.port, "ca": server.certificates.pem})
        await end.wait()
    finally:
        await server.close()
