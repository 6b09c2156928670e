"""Temporal's own development server, with its history in a file: for tests, the rehearsal and the bench."""

import asyncio
import random
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from temporalio.client import Client
from temporalio.service import RPCError

from fleet.connection import NAMESPACE
from fleet.workflows import CLUSTER, SINCE, SITE, STEP
from testing.checkout import ROOT

READY_S = 60
POLL_S = 0.1
LAST_LINES = 12
ATTRIBUTES = (SITE, CLUSTER, STEP, SINCE)
# Below the ports that Linux gives to outgoing connections, so that none takes it while the server is killed.
PORTS = range(20000, 32000)


class TemporalServer:
    """A server on loopback. The kernel kills it when the thread that started it ends.

    Args:
        folder: The folder for its history and log.
    """

    def __init__(self, folder: Path) -> None:
        program = subprocess.run([ROOT / "tools" / "temporal"], check=True, stdout=subprocess.PIPE, text=True).stdout
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        self.history = folder / "temporal.db"
        self._log = folder / "temporal.log"
        attributes = [f"{key.name}={key.indexed_value_type.name.capitalize()}" for key in ATTRIBUTES]
        self._command = [
            *("setpriv", "--pdeathsig", "KILL", program.strip(), "server", "start-dev", "--headless"),
            *("--ip", "127.0.0.1", "--port", str(port), "--db-filename", str(self.history)),
            # As by default, but after one failed task of a workflow in place of five.
            *("--dynamic-config-value", "system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute=1"),
            # Without them, a rollout starts a tenth as many clusters per second (docs/adr/0048).
            *("--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL"),
            *(
                "--namespace",
                NAMESPACE,
                *(word for attribute in attributes for word in ("--search-attribute", attribute)),
            ),
        ]

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            AssertionError: It does not.
        """
        self.begin()
        self.wait()

    def begin(self) -> None:
        """Start it."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True)

    def wait(self) -> None:
        """Wait until its visibility store answers.

        Raises:
            AssertionError: It does not, within `READY_S`; the end of the log is in the message.
        """
        deadline = time.monotonic() + READY_S
        while not asyncio.run(self._answers()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise AssertionError("\n".join(self._log.read_text().splitlines()[-LAST_LINES:]))
            time.sleep(POLL_S)

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self._process.kill()
        self._process.wait()

    def memory_mib(self) -> float:
        """Return its resident memory."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))

    async def _answers(self) -> bool:
        with suppress(RPCError, RuntimeError):  # connect raises the latter
            client = await Client.connect(self.address, namespace=NAMESPACE)
            await client.count_workflows(" AND ".join(f"{key.name} IS NULL" for key in ATTRIBUTES))
            return True
        return False


@contextmanager
def temporal_server(folder: Path) -> Iterator[TemporalServer]:
    """Run a server."""
    server = TemporalServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def free_port() -> int:
    """Return a free port of `PORTS`."""
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("all ports are taken")
