"""`payload-config`: print the install-config that the payload is generated from."""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

from base.errors import ConfigError, Fault, word
from cli.inspect.check import check_file
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK, stack_file
from cli.shared.stack_options import stack_pull_secret
from cluster.install_config import InstallConfig, may_be_a_secret
from cluster.install_config.read import mapping
from cluster.install_config.rules.access import NO_PULL_SECRET
from cluster.stack_file import read_options
from cluster.values.platform import ClusterPlatform
from payload.payload_config import payload_config as payload_text


class PayloadConfig(NamedTuple):
    """The install-config that the payload is generated from."""

    config: InstallConfig
    """The one that it is made from."""
    text: str
    """It holds the pull secret."""
    platform: ClusterPlatform


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--stack", metavar="STACK", help="take platform and pull secret from the stack")


def payload_config(options: argparse.Namespace) -> int:
    """Print the install-config that the payload is generated from.

    Without --stack, it is of platform none. It holds the pull secret, so it is not printed to a terminal.
    """
    if sys.stdout.isatty():
        what = "standard output is a terminal, but the output holds the pull secret"
        fix = f"run `okd-baremetal payload-config {word(options.file)} > DIR/install-config.yaml`"
        raise ConfigError(Fault("", what, fix))
    print(config_of_payload(options.file, options.stack).text, end="")
    return EXIT_OK


def config_of_payload(file: Path, stack: str | None) -> PayloadConfig:
    """Return the install-config that a stack's payload is generated from.

    Args:
        file: The install-config.
        stack: The stack, whose pull secret comes before that of the file. None: no stack, and platform none.

    Raises:
        ConfigError: openshift-install would refuse the install-config; one fault each.
    """
    platform = ClusterPlatform.NONE if stack is None else _platform(stack)
    pull_secret = "" if stack is None else stack_pull_secret(stack)
    checked = check_file(str(file))

    def excused(fault: Fault) -> bool:
        """Missing logins may be secrets of the stack, and the payload does not need them."""
        return may_be_a_secret(fault) and (fault != NO_PULL_SECRET or bool(pull_secret))

    if faults := [fault for fault in checked.of_its_content if not excused(fault)]:
        raise ConfigError(*(fault.within(str(file)) for fault in faults))
    secrets = {"pullSecret": pull_secret} if pull_secret else {}
    text = payload_text({**mapping(checked.text), **secrets}, checked.config.networking, platform)
    return PayloadConfig(checked.config, text, platform)


def _platform(stack: str) -> ClusterPlatform:
    file = stack_file(stack)
    written = read_options(file).get("platform", ClusterPlatform.NONE)
    if written not in tuple(ClusterPlatform):
        fix = f"write {' or '.join(ClusterPlatform)}"
        raise ConfigError(Fault(f"{file}: platform", f"not one of {', '.join(ClusterPlatform)}", fix))
    return ClusterPlatform(written)


COMMAND = Command(payload_config, _add_arguments)
