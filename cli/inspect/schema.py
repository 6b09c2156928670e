"""`schema`: print the JSON Schemas of install-config, of the stack's options and of fleet.yaml."""

import argparse
import json

from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK
from cluster.json_schema import schemas
from fleet.plan import schema as of_fleet


def schema(_: argparse.Namespace) -> int:
    """Print the JSON Schemas of install-config, options and fleet.yaml."""
    print(json.dumps({**schemas(), "fleet": of_fleet()}, indent=2))
    return EXIT_OK


COMMAND = Command(schema)
