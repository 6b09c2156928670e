"""Temporal's server and UI, with PostgreSQL's schema for them."""

import subprocess
from pathlib import Path
from signal import SIGKILL

from base.errors import FleetServerError
from base.files import write_private
from base.yaml_text import yaml_of
from fleet.connection import NAMESPACE
from fleet.server.postgres import HISTORY, SUPERUSER, VISIBILITY
from fleet.server.process import Process, failed, mortal
from fleet.server.settings import SERVICES, Settings

HISTORY_SHARDS = 512
"""How many parts share the work on histories. A folder's number can never change."""
_SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "temporal"
_LOOPBACK = "127.0.0.1"
_SCHEMAS = {HISTORY: "postgresql/v12/temporal", VISIBILITY: "postgresql/v12/visibility"}


def programs() -> Path:
    """Return the folder of Temporal's programs, built where they are missing; progress goes to stderr.

    Raises:
        FleetServerError: They cannot be built.
    """
    done = subprocess.run([str(_SCRIPT)], stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    if done.returncode:
        what = f"ended with status {done.returncode}; the lines above say why"
        raise FleetServerError(what, where="tools/temporal")
    return Path(done.stdout.strip())


def bring_schema(tool: Path, log: Path, settings: Settings) -> None:
    """Bring the tables of both databases to this release's version.

    Raises:
        FleetServerError: PostgreSQL refuses.
    """
    login = {"SQL_USER": SUPERUSER, "SQL_PASSWORD": settings.temporal_password.get_secret_value()}
    place = ["--plugin", "postgres12", "--endpoint", _LOOPBACK, "--port", str(settings.port("postgres"))]
    for database, schema in _SCHEMAS.items():
        for step in (["setup-schema", "--version", "0.0"], ["update-schema", "--schema-name", schema]):
            command = [str(tool), *place, "--database", database, *step]
            with log.open("ab") as output:
                done = subprocess.run(command, env=login, stdout=output, stderr=output, check=False)  # noqa: S603
            if done.returncode:
                raise failed(log, f"{step[0]} of {database} ended with status {done.returncode}")


def server(program: Path, folder: Path, lock: int, settings: Settings) -> Process:
    """Return the server, whose configuration is in `folder`."""
    config = folder / "temporal.yaml"
    write_private(config, yaml_of(_config(settings)))
    return Process(
        [*mortal(SIGKILL), str(program), "--config-file", str(config), "--allow-no-auth", "start"],
        folder / "log" / "temporal.log",
        lock,
        env={"TEMPORAL_VERSION_CHECK_DISABLED": "1"},  # it would ask a server on the internet
    )


def ui(program: Path, folder: Path, lock: int, settings: Settings) -> Process:
    """Return the UI, whose configuration is in `folder`."""
    config = {
        "temporalGrpcAddress": f"{_LOOPBACK}:{settings.port('frontend')}",
        "host": _LOOPBACK,
        "port": settings.port("ui"),
        "enableUi": True,
        "defaultNamespace": NAMESPACE,
        "disableNewsFetch": True,
    }
    (folder / "ui.yaml").write_text(yaml_of(config))
    command = [*mortal(SIGKILL), str(program), "--root", str(folder), "--config", ".", "--env", "ui", "start"]
    return Process(command, folder / "log" / "ui.log", lock)


def _config(settings: Settings) -> dict[str, object]:
    frontend = settings.port("frontend")
    this = {
        "enabled": True,
        "initialFailoverVersion": 1,
        "rpcName": "frontend",
        "rpcAddress": f"{_LOOPBACK}:{frontend}",
    }
    return {
        "log": {"stdout": True, "level": "warn"},
        "persistence": {
            "defaultStore": HISTORY,
            "visibilityStore": VISIBILITY,
            "numHistoryShards": HISTORY_SHARDS,
            "datastores": {HISTORY: _store(HISTORY, 20, settings), VISIBILITY: _store(VISIBILITY, 5, settings)},
        },
        "global": {"membership": {"maxJoinDuration": "30s", "broadcastAddress": _LOOPBACK}},
        "services": {name: {"rpc": _rpc(name, settings)} for name in SERVICES},
        "clusterMetadata": {
            "enableGlobalNamespace": False,
            "failoverVersionIncrement": 10,
            "masterClusterName": "active",
            "currentClusterName": "active",
            "clusterInformation": {"active": this},
        },
    }


def _store(database: str, connections: int, settings: Settings) -> dict[str, object]:
    """Return one database's settings. Each of the services opens as many connections, at most."""
    return {
        "sql": {
            "pluginName": "postgres12",
            "databaseName": database,
            "connectAddr": f"{_LOOPBACK}:{settings.port('postgres')}",
            "connectProtocol": "tcp",
            "user": SUPERUSER,
            "password": settings.temporal_password.get_secret_value(),
            "maxConns": connections,
            "maxIdleConns": connections,
            "maxConnLifetime": "1h",
        }
    }


def _rpc(service: str, settings: Settings) -> dict[str, object]:
    ports = {"grpcPort": settings.port(service), "membershipPort": settings.port(f"{service} membership")}
    return {**ports, "bindOnLocalHost": True}
