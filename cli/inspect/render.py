"""`render`: write the machines' files as a tree of folders, offline."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assets.file import Folders
from assets.ignition import compose, own_config
from assets.render import Rendered
from assets.render import render as render_files
from base.errors import ConfigError, Fault
from base.files import read_file, write_private
from boot_media.keyfiles import keyfiles_of
from cli.shared.command import Command, add_stack_option
from cli.shared.command_line import EXIT_OK, stack_file, writing
from cluster.payload_values import PULL_SECRET
from cluster.plan import Intent, load_intent
from cluster.plan.refusals.missing import missing
from cluster.plan.sample_values import with_samples
from cluster.stack_file import read_stack_file
from cluster.values.role import BOOTSTRAP
from payload.checks import Expected, check_payload
from providers.rendered_asset.readers import lay_out, run_readers


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="INSTALL_CONFIG")
    what = "the folder of bootstrap.ign, master.ign and worker.ign; with an arbiter, also arbiter.ign"
    parser.add_argument("--payload", type=Path, metavar="DIR", help=what)
    parser.add_argument("--out", type=Path, metavar="DIR", required=True, help="a new or empty directory")
    add_stack_option(parser)
    parser.add_argument("--check", action="store_true", help="first validate them with every reader on this machine")
    parser.add_argument("--sample-addresses", action="store_true", help="make up missing addresses and images")


def render(options: argparse.Namespace) -> int:
    """Write the files that the machines read; if any input is wrong, write nothing.

    They are in the folders bootstrap/, control-plane/, arbiter/, compute/, and hosts/NAME/ for the files of one host.
    With --payload, also write the machines' Ignition configs, which are secret: bootstrap.ign, and in hosts/NAME/
    master.ign, arbiter.ign or worker.ign.
    """
    stack = None if options.stack is None else read_stack_file(stack_file(options.stack))
    intent = complete_intent(options.file, stack, sample=options.sample_addresses)
    rendered = render_files(intent)
    own, payload, composed = own_configs(intent, rendered), dict[str, bytes](), dict[str, bytes]()
    if options.payload is None:
        print("no --payload: no Ignition config is written", file=sys.stderr)
    else:
        # The pull secret may be that of the stack, encrypted.
        values = {path: value for path, value in intent.payload_values.items() if path != PULL_SECRET}
        expected = Expected.of(intent, values, rendered.paths)
        payload = _payload(options.payload, intent.payload_files, expected)
        composed = {path: compose(payload[Path(path).stem], config) for path, config in own.items()}
    if options.check:
        _run_readers(rendered.folders, own, payload, composed)
    write_tree(options.out, rendered.folders, composed)
    files = sum(map(len, rendered.folders.values()))
    print(f"{options.out}: {files} files, {len(composed)} Ignition configs")
    return EXIT_OK


def complete_intent(file: Path, stack: Mapping[str, Any] | None, *, sample: bool = False) -> Intent:
    """Return an intent that is complete enough to render.

    Args:
        file: The install-config.
        stack: The stack's options.
        sample: Make up missing addresses and images.

    Raises:
        ConfigError: An input is wrong or missing.
    """
    intent = load_intent(file, stack, keyfiles_of=keyfiles_of)
    if sample:
        intent, made = with_samples(intent)
        for option, value in made.items():
            print(f"made-up sample: {option.where}: {value}", file=sys.stderr)
    if absent := missing(intent):
        fix = "set it in the stack's options and give --stack, or try with --sample-addresses"
        raise ConfigError(*(Fault(option.where, option.what, fix) for option in absent))
    return intent


def own_configs(intent: Intent, rendered: Rendered) -> dict[str, str]:
    """Return this program's part of each Ignition config, by path: `bootstrap.ign`, `hosts/<name>/<pool>.ign`."""
    servers = {f"hosts/{host.name}/{host.role.pool}.ign": own_config(rendered.of(host)) for host in intent.servers}
    return {f"{BOOTSTRAP}.ign": own_config(rendered.bootstrap), **servers}


def write_tree(out: Path, folders: Folders, composed: Mapping[str, bytes]) -> None:
    """Write all files, or nothing. Only the owner can read `out`.

    Args:
        out: A directory that is missing or empty.
        folders: Files by folder.
        composed: Ignition configs by path; secret.

    Raises:
        ConfigError: `out` is not empty, or cannot be written.
    """
    target = out.resolve()  # replace the target of a link, and not the link (or `.`)
    with writing(out, "name a writable directory"):
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise ConfigError(Fault(str(out), "exists already", "name another directory"))
        # Beside the target, so that the rename stays within one file system.
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            for folder, files in folders.items():
                lay_out(work / folder, files)
            for path, config in composed.items():
                write_private(work / path, config)
            work.rename(target)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _run_readers(
    folders: Folders, own: Mapping[str, str], payload: Mapping[str, bytes], composed: Mapping[str, bytes]
) -> None:
    """Validate each part of a composed config too: ignition-validate does not read the parts of one."""
    parts = {f"{path} (this program's part)": config.encode() for path, config in own.items()}
    parts |= {f"{name}.ign (the payload's)": config for name, config in payload.items()}
    results = run_readers(folders, {**parts, **composed})
    for result in results:
        print(result)
    if refusals := [refusal for result in results for refusal in result.refusals]:
        raise ConfigError(*refusals)


def _payload(folder: Path, files: Iterable[str], expected: Expected) -> dict[str, bytes]:
    """Read and check the payload's files.

    Raises:
        ConfigError: A file is missing or wrong; one fault each.
    """
    contents, faults = dict[str, bytes](), list[Fault]()
    for name in files:
        path = folder / f"{name}.ign"
        try:
            contents[name] = read_file(path)
        except OSError as error:
            faults.append(Fault(str(path), f"cannot be read ({error.strerror})", "put the payload's file there"))
    faults += check_payload(folder, contents, expected, datetime.now(UTC))
    if faults:
        raise ConfigError(*faults)
    return contents


COMMAND = Command(render, _add_arguments)
