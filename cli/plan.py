"""`plan`: print the plan of an install-config, alone or with a stack's options."""

import argparse
import json

from cli.command_line import GOOD, stack_file
from cluster.options import read_stack_file
from cluster.plan import load_intent, plan_json


def plan(options: argparse.Namespace) -> int:
    """Print the plan as JSON."""
    stack = None if options.stack is None else read_stack_file(stack_file(options.stack))
    print(json.dumps(plan_json(load_intent(options.file, stack)), indent=2))
    return GOOD
