"""PostgreSQL on loopback for Pulumi's state, with Debian's programs, as root: for tests and the rehearsal."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGQUIT

from testing.sites.temporal import free_port

USER = "postgres"
"""Of the system, since PostgreSQL refuses root; of the database; and the database's name."""
READY_S = 60
POLL_S = 0.05


class Postgres:
    """A database server that asks for no password.

    Args:
        folder: For its data and log. `USER` can reach it.
    """

    def __init__(self, folder: Path) -> None:
        self._programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self._data, self._log = folder / "data", folder / "postgres.log"
        self._port = free_port()
        shutil.chown(folder, USER)
        subprocess.check_output(
            self._command("initdb", "--auth=trust", "--no-sync", f"--pgdata={self._data}"), cwd="/"
        )

    @property
    def environment(self) -> dict[str, str]:
        """The environment by which Pulumi keeps its state here."""
        return {"PULUMI_BACKEND_URL": f"postgres://{USER}@127.0.0.1:{self._port}/{USER}?sslmode=disable"}

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            AssertionError: It does not, within `READY_S`; its log is in the message.
        """
        options = {"listen_addresses": "127.0.0.1", "port": self._port, "unix_socket_directories": ""}
        words = [f"--{name}={value}" for name, value in options.items()]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command("postgres", "-D", str(self._data), *words),
                cwd="/",
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + READY_S
        while subprocess.run(self._client("pg_isready", "--quiet"), check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise AssertionError(self._log.read_text())
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Stop it immediately; it has to recover when it is started."""
        self._process.send_signal(SIGQUIT)
        self._process.wait()

    def dump(self) -> bytes:
        """Return all that it keeps, as SQL."""
        return subprocess.check_output(self._client("pg_dumpall"))

    def _command(self, program: str, *words: str) -> list[str]:
        """Return a command that runs as `USER`, and ends when this program does."""
        user = f"--reuid={USER}", f"--regid={USER}", "--init-groups"
        return ["setpriv", *user, "--pdeathsig", "QUIT", str(self._programs / program), *words]

    def _client(self, program: str, *words: str) -> list[str]:
        login = "--host=127.0.0.1", f"--port={self._port}", f"--username={USER}"
        return [str(self._programs / program), *login, *words]


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Run a server whose data end with it."""
    with tempfile.TemporaryDirectory(prefix="okd-postgres-") as folder:
        server = Postgres(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()
