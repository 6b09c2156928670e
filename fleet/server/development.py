"""The development server: all of its parts, started in order and ended in reverse."""

import asyncio
import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL, SIGQUIT
from typing import NoReturn

from base.errors import BusyError, ConfigError, Fault, FleetServerError
from fleet.connection import NAMESPACE
from fleet.server import temporal
from fleet.server.namespace import prepare
from fleet.server.postgres import STATE, Postgres
from fleet.server.process import Process
from fleet.server.settings import Settings

_BUSY_S = 20  # what a killed run left behind ends in a second
_POLL_S = 0.2


class DevelopmentServer:
    """A running server. Its methods stop and start parts, as faults do."""

    namespace = NAMESPACE

    def __init__(self, database: Postgres, server: Process, ui: Process, settings: Settings) -> None:
        self._database, self._server, self._ui, self._settings = database, server, ui, settings

    @property
    def address(self) -> str:
        """HOST:PORT for clients of Temporal."""
        return f"127.0.0.1:{self._settings.port('frontend')}"

    @property
    def ui(self) -> str:
        """URL of Temporal's UI."""
        return f"http://127.0.0.1:{self._settings.port('ui')}"

    @property
    def state(self) -> dict[str, str]:
        """Environment that has Pulumi keep its state in this server's database."""
        port = str(self._settings.port("postgres"))
        return {
            "PULUMI_BACKEND_URL": f"postgres://127.0.0.1:{port}/{STATE}",
            "PGHOST": "127.0.0.1",
            "PGPORT": port,
            "PGDATABASE": STATE,
            "PGUSER": STATE,
            "PGPASSWORD": self._settings.pulumi_password.get_secret_value(),
            "PGSSLMODE": "disable",
        }

    def wait(self) -> NoReturn:
        """Wait until a part ends.

        Raises:
            FleetServerError: It has.
        """
        while not (fault := self.fault()):
            time.sleep(_POLL_S)
        raise fault

    def fault(self) -> FleetServerError | None:
        """Return the error of a part that ended unasked."""
        faults = (part.fault() for part in (self._database.process, self._server, self._ui))
        return next((fault for fault in faults if fault), None)

    def kill_server(self) -> None:
        """Kill Temporal's server with SIGKILL."""
        self._server.stop(SIGKILL)

    def start_server(self) -> None:
        """Start Temporal's server, and wait until it answers.

        Raises:
            FleetServerError: It ends, or does not answer.
        """
        self._server.start()
        asyncio.run(prepare(self.address, self._server.fault))

    def stop_database(self) -> None:
        """Stop PostgreSQL immediately; it has to recover when it is started."""
        self._database.process.stop(SIGQUIT)

    def start_database(self) -> None:
        """Start PostgreSQL, and wait until it answers.

        Raises:
            FleetServerError: It ends, or does not answer.
        """
        self._database.start()

    def server_memory_mib(self) -> float:
        """Return the resident memory of Temporal's server."""
        lines = Path(f"/proc/{self._server.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


@contextmanager
def running(folder: Path, report: Callable[[str], None]) -> Iterator[DevelopmentServer]:
    """Run a server whose data, ports and passwords are kept in `folder`, which is made if it is missing.

    Raises:
        BusyError: Another one runs in that folder.
        ConfigError: The folder cannot be made, PostgreSQL is not installed, or a port of the folder is taken.
        FleetServerError: A part cannot be built or started, or ended unasked.
    """
    folder = folder.resolve()
    try:
        (folder / "log").mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(Fault(str(folder), f"cannot be made: {error.strerror}", "name another folder")) from None
    programs = temporal.programs()
    with _alone(folder) as lock:
        settings = Settings.of(folder)
        database = Postgres(folder / "postgres", folder / "log" / "postgres.log", lock, settings)
        server = temporal.server(programs / "temporal-server", folder, lock, settings)
        ui = temporal.ui(programs / "temporal-ui", folder, lock, settings)
        development = DevelopmentServer(database, server, ui, settings)
        try:
            report("PostgreSQL starts")
            development.start_database()
            temporal.bring_schema(programs / "temporal-sql-tool", folder / "log" / "schema.log", settings)
            report("Temporal starts")
            ui.start()
            development.start_server()
            yield development
        finally:
            fault = development.fault()
            for part in (ui, server, database.process):
                part.end()
            if fault:
                raise fault


@contextmanager
def _alone(folder: Path) -> Iterator[int]:
    """Lock the folder, and yield the lock's descriptor for the processes that hold it too."""
    until = time.monotonic() + _BUSY_S
    with (folder / "lock").open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    what = "another server runs in this folder"
                    raise BusyError(what, where=str(folder), fix="end it, or choose another folder") from None
            time.sleep(_POLL_S)
        yield file.fileno()
