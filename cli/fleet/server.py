"""`fleet server`: a development server of the fleet on this machine, with the worker of the workflows."""

import argparse
import asyncio
import os
import sys
from pathlib import Path

from base.files import write_private
from cli.shared.command import ArgumentParser, Command
from cli.shared.command_line import EXIT_OK
from fleet.codec import KEY_FILE, new_key
from fleet.server.development import DevelopmentServer, running
from fleet.worker import serve, workflow_worker

LOOK_S = 1


def _add_arguments(parser: ArgumentParser) -> None:
    what = "keeps their data; made if missing"
    parser.add_argument("--folder", type=Path, metavar="DIR", required=True, help=what)


def server(options: argparse.Namespace) -> int:
    """Run PostgreSQL, Temporal's server and UI on loopback, with the worker of the workflows, until SIGTERM.

    DIR keeps their data, the fleet's key, and the environment of workers and of the command line, with the login of
    the database in which Pulumi may keep its state. For one machine: docs/how-to/many-sites.md describes production.
    """
    folder: Path = options.folder.resolve()
    with running(folder, lambda text: print(f"fleet server: {text}", file=sys.stderr, flush=True)) as development:
        key, environment = folder / "fleet.key", folder / "environment"
        if not key.exists():
            write_private(key, new_key())
        clients = {"TEMPORAL_ADDRESS": development.address, KEY_FILE: str(key)}
        os.environ.update(clients)
        found = clients | dict(development.state)
        # In a file that only its owner reads: the password of the database is among them.
        write_private(environment, "".join(f"export {name}={value}\n" for name, value in found.items()))
        asyncio.run(_served(development, f"ready; UI: {development.ui}; in other shells: . {environment}"))
    return EXIT_OK


async def _served(development: DevelopmentServer, ready: str) -> None:
    """Run the worker as long as all parts of the server do."""
    serving = asyncio.ensure_future(serve(workflow_worker, ready))
    while not serving.done() and development.fault() is None:
        await asyncio.wait({serving}, timeout=LOOK_S)
    if not serving.done():
        serving.cancel()
        await asyncio.wait({serving})
        return
    serving.result()


SERVER = Command(server, _add_arguments)
