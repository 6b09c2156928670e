"""The client of a fake fleet, which runs in a thread of this process or in a separate process."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from queue import SimpleQueue
from typing import Any

from testing.fakes.fleet.captured import vendor_of
from testing.fakes.fleet.faults import ALWAYS, Fault
from testing.fakes.fleet.figures import Figures, Pace, Received, State
from testing.fakes.fleet.machine import serial_of, uuid_of
from testing.fakes.fleet.server import Options, address_of, serve

__all__ = [
    "ALWAYS",
    "OFF",
    "Fault",
    "Figures",
    "Fleet",
    "Options",
    "Pace",
    "State",
    "Total",
    "running",
    "running_in_process",
    "serial_of",
    "uuid_of",
]

OFF = {"power": "Off", "running": False, "disk": "", "image": "", "target": "None", "enabled": "Disabled"}
"""The state of a server that is off, with an empty disk."""


@dataclass
class Total:
    """Counters of all hosts, and their cost."""

    requests: int
    resets: Counter[str]
    installs: int
    fetched: int
    connections: int
    connected: int
    """Open connections."""
    sessions: int
    running: int
    """Servers whose API is ready."""
    cpu_s: float
    """CPU time of the fleet's thread."""
    peak_rss_mib: float
    """Peak memory of its process."""


class Fleet:
    """A running fleet. Methods that take several hosts affect all hosts if none is named."""

    def __init__(self, options: Options, control: int, block: int, port: int, ca: str) -> None:
        self.options, self.port, self.ca = options, port, ca
        self._control, self._block = control, block

    def node(self, host: int) -> str:
        """Return the IP address of a host."""
        return address_of(self._block, host)

    def base(self, host: int) -> str:
        """Return the root URL of a BMC."""
        return f"{'https' if self.options.tls else 'http'}://{self.node(host)}:{self.port}"

    def address(self, host: int) -> str:
        """Return a BMC's address, as an install-config has it."""
        vendor = vendor_of(self.options.vendors[host % len(self.options.vendors)])
        return f"redfish-virtualmedia+{self.base(host)}{vendor.system_path}"

    def figures(self, host: int = 0) -> Figures:
        """Return the counters of a host."""
        answer = self._ask("figures", host=host)
        received = [Received(**request) for request in answer["received"]]
        return Figures(**{**answer, "received": received, "resets": Counter(answer["resets"])})

    def state(self, host: int = 0) -> State:
        """Return the state of a host; not counted as a request to it."""
        return State(**self._ask("state", host=host))

    def total(self) -> Total:
        """Return the counters of all hosts."""
        answer = self._ask("total")
        return Total(**{**answer, "resets": Counter(answer["resets"])})

    def fault(self, *faults: Fault, hosts: tuple[int, ...] = ()) -> None:
        """Add faults to the script."""
        self._ask("fault", hosts=self._hosts(hosts), faults=[asdict(fault) for fault in faults])

    def heal(self, *hosts: int) -> None:
        """Remove all faults."""
        self._ask("heal", hosts=self._hosts(hosts))

    def change(self, *hosts: int, **state: Any) -> None:
        """Change the state of hosts at once.

        Args:
            state: As in `Machine.change`; also `listening` (False to refuse connections), `certificate` and `tls`,
                as in `Certificates.context`.
        """
        self._ask("change", hosts=self._hosts(hosts), state=state)

    def forget(self) -> None:
        """Reset all counters."""
        self._ask("forget")

    def _hosts(self, hosts: tuple[int, ...]) -> list[int]:
        return list(hosts or range(self.options.hosts))

    def _ask(self, method: str, **arguments: Any) -> Any:
        connection = HTTPConnection("127.0.0.1", self._control, timeout=30)
        try:
            connection.request("POST", f"/{method}", json.dumps(arguments))
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        if response.status != 200:
            raise ValueError(text.decode())
        return json.loads(text) if text else None


@contextmanager
def running(options: Options) -> Iterator[Fleet]:
    """Run a fleet in a thread of this process."""
    reader, writer = os.pipe()
    answers: SimpleQueue[dict[str, Any] | BaseException] = SimpleQueue()

    def play() -> None:
        try:
            asyncio.run(serve(options, answers.put, reader))
        except OSError as error:
            answers.put(error)

    thread = threading.Thread(target=play)
    thread.start()
    try:
        answer = answers.get()
        if isinstance(answer, BaseException):
            raise answer
        yield Fleet(options, **answer)
    finally:
        os.close(writer)
        thread.join()
        os.close(reader)


@contextmanager
def running_in_process(options: Options) -> Iterator[Fleet]:
    """Run a fleet in a separate process."""
    command = [sys.executable, "-m", "testing.fakes.fleet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asdict(options)) + "\n")
        process.stdin.flush()
        yield Fleet(options, **json.loads(process.stdout.readline()))
        process.stdin.close()
