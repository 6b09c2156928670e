"""`schema`: what may be in both inputs."""

import argparse
import json

from cli.command_line import GOOD
from cluster.json_schema import schemas


def schema(_: argparse.Namespace) -> int:
    """The JSON Schemas of both inputs."""
    print(json.dumps(schemas(), indent=2))
    return GOOD
