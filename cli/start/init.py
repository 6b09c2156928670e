"""`init`: from an install-config to a stack, with all that can be known about it."""

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from base.errors import ConfigError, Fault
from base.files import PRIVATE, write_private
from cli.bmc import consents_of
from cli.inspect.check import check_file, print_verdicts
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK, install_config, stack_file
from cli.start.discovered_options import discover_options
from cli.start.new_stack import Option, left_to_do, stack_text
from cli.start.site_facts import LocalSite
from cluster.files import read_text
from cluster.install_config import may_be_a_secret
from cluster.known_options import PULL_SECRET
from cluster.plan import Intent, load_bmcs
from cluster.plan.intent import intent_of
from cluster.values.pull_secret import SET

PUBLIC = 0o644
NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")  # as Pulumi names stacks
NEXT = """\
check all of it: okd-baremetal plan {file} --stack {stack}
the BMCs: okd-baremetal bmc check {file} --stack {stack}
the files, before anything is touched: pulumi preview --diff --stack {stack}"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stack", metavar="STACK", help="the name of the new stack")
    parser.add_argument("--install-config", type=Path, metavar="FILE", required=True, help="is copied")
    what = "read the BMCs, and consent to the machines behind them"
    parser.add_argument("--consents", action="store_true", help=what)


def init(options: argparse.Namespace) -> int:
    """Write stacks/STACK/install-config.yaml and stacks/Pulumi.STACK.yaml.

    The first is the file as it is; the second has all options that DNS, this machine's routes, libvirt and
    openshift-install on PATH tell. Change nothing else, and overwrite no file. Print what is left to do, each with
    its command.
    """
    stack, source = options.stack, options.install_config
    if not NAME.fullmatch(stack) or not stack.strip("."):
        fix = "use letters, digits, hyphens, underscores and dots"
        raise ConfigError(Fault("STACK", f"{stack} is not a stack's name", fix))
    checked = check_file(str(source))
    checked = checked._replace(faults=tuple(fault for fault in checked.faults if not may_be_a_secret(fault)))
    if checked.faults or checked.refusals:
        return print_verdicts([checked])
    intent = intent_of(checked.config)
    consents = _consents(source, intent) if options.consents else {}
    discovered = [*discover_options(intent, LocalSite(), stack, consents)]
    text = stack_text(stack, discovered)
    _write({install_config(stack): (PRIVATE, checked.text), stack_file(stack): (PUBLIC, text)})
    print(f"\nLeft to do:\nthe stack in Pulumi's state: pulumi stack init {stack}")
    if not checked.config.pull_secret.get_secret_value():
        print(f"{PULL_SECRET}: {SET}")
    for line in (*_logins(intent), *left_to_do(discovered)):
        print(line)
    print(NEXT.format(file=install_config(stack), stack=stack))
    return EXIT_OK


def _consents(source: Path, intent: Intent) -> Mapping[str, str]:
    """Return the consents to the machines behind the BMCs, with the logins of the install-config."""
    plan = load_bmcs(source, {})
    return consents_of(plan, plan.servers) if intent.servers else {}


def _logins(intent: Intent) -> Iterator[str]:
    """Yield the commands that set the logins which the install-config does not have."""
    for host in intent.hosts:
        login = {"username": host.bmc.username, "password": host.bmc.password.get_secret_value()}
        for key, text in login.items():
            if not text:
                name = Option(("bmc_credentials", host.name, key)).name
                secret, value = ("--secret ", "") if key == "password" else ("", " <name>")
                yield f"{name}: pulumi config set {secret}--path '{name}'{value}"


def _write(files: Mapping[Path, tuple[int, str]]) -> None:
    """Write the files, or none if one is there with other contents.

    Raises:
        ConfigError: A file exists, or cannot be written.
    """
    there = {path: text for path, (_, text) in files.items() if path.exists()}
    fix = "name another stack, or move that file aside"
    if other := [path for path, text in there.items() if read_text(path) != text]:
        raise ConfigError(*(Fault(str(path), "exists already, with other contents", fix) for path in other))
    for path, (mode, text) in files.items():
        try:
            if path not in there:
                write_private(path, text, mode)
        except OSError as error:
            fault = Fault(str(path), f"cannot be written ({error.strerror})", "make its folder writable")
            raise ConfigError(fault) from None
        print(f"{path}: {'unchanged' if path in there else 'written'}")


COMMAND = Command(init, _add_arguments)
