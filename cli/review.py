"""`review`: print what the reader of a pull request reads: a preview's verdict, and the changed lines of files."""

import argparse
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from base.errors import ConfigError, Fault
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK, EXIT_POLICY
from cli.shared.option_history import written
from cli.shared.stack_options import backend_url, run_pulumi
from cluster.files import read_text
from review.document import page_of
from review.html import html
from review.markdown import markdown
from review.policies import RULES, Facts, check_policies
from review.preview import Preview, failures, read_preview

RUN = "pulumi preview"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stack", metavar="STACK", help="the stack")
    parser.add_argument("--preview", metavar="FILE", help="the output of `pulumi preview --json`; - for stdin")
    what = "check it against these policies, or against all"
    parser.add_argument("--policy", nargs="*", choices=RULES, metavar="POLICY", help=what)
    parser.add_argument("--html", action="store_true", help="print one HTML page, however long")


def review(options: argparse.Namespace) -> int:
    """Print what the next `pulumi up` does to machines, and the changed lines of the files that they read.

    The output is Markdown for a comment on a pull request: at most 65,536 characters, without secrets. Run `pulumi
    preview --json`, or read what it printed. The exit code is 0 whether anything changes or not, 2 if the preview
    fails, and 4 if the update breaks a policy: consent (a disk is wiped only with a consent of the last 30 days, by
    git), certificates (those of BMCs are verified), destroyable (not in production), backend (shared, no folder).
    """
    text, where = _preview(options)
    preview = read_preview(text, where)
    try:
        policies = () if options.policy is None else check_policies(_facts(options.stack, preview), options.policy)
        page = page_of(preview, options.stack, policies)
    except (ValidationError, KeyError):
        fix = "preview and review with one release"
        raise ConfigError(Fault(where, "its resources are not those of this release", fix)) from None
    print(html(page) if options.html else markdown(page), end="")
    return EXIT_POLICY if any(policy.breaches for policy in policies) else EXIT_OK


def _facts(stack: str, preview: Preview) -> Facts:
    return Facts(preview, datetime.now(UTC), partial(written, stack), backend_url)


def _preview(options: argparse.Namespace) -> tuple[str, str]:
    """Return a preview, and where it is from, for messages."""
    match options.preview:
        case None:
            return _made(options.stack), RUN
        case "-":
            return sys.stdin.read(), "standard input"
        case file:
            return _saved(file), file


def _made(stack: str) -> str:
    done = run_pulumi("preview", "--json", "--stack", stack)
    if done.returncode == 0:
        return done.stdout
    # A preview that failed is JSON too, with its errors, unless Pulumi could not begin.
    lines = failures(done.stdout) or [line for line in done.stderr.splitlines() if line.strip()]
    raise ConfigError(*(Fault(RUN, line) for line in lines or [f"exit code {done.returncode}"]))


def _saved(file: str) -> str:
    try:
        return read_text(Path(file))
    except ConfigError as error:
        raise ConfigError(*(fault.within(file) for fault in error.faults)) from None


COMMAND = Command(review, _add_arguments)
