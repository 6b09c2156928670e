"""`snapshot`: save the etcd of a stack's cluster, now."""

import argparse

from base.errors import ConfigError, Fault
from base.progress import Progress
from cli.shared.command import Command, add_stack
from cli.shared.command_line import EXIT_OK, install_config, stack_file
from cluster.plan import load_intent
from cluster.stack_file import read_stack_file
from providers.etcd.snapshot import EtcdSnapshots

OPTION = "snapshots"


def snapshot(options: argparse.Namespace) -> int:
    """Save etcd into a new file of the folder or bucket that the stack's option `snapshots` names; print its place.

    The file has every secret of the cluster: in a folder, only its owner can read it. A member of etcd gives it once
    a majority has answered; it is there only if its end is the SHA-256 of all before. Nothing else is changed.
    """
    stack, file = options.stack, stack_file(options.stack)
    known = read_stack_file(file)
    intent = load_intent(install_config(stack), known)
    if not (store := known.get(OPTION)):
        fix = f"name a folder for them: `pulumi config set {OPTION} <absolute path>`"
        raise ConfigError(Fault(f"{file}: {OPTION}", "missing", fix))
    print(EtcdSnapshots.of(stack, f"api.{intent.domain}", str(intent.api.address), store, _print).take())
    return EXIT_OK


def _print(progress: Progress) -> None:
    print(progress, flush=True)


COMMAND = Command(snapshot, add_stack)
