"""`plan`: print the plan of an install-config, with or without a stack's options."""

import argparse
import json
import sys
from pathlib import Path

from assets.render import render
from base.errors import ConfigError, Fault, OkdBaremetalError, one_line
from base.yaml_text import parse_yaml_as_written
from boot_media.keyfiles import keyfiles_of
from cli.inspect.render import own_configs
from cli.shared.command import Command, add_stack_option
from cli.shared.command_line import EXIT_INVALID, EXIT_OK, stack_file
from cli.shared.notices import notices
from cluster.files import read_yaml
from cluster.install_config.unquoted import misread_scalars
from cluster.known_options import SECRETS, holds_ciphertext
from cluster.options import Options
from cluster.plan import ClusterPlan, Intent, check_inputs, load_intent, plan_json
from cluster.plan.addresses import CONFIG
from cluster.plan.load import CheckedInputs
from cluster.plan.sample_values import with_samples
from cluster.stack_file import read_options
from cluster.stack_file_faults import misplaced_keys
from payload.reading import payload_folder
from payload.stack_payload import LocalPayloadFiles, StackPayload


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE")
    add_stack_option(parser, ", and refuse what a preview refuses")
    what = "also ask the registries for all images and signatures; needs --stack"
    parser.add_argument("--online", action="store_true", help=what)


def plan(options: argparse.Namespace) -> int:
    """Print the plan as JSON.

    With --stack, print it only if the stack can be installed; else print all that a preview would refuse, in one run:
    missing and wrong options, networkConfigs, and the payload's faults if it is there. Pulumi is not needed: an
    encrypted option counts as present and right. Notices name what the inventory contradicts that `init --discover`
    has kept: a hint that fits several disks, the boot MAC of another server, a server too small for its role.

    With --online, ask the registries as the cluster's machines would, by its mirrors, pull secret, trust bundle and
    proxy, within 60 seconds, and change nothing. What they lack is printed, one line each, in place of the plan; then
    the exit code is 2.
    """
    if options.online and options.stack is None:
        raise ConfigError(Fault("--online", "needs a stack, whose payload names the release", "add --stack STACK"))
    planned = load_intent(options.file) if options.stack is None else complete_plan(options.file, options.stack)
    for notice in notices(options.stack, lambda: planned) if options.stack is not None else ():
        print(notice, file=sys.stderr)
    if options.online and not _is_all_there(options.file, options.stack, planned):
        return EXIT_INVALID
    print(json.dumps(plan_json(planned), indent=2))
    return EXIT_OK


def _is_all_there(file: Path, stack: str, planned: Intent) -> bool:
    """Print what registries and proxy lack, or that they have all, and return which."""
    from cli.inspect.online import online  # noqa: PLC0415  (it imports the wires, for which `plan` alone need not wait)

    lacks, lines = online(file, stack, planned)
    for line in (*map(str, lacks), *lines):
        print(one_line(line), file=sys.stderr)
    return not lacks


def complete_plan(file: Path, stack: str) -> Intent:
    """Return what a stack would install.

    Args:
        file: The install-config.
        stack: The stack with the options. Encrypted ones count as present.

    Raises:
        ConfigError: A preview would refuse the inputs, or `up` the payload; it has all faults, one line each.
    """
    options = read_options(stack_file(stack))
    written = read_options(stack_file(stack), parse_yaml_as_written)
    misread = [fault.within(CONFIG) for fault in misread_scalars(Options, options, written)]
    misread += [fault.within(str(stack_file(stack))) for fault in misplaced_keys(read_yaml(stack_file(stack)))]
    plain = [name for name in SECRETS if not holds_ciphertext(options.get(name))]
    checked = check_inputs(file, options, keyfiles_of, plain=plain)
    if checked.intent is None:
        raise ConfigError(*misread, *checked.faults)
    if found := [*misread, *checked.faults, *_faults_of_files(checked.intent, checked, stack)]:
        raise ConfigError(*found)
    return checked.intent


def _faults_of_files(intent: Intent, checked: CheckedInputs, stack: str) -> list[Fault]:
    """Return the faults of the rendered files and, if it is there, of the payload."""
    try:
        # What is missing is a fault already, and hides none of the files' faults.
        plan = ClusterPlan(**dict(with_samples(intent)[0]), options=checked.known.options)
        rendered = render(plan)
        own_configs(plan, rendered)
    except OkdBaremetalError as error:
        return [*error.faults]
    if not any(payload_folder(stack).glob("*.ign")) or not checked.known.counts("payload"):
        return []
    return StackPayload.of(plan, stack, rendered.paths).faults(LocalPayloadFiles())


COMMAND = Command(plan, _add_arguments)
