"""`init`: from an install-config to a stack, with all that can be known about it."""

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from base.errors import ConfigError, Fault, one_line, quoted, word
from base.files import PRIVATE, write_private
from base.yaml_text import parse_yaml
from cli.bmc import consents_of
from cli.inspect.check import check_file, print_verdicts
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK, install_config, stack_file, writing
from cli.shared.stack_options import stack_options
from cli.start.discovered_options import NewStack, discover_options
from cli.start.new_stack import HEAD, Option, lacking, left_to_do, stack_text
from cli.start.site_facts import LocalSite
from cluster.files import read_text
from cluster.install_config import InstallConfig, may_be_a_secret, read
from cluster.inventory.devices import Device
from cluster.inventory.file import inventory_file, read_inventory
from cluster.inventory.hosts import Proposal, proposed, room_for_hosts, with_hosts
from cluster.inventory.model import Inventory
from cluster.inventory.source_of_truth import differences, proposed_by_netbox
from cluster.plan import Intent, load_bmcs
from cluster.plan.intent import intent_of
from cluster.stack_file import LOGINS, PULL_SECRET, read_options
from cluster.stack_file_faults import plain_secrets_of_config
from cluster.values.address import Address, parse_address
from cluster.values.pull_secret import SET
from wires.bmc.client import Identity
from wires.bmc.identity import usable
from wires.netbox.page import device_page

PUBLIC = 0o644
NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")  # as Pulumi names stacks
NEXT = """\
check all of it: okd-baremetal plan {file} --stack {stack}
the BMCs: okd-baremetal bmc check {file} --stack {stack}
the files, before anything is touched: pulumi preview --diff --stack {stack}"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stack", metavar="STACK", help="the name of the stack")
    what = "is copied; not needed again for a stack that has it"
    parser.add_argument("--install-config", type=Path, metavar="FILE", help=what)
    either = parser.add_mutually_exclusive_group()
    what = "read the BMCs, and consent to the machines behind them"
    either.add_argument("--consents", action="store_true", help=what)
    what = "write hosts into the copy, and consents, from what `discover --json` printed"
    either.add_argument("--discover", type=Path, metavar="FILE", help=what)
    what = "write hosts into the copy from NetBox: the address of its list of devices, filtered; NETBOX_TOKEN is read"
    parser.add_argument("--netbox", metavar="URL", help=what)


def init(options: argparse.Namespace) -> int:
    """Write stacks/STACK/install-config.yaml and stacks/Pulumi.STACK.yaml.

    The first is the file as it is, with --discover or --netbox also the hosts that its replicas want, by rules that
    it repeats. With both, names, roles and cards are NetBox's, the rest is the BMCs', and what they say otherwise of
    a server is printed first. The second has all options that DNS, NetBox, this machine's routes, libvirt and
    openshift-install on PATH tell. Change nothing else. Print what is left to do, each with its command. A repeated
    call adds what has become known since, and changes nothing that is there.
    """
    stack, file = options.stack, stack_file(options.stack)
    source: Path = options.install_config or install_config(stack)
    _refuse_names(stack, source, is_given=options.install_config is not None)
    found = _discovered(source, options) if options.discover or options.netbox else Discovered()
    checked = check_file(str(source), text=found.text)
    checked = checked._replace(faults=tuple(fault for fault in checked.faults if not may_be_a_secret(fault)))
    if checked.faults or checked.refusals:
        return print_verdicts([checked])
    if options.install_config:
        _refuse_another(install_config(stack), checked.text)
    present = read_options(file) if file.exists() else {}
    text = read_text(file) if file.exists() else HEAD.format(stack=stack)
    intent = intent_of(checked.config)
    consents = (
        _consents(source, intent, stack_options(stack) if present else {}) if options.consents else found.consents
    )
    new = NewStack(stack, present, consents, checked.config.os_image_stream, found.primary_ips)
    discovered = lacking([*discover_options(intent, LocalSite(), new)], present)
    _write(install_config(stack), checked.text, PRIVATE)
    _write(file, stack_text(text, discovered), PUBLIC)
    if options.discover:
        _write(inventory_file(stack), read_text(options.discover), PUBLIC)
    print("\nLeft to do:")
    if parse_yaml(text).keys() == {"config"}:  # Pulumi adds a key of its own
        print(f"the stack in Pulumi's state: pulumi stack init {word(stack)}")
    for line in (*_secrets(checked.config, present), *left_to_do(discovered)):
        print(line)
    if [*plain_secrets_of_config(checked.config, stack)]:
        print(f"before you commit, the secrets: okd-baremetal move-secrets {word(stack)}")
    print(NEXT.format(file=word(install_config(stack)), stack=word(stack)))
    return EXIT_OK


def _refuse_names(stack: str, source: Path, *, is_given: bool) -> None:
    """Return if a stack may have its name, and there is an install-config for it."""
    if not NAME.fullmatch(stack) or not stack.strip("."):
        fix = "use letters, digits, hyphens, underscores and dots"
        raise ConfigError(Fault("STACK", f"{stack} is not a stack's name", fix))
    if not is_given and not source.exists():
        raise ConfigError(Fault(str(source), "not there yet", "name the file to copy, with --install-config"))


class Discovered(NamedTuple):
    """What is known of the hosts of a stack that has none."""

    text: str = ""
    """The install-config with them."""
    consents: Mapping[str, str] = {}
    primary_ips: Mapping[str, list[Address]] = {}


def _discovered(source: Path, options: argparse.Namespace) -> Discovered:
    """Return the hosts that NetBox and the BMCs propose. What they say otherwise of each other is printed."""
    if options.consents:
        fix = "leave it out, set the logins that are left to do, and repeat with --consents alone"
        raise ConfigError(Fault("--consents", "no login can be known of hosts that are written now", fix))
    inventory = read_inventory(options.discover) if options.discover else None
    where, devices = str(options.discover), list[Device]()
    try:
        text = read_text(source)
        room_for_hosts(text)
        config = read(text).config
    except ConfigError as error:
        raise ConfigError(*(fault.within(str(source)) for fault in error.faults)) from None
    if options.netbox:
        from wires.netbox.client import read_devices  # noqa: PLC0415 (imports requests, which `--help` does not need)

        devices = read_devices(device_page(options.netbox))
    if inventory and devices:
        _print_differences(devices, inventory)
    if inventory and not options.netbox:
        proposal = proposed(config, inventory, where)
    else:
        proposal = proposed_by_netbox(config, devices, inventory, where)
    _refuse_one_machine_twice(proposal, where)
    names = {
        host.name: usable(Identity(host.server.uuid, host.server.serial)) for host in proposal.hosts if host.server
    }
    ips = {it.name: [ip for each in it.addresses if (ip := parse_address(each))] for it in devices}
    return Discovered(with_hosts(text, proposal), {host: name for host, name in names.items() if name}, ips)


def _print_differences(devices: Sequence[Device], inventory: Inventory) -> None:
    lines = [*differences(devices, inventory)]
    print("NetBox and the BMCs differ:" if lines else "NetBox and the BMCs agree.")
    for line in lines:
        print(one_line(line))


def _refuse_one_machine_twice(proposal: Proposal, where: str) -> None:
    names = {it.bmc: usable(Identity(it.uuid, it.serial)) for host in proposal.hosts if (it := host.server)}
    given = [name for name in names.values() if name]
    if twice := [bmc for bmc, name in names.items() if given.count(name) > 1]:
        what = f"{', '.join(twice)} lead to one machine"
        raise ConfigError(Fault(where, what, "take all but one of them out of it"))


def _consents(source: Path, intent: Intent, options: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the consents to the machines behind the BMCs, with the logins of the install-config and the stack."""
    plan = load_bmcs(source, options)
    return consents_of(plan, plan.servers) if intent.servers else {}


def _secrets(config: InstallConfig, present: Mapping[str, Any]) -> Iterator[str]:
    """Yield the commands that set the secrets which neither file has."""
    if not config.pull_secret.get_secret_value() and not present.get(PULL_SECRET):
        yield f"{PULL_SECRET}: {SET}"
    for host in config.baremetal.hosts or ():
        login = {"username": host.bmc.username, "password": host.bmc.password.get_secret_value()}
        options = [Option((LOGINS, host.name, key)) for key, text in login.items() if not text]
        for option in lacking(options, present):
            secret, value = ("--secret ", "") if option.path[-1] == "password" else ("", " <name>")
            yield f"{option.name}: pulumi config set {secret}--path {quoted(option.name)}{value}"


def _refuse_another(path: Path, text: str) -> None:
    """Raise a `ConfigError` if a stack has another install-config."""
    if path.exists() and read_text(path) != text:
        fix = "leave out --install-config to go on with that file, or name another stack"
        raise ConfigError(Fault(str(path), "exists already, with other contents", fix))


def _write(path: Path, text: str, mode: int) -> None:
    """Write a file, unless that is what it has, and print what became of it.

    Raises:
        ConfigError: It cannot be written.
    """
    there = path.exists()
    changed = not there or read_text(path) != text
    if changed:
        with writing(path, "make its folder writable"):
            write_private(path, text, path.stat().st_mode & 0o777 if there else mode)
    print(f"{path}: {'extended' if there and changed else 'written' if changed else 'unchanged'}")


COMMAND = Command(init, _add_arguments)
