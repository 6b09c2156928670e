"""`schema`: print the JSON Schemas of install-config and of the stack's options."""

import argparse
import json

from cli.command_line import GOOD
from cluster.json_schema import schemas


def schema(_: argparse.Namespace) -> int:
    """Print the JSON Schemas of both inputs."""
    print(json.dumps(schemas(), indent=2))
    return GOOD
