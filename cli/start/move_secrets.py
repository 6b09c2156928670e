"""`move-secrets`: from a stack's install-config into the stack, where they are encrypted."""

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

from base.errors import ConfigError
from base.files import read_file, write_private
from base.shapes import Location
from base.yaml_edit import emptied
from cli.inspect.check import check_file
from cli.shared.command import Command, add_stack
from cli.shared.command_line import EXIT_OK, install_config, stack_file, writing
from cli.shared.stack_options import set_stack_secret, stack_options
from cli.start.new_stack import Option, lacking
from cluster.install_config import InstallConfig, may_be_a_secret
from cluster.stack_file import LOGINS, PULL_SECRET


class _Secret(NamedTuple):
    """A secret of an install-config."""

    location: Location
    option: Option
    text: str


def move_secrets(options: argparse.Namespace) -> int:
    """Move the logins and the pull secret of stacks/STACK/install-config.yaml into the stack, encrypted by Pulumi.

    In the file, each becomes an empty text; all else stays, also the ends of lines. What the stack has already
    stays there: it counts anyway. A second call, also after a failed one, moves what is left.
    """
    stack, file = options.stack, install_config(options.stack)
    checked = check_file(str(file))
    if faults := [fault for fault in checked.of_its_content if not may_be_a_secret(fault)]:
        raise ConfigError(*(fault.within(str(file)) for fault in faults))
    secrets = [*_secrets(checked.config)]
    try:
        text = emptied(checked.text, *(secret.location for secret in secrets))
    except ConfigError as error:
        raise ConfigError(error.fault.within(str(file))) from None
    present: dict[str, Any] = stack_options(stack)
    for secret in secrets:
        where = f"{stack_file(stack)}: {secret.option.name}"
        if lacking([secret.option], present):
            set_stack_secret(stack, secret.option.name, secret.text)
            print(f"{where}: encrypted")
        else:
            print(f"{where}: unchanged")
    ends = "\r\n" if b"\r\n" in read_file(file) else "\n"
    with writing(file, "make its folder writable"):
        write_private(file, text.replace("\n", ends), file.stat().st_mode & 0o777)
    print(f"{file}: {'without them' if secrets else 'no secret that a stack can have'}")
    return EXIT_OK


def _secrets(config: InstallConfig) -> Iterator[_Secret]:
    if pull_secret := config.pull_secret.get_secret_value():
        yield _Secret(("pullSecret",), Option((PULL_SECRET,)), pull_secret)
    for index, host in enumerate(config.baremetal.hosts or ()):
        login = {"username": host.bmc.username, "password": host.bmc.password.get_secret_value()}
        for key, text in login.items():
            if text:
                location = ("platform", "baremetal", "hosts", index, "bmc", key)
                yield _Secret(location, Option((LOGINS, host.name, key)), text)


COMMAND = Command(move_secrets, add_stack)
