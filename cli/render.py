"""`render`: the files of the machines as a tree, made offline."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assets.tree import BOOTSTRAP, compose_all, folders_of, own_configs, write_tree
from boot_media.keyfiles import check_network_configs
from cli.command_line import GOOD, stack_file
from cluster.options import read_stack_file
from cluster.plan import Intent, Role, load_intent
from cluster.plan.refusals import missing
from cluster.plan.samples import with_samples
from payload.checks import check_payload
from providers.base.errors import AssetError, ConfigError, Fault
from providers.rendered_asset.readers import ask_readers


def render(options: argparse.Namespace) -> int:
    """Write the tree, after all that can be judged here was judged."""
    stack = None if options.stack is None else read_stack_file(stack_file(options.stack))
    intent = intent_of(options.file, stack, sample=options.sample_addresses)
    folders = folders_of(intent)
    ours, composed = own_configs(intent, folders), dict[str, bytes]()
    if options.payload is None:
        print("no --payload: no Ignition config is written", file=sys.stderr)
    else:
        composed = compose_all(_payload(options.payload, intent.domain), ours)
    if options.check:
        parts = {f"{path} (our part)": config.encode() for path, config in ours.items()}
        verdicts = ask_readers(folders, parts | composed)
        for verdict in verdicts:
            print(verdict)
        if refusals := [refusal for verdict in verdicts for refusal in verdict.refusals]:
            raise AssetError("\n".join(refusals))
    write_tree(options.out, folders, composed)
    files = sum(map(len, folders.values()))
    print(f"{options.out}: {files} files, {len(composed)} Ignition configs")
    return GOOD


def intent_of(file: Path, stack: Mapping[str, Any] | None, *, sample: bool = False) -> Intent:
    """What is rendered, judged.

    Args:
        file: The install-config.
        stack: The stack's options.
        sample: Make up what is missing.

    Raises:
        AssetError: It cannot be rendered.
        ConfigError: An input is wrong, or addresses or images are missing.
    """
    intent = load_intent(file, stack)
    if sample:
        intent, made = with_samples(intent)
        for each, value in made.items():
            print(f"sample, for a look only: {each.where}: {value}", file=sys.stderr)
    if found := missing(intent):
        fix = "name it in the stack's options and give --stack, or look with --sample-addresses"
        raise ConfigError(replace(each, fix=fix) for each in found)
    check_network_configs(intent)  # KEYFILES
    return intent


def _payload(folder: Path, domain: str) -> dict[str, bytes]:
    """The payload's files, judged.

    Raises:
        ConfigError: Everything that is wrong with them.
    """
    contents, found = dict[str, bytes](), list[Fault]()
    for name in (BOOTSTRAP, *(role.pool for role in Role)):
        path = folder / f"{name}.ign"
        try:
            contents[name] = path.read_bytes()
        except OSError as error:
            found.append(Fault(str(path), f"cannot be read ({error.strerror})"))
    found += check_payload(folder, contents, domain, datetime.now(UTC))
    if found:
        raise ConfigError(found)
    return contents
