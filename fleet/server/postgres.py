"""PostgreSQL with its own data directory: Temporal's history and visibility, and Pulumi's state."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path

from base.errors import ConfigError, Fault, FleetServerError
from base.files import write_private
from fleet.server.process import Process, failed, mortal
from fleet.server.settings import Settings

HISTORY, VISIBILITY, STATE = "temporal", "temporal_visibility", "pulumi"
"""The databases. Their owners are the superuser `temporal`, and `pulumi` of the last one alone."""
SUPERUSER = "temporal"
READY_S = 60
_USER = "postgres"
_DEBIAN = Path("/usr/lib/postgresql")
# PostgreSQL refuses root. Its user may be unable to reach the folder, so it gets the folder as its home.
_AS_ITS_USER = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'


class Postgres:
    """The database server of one folder.

    Args:
        folder: For the data; gets its user as its owner if we are root.
        log: The log of PostgreSQL.
        lock: As `Process` has it.
        settings: Port and passwords.
    """

    def __init__(self, folder: Path, log: Path, lock: int, settings: Settings) -> None:
        self._folder, self._log, self._settings = folder, log, settings
        self._root = os.geteuid() == 0
        self._programs = _programs(folder / "data" / "PG_VERSION")
        self._seen = Path(_account().pw_dir) if self._root else folder
        options = {
            "listen_addresses": "127.0.0.1",
            "port": settings.port("postgres"),
            "unix_socket_directories": "",
            "max_connections": 200,  # 100 of Temporal, see temporal.py; the others are for runs of Pulumi
        }
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        command = self._command(signal.SIGINT, "postgres", "-D", str(self._seen / "data"), *words)
        self.process = Process(command, log, lock, end_by=signal.SIGINT)

    def start(self) -> None:
        """Start it, and make the data and the databases that are missing.

        Raises:
            FleetServerError: It cannot be made, or does not start.
        """
        if not (self._folder / "data").exists():
            self._make()
        self.process.start()
        until = time.monotonic() + READY_S
        while self._client("pg_isready", "--quiet").returncode:
            if fault := self.process.fault():
                raise fault
            if time.monotonic() > until:
                raise failed(self._log, f"not ready after {READY_S} s")
            time.sleep(0.05)
        self._make_databases()

    def _make_databases(self) -> None:
        role = f"CREATE ROLE {STATE} LOGIN PASSWORD '{self._settings.pulumi_password.get_secret_value()}'"
        missing = f"SELECT FROM pg_roles WHERE rolname = '{STATE}'"
        sql = [f"SELECT $${role}$$ WHERE NOT EXISTS ({missing}) \\gexec"]
        for name, owner in ((HISTORY, SUPERUSER), (VISIBILITY, SUPERUSER), (STATE, STATE)):
            missing = f"SELECT FROM pg_database WHERE datname = '{name}'"
            sql.append(f"SELECT 'CREATE DATABASE {name} OWNER {owner}' WHERE NOT EXISTS ({missing}) \\gexec")
        done = self._client(
            "psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "postgres", stdin="\n".join(sql)
        )
        if done.returncode:
            raise FleetServerError(done.stderr.strip(), where="postgres")

    def _make(self) -> None:
        """Make the data directory, whole or not at all."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        new, password = self._folder / "new", self._folder / "password"
        shutil.rmtree(new, ignore_errors=True)
        write_private(password, self._settings.temporal_password.get_secret_value())
        if self._root:
            for path in (self._folder, password):
                shutil.chown(path, _USER, _account().pw_gid)
        options = ["--auth=scram-sha-256", f"--username={SUPERUSER}", "--encoding=UTF8", "--locale=C"]
        inside = [f"--pwfile={self._seen / password.name}", f"--pgdata={self._seen / new.name}"]
        with self._log.open("ab") as log:
            done = subprocess.run(  # noqa: S603
                self._command(signal.SIGKILL, "initdb", *options, *inside),
                cwd="/",
                env={"PATH": os.environ["PATH"]},
                stdout=log,
                stderr=log,
                check=False,
            )
        password.unlink()
        if done.returncode:
            raise failed(self._log, f"initdb ended with status {done.returncode}")
        new.rename(self._folder / "data")

    def _command(self, end_by: signal.Signals, program: str, *words: str) -> list[str]:
        command = [str(self._programs / program), *words]
        if not self._root:
            return [*mortal(end_by), *command]
        private = ["unshare", "--mount", "sh", "-c", _AS_ITS_USER, "sh", str(self._folder), str(self._seen)]
        user = [f"--reuid={_USER}", f"--regid={_account().pw_gid}", "--init-groups"]
        return [*private, *mortal(end_by, *user), *command]

    def _client(self, program: str, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a client as the superuser."""
        settings = {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self._settings.port("postgres")),
            "PGUSER": SUPERUSER,
            "PGPASSWORD": self._settings.temporal_password.get_secret_value(),
        }
        return subprocess.run(  # noqa: S603
            [str(self._programs / program), *words],
            env=settings,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )


def _account() -> pwd.struct_passwd:
    return pwd.getpwnam(_USER)


def _programs(version_file: Path) -> Path:
    """Return the folder of PostgreSQL's programs: of the version that wrote the data, else of the newest.

    Raises:
        ConfigError: It is not installed.
    """
    version = version_file.read_text().strip() if version_file.exists() else "*"
    found = sorted(_DEBIAN.glob(f"{version}/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if program := found[-1] if found else shutil.which("initdb"):
        return Path(program).parent
    name = "PostgreSQL" if version == "*" else f"PostgreSQL {version}"
    raise ConfigError(Fault(name, "is not installed", "run tools/packages fleet/packages.txt"))
