"""`vrid`: print the VRIDs that follow from a cluster's name."""

import argparse

from base.errors import ConfigError
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK
from cluster.install_config.rules.names import name_fault
from cluster.values.vrrp import derived_vrids


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME")


def vrid(options: argparse.Namespace) -> int:
    """Print the VRIDs of each cluster: NAME API INGRESS PROVISIONING."""
    faults = {name: fault for name in options.names if (fault := name_fault(name))}
    for name in options.names:
        if name not in faults:
            print(name, *derived_vrids(name))
    if faults:
        raise ConfigError(*faults.values())
    return EXIT_OK


COMMAND = Command(vrid, _add_arguments)
