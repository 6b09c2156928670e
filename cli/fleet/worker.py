"""`fleet worker`: the worker of a site, or that of the workflows."""

import argparse
import asyncio
from pathlib import Path

from base.errors import ConfigError, Fault
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK
from fleet.worker import serve, site_worker, workflow_worker


def _add_worker(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--site", metavar="SITE", help="a site of fleet.yaml; run it in the site's clone")


def worker(options: argparse.Namespace) -> int:
    """Run the worker of a site, or that of the workflows, until SIGTERM.

    Then take nothing new, and wait for the updates under way. With --site, updates run in checkouts below .fleet/,
    with this process's environment: passphrase, backend, logins. These never leave the site. FLEET_KEY_FILE names
    the fleet's key, TEMPORAL_ADDRESS the server.
    """
    root = Path.cwd()
    if options.site and not (root / "Pulumi.yaml").exists():
        fix = "run this in the site's clone of the repository of stacks"
        raise ConfigError(Fault(str(root), "has no Pulumi.yaml", fix))
    name = f"site {options.site}" if options.site else "the workflows"
    ready = f"worker of {name}: ready"
    if options.site:
        asyncio.run(serve(lambda client: site_worker(client, options.site, root), ready))
    else:
        asyncio.run(serve(workflow_worker, ready))
    return EXIT_OK


COMMAND = Command(worker, _add_worker)
