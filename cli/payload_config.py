"""`payload-config`: print the install-config of platform none that the payload is generated from."""

import argparse
import sys

from cli.check import judge
from cli.command_line import GOOD
from cluster.install_config.read import mapping
from cluster.install_config.rules.hosts import LOGIN
from payload.payload_config import payload_config as payload_text
from providers.base.errors import ConfigError, Fault


def payload_config(options: argparse.Namespace) -> int:
    """Print the install-config of platform none. It holds a secret, so refuse to print to a terminal."""
    if sys.stdout.isatty():
        what = "standard output is a terminal, but the output holds the pull secret"
        fix = f"run `okd-baremetal payload-config {options.file} > DIR/install-config.yaml`"
        raise ConfigError([Fault("", what, fix)])
    file = judge(options.file)
    # Ignore missing logins: they may be secrets of the stack, and the payload does not need them.
    if found := [fault for fault in file.faults if not LOGIN.fullmatch(fault.where)]:
        raise ConfigError(fault.within(file.file) for fault in found)
    print(payload_text(mapping(file.text), file.config.networking), end="")
    return GOOD
