"""`check` and `clashes`: both verdicts on install-configs, and the clashes between them."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from base.errors import ConfigError, Fault, Stricter, one_line
from base.git import tracked
from boot_media.keyfiles import keyfiles_of
from boot_media.tools import has_nmstatectl
from cli.shared.command import Command
from cli.shared.command_line import EXIT_INVALID, EXIT_NOT_INSTALLABLE, EXIT_OK
from cluster.clashes import ClusterConfig, clashes_between
from cluster.files import read_text, read_yaml
from cluster.install_config import InstallConfig, may_be_a_secret, read
from cluster.install_config.releases import Release
from cluster.known_options import KnownOptions, known_options
from cluster.options import MachineOptions
from cluster.plan.intent import NO_OPTIONS
from cluster.plan.load import credentials_of, has_secret, network_refusals
from cluster.plan.refusals.unsupported import beyond_this_release, unsupported
from cluster.stack_file import read_options
from cluster.stack_file_faults import misplaced_keys, plain_secrets_of_config, plain_secrets_of_options
from payload.release import payload_release


class CheckedFile(NamedTuple):
    """One file and both verdicts on it."""

    file: str
    text: str
    config: InstallConfig
    """The file's content; an empty config if the file cannot be read."""
    faults: tuple[Fault, ...]
    """What openshift-install refuses."""
    refusals: tuple[Fault, ...] = ()
    """What of the rest this program refuses: `Stricter` rules, and what this release cannot install."""

    @property
    def of_its_content(self) -> list[Fault]:
        """All but what this release cannot install: with any of these, `config` may not be what was meant."""
        return [*self.faults, *(fault for fault in self.refusals if isinstance(fault, Stricter))]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE")


def _add_arguments_of_check(parser: argparse.ArgumentParser) -> None:
    _add_arguments(parser)
    what = (
        "each FILE is stacks/STACK/install-config.yaml or stacks/Pulumi.STACK.yaml: check both together, and refuse "
        "secrets in plain text, which git must not have"
    )
    parser.add_argument("--stack", action="store_true", help=what)


def check(options: argparse.Namespace) -> int:
    """Print two verdicts on each install-config, or `ok`.

    The first is what openshift-install would refuse: with --stack that of the release that made the stack's payload,
    else the newest. The second is what of the rest this program refuses, or cannot install; its lines say
    `valid, but not installable`. Without --stack, a notice names each secret that git has in plain text. Exit codes:
    0 both are fine, 2 a file is invalid, 3 all are valid, but at least one is not installable.
    """
    if options.stack:
        stacks = dict.fromkeys(map(_stack_of, options.files))
        return print_verdicts(file for folder, stack in stacks for file in _check_stack(folder, stack))
    files = [check_file(file) for file in options.files]
    _print_secrets_in_git(files)
    return print_verdicts(files)


def clashes(options: argparse.Namespace) -> int:
    """Check the install-configs of one layer-2 network, and print each clash between two with the later file.

    This command reads no options: it derives the VRIDs from the clusters' names, and a login or pull secret may be
    missing, because a stack may have it. The exit codes are those of `check`; a clash counts as an invalid file.
    """
    files = [check_file(file, may_lack=may_be_a_secret) for file in options.files]
    clashing = clashes_between([ClusterConfig(file.file, file.config) for file in files])
    return print_verdicts(
        file._replace(faults=(*file.faults, *faults)) for file, faults in zip(files, clashing, strict=True)
    )


def _nothing(_: Fault) -> bool:
    return False


def check_file(
    file: str,
    known: KnownOptions | None = None,
    may_lack: Callable[[Fault], bool] = _nothing,
    release: Release | None = None,
    text: str = "",
) -> CheckedFile:
    """Read and check one file, and print its notices.

    Args:
        file: Its path.
        known: The options of its stack: their addresses are checked with it, and it may lack the secrets that
            they have.
        may_lack: Whether a fault does not count.
        release: The release of openshift-install whose verdict counts; None: the newest.
        text: What it is to contain; empty: what it contains.
    """
    try:
        text = text or read_text(Path(file))
        reading = read(text, credentials_of(known.options.bmc_credentials) if known else None, release)
    except ConfigError as error:
        return CheckedFile(file, text, InstallConfig(), *_by_owner(error.faults))
    for notice in reading.notices:
        _print_notice(file, notice)
    options: MachineOptions = known.options if known else NO_OPTIONS
    invalid, refusals = map(list, _by_owner(reading.faults))
    refusals += beyond_this_release(reading, options)
    if all(map(may_be_a_secret, reading.faults)) and not any(unsupported(reading.config)):
        refusals += network_refusals(reading.config, options, keyfiles_of if has_nmstatectl() else None)
    faults = (fault for fault in invalid if not may_lack(fault) and not (known and has_secret(known, fault)))
    return CheckedFile(file, text, reading.config, tuple(faults), tuple(refusals))


def _print_notice(file: str, notice: Fault) -> None:
    print(one_line(str(replace(notice, what=f"notice: {notice.what}").within(file))), file=sys.stderr)


def _print_secrets_in_git(files: Iterable[CheckedFile]) -> None:
    """Print a notice for each secret in plain text in git. No verdict changes: openshift-install wants them there."""
    plain = {file.file: [*plain_secrets_of_config(file.config, _name_of_stack(file.file))] for file in files}
    in_git = tracked(Path(file) for file, secrets in plain.items() if secrets)
    for file, secrets in plain.items():
        for secret in secrets if Path(file) in in_git else ():
            _print_notice(file, secret)


def _name_of_stack(file: str) -> str:
    """Return the name of the stack of which a file is the install-config; empty if it is that of none."""
    folder = Path(file).absolute().parent
    return folder.name if Path(file).name == "install-config.yaml" and folder.parent.name == "stacks" else ""


def _by_owner(faults: Iterable[Fault]) -> tuple[tuple[Fault, ...], tuple[Fault, ...]]:
    """Return the faults that openshift-install has too, and the others."""
    listed = [*faults]
    own = tuple(fault for fault in listed if isinstance(fault, Stricter))
    return tuple(fault for fault in listed if fault not in own), own


def _stack_of(file: str) -> tuple[Path, str]:
    """Return the folder of the stack that a file is of, and its name.

    Raises:
        ConfigError: It is a file of none.
    """
    path = Path(file)
    if path.name == "install-config.yaml":
        return path.parent.parent, path.parent.name
    if options := re.fullmatch(r"Pulumi\.(.+)\.yaml", path.name):
        return path.parent, options[1]
    what = "not a file of a stack"
    raise ConfigError(Fault(file, what, "name stacks/STACK/install-config.yaml, or leave out --stack"))


def _check_stack(folder: Path, stack: str) -> Iterator[CheckedFile]:
    """Check the two files of a stack together, as git may have them."""
    options_file, config_file = folder / f"Pulumi.{stack}.yaml", folder / stack / "install-config.yaml"
    options, faults = dict[str, Any](), list[Fault]()
    may_lack: Callable[[Fault], bool] = _nothing
    try:
        options = read_options(options_file)
        faults = [*misplaced_keys(read_yaml(options_file)), *plain_secrets_of_options(options)]
    except ConfigError as error:
        faults = [replace(fault, where="") for fault in error.faults]  # it names the file
        may_lack = may_be_a_secret  # which the file may have
    release = payload_release(folder / stack / "payload" / "bootstrap.ign")
    checked = check_file(str(config_file), known_options(options), may_lack, release)
    was_read = checked.config != InstallConfig()  # with the stack's logins, which are not in the file itself
    plain = plain_secrets_of_config(read(checked.text).config, stack) if was_read else ()
    yield checked._replace(faults=(*checked.faults, *plain))
    if faults:
        yield CheckedFile(str(options_file), "", InstallConfig(), tuple(faults))


def print_verdicts(files: Iterable[CheckedFile]) -> int:
    """Print what is wrong in each file, or `ok`, and return the exit code."""
    code = EXIT_OK
    for file in files:
        if file.faults:
            code = EXIT_INVALID
        elif file.refusals and code == EXIT_OK:
            code = EXIT_NOT_INSTALLABLE
        refusals = [replace(fault, what=f"valid, but not installable: {fault.what}") for fault in file.refusals]
        lines = [str(fault.within(file.file)) for fault in (*file.faults, *refusals)] or [f"{file.file}: ok"]
        for line in lines:
            print(one_line(line))
    return code


CHECK = Command(check, _add_arguments_of_check)
CLASHES = Command(clashes, _add_arguments)
