"""Control the lab: `python -m lab up|down|status|exec|payload`. Exit code 1: the command failed; 2: wrong usage."""

import argparse
import os
import sys
import time
from functools import partial
from pathlib import Path

from lab import site
from lab.images import ensure_images
from lab.inventory import STACK, load_site
from lab.paths import PROJECT
from lab.payload import DEFAULT_RETIRE_AFTER_S, make_payload, write_payload
from lab.rehearsal.stack import Stack
from lab.shell import LabError

_say = partial(print, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Run one command, and return its exit code; print an error on stderr."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except LabError as error:
        _say(f"lab: {error}")
        return 1


def _up(options: argparse.Namespace) -> int:
    wanted = load_site(options.stack)
    with site.reserved():
        site.up(wanted, ensure_images(_say), _say)
        site.keep()
    return 0


def _down(_: argparse.Namespace) -> int:
    with site.reserved():
        site.down(_say)
    return 0


def _status(_: argparse.Namespace) -> int:
    status = site.status()
    print(f"{'namespace':16} {'exists' if status.namespace else 'missing'}")
    for name, pid in status.daemons.items():
        print(f"{name:16} {f'runs, pid {pid}' if pid else 'does not run'}")
    for name, power in sorted(status.power.items()):
        print(f"{name:16} {power}")
    return 0 if status.is_up else 1


def _exec(options: argparse.Namespace) -> int:
    words, env = site.exec_command(options.command)
    own = Stack(PROJECT, site.stack_up()).environment()
    os.execvpe(words[0], words, {**env, **own})  # noqa: S606  (a list, no shell)


def _payload(options: argparse.Namespace) -> int:
    start = time.monotonic()
    write_payload(make_payload(load_site(options.stack), retire_after_s=options.retire_after_s), options.out)
    _say(f"lab: payload in {options.out}, {time.monotonic() - start:.1f} s spent")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab", description="Control the rehearsal's virtual site.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, what in (
        ("down", _down, "stop the site and its machines, and keep the logs"),
        ("status", _status, "show what runs; exit code 1 unless the site is up"),
    ):
        commands.add_parser(name, help=what, description=what).set_defaults(run=run)
    what = "start the site of a stack's twin, with powered-off servers; safe to repeat"
    up = commands.add_parser("up", help=what, description=what)
    up.set_defaults(run=_up)
    what = "run a command inside the site, as on its provisioner; pulumi has the stack of the twin"
    inside = commands.add_parser("exec", help=what, description=what, usage="python -m lab exec -- COMMAND...")
    inside.add_argument("command", nargs="+", metavar="COMMAND")
    inside.set_defaults(run=_exec)
    what = "write a stand-in for openshift-install's payload: bootstrap.ign, and one for each role"
    payload = commands.add_parser("payload", help=what, description=what)
    payload.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder to write to; created if missing"
    )
    payload.add_argument(
        "--retire-after-s",
        type=_seconds,
        default=DEFAULT_RETIRE_AFTER_S,
        metavar="SECONDS",
        help="time without the bootstrap's API after which its etcd member is removed; longer than the handoff's "
        "soak_s (default: %(default)s)",
    )
    payload.set_defaults(run=_payload)
    for command in (up, payload):
        command.add_argument("--stack", default=STACK, metavar="STACK", help="the stack (default: %(default)s)")
    return parser


def _seconds(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of seconds, 1 or more")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
