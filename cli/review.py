"""`review`: print what the reader of a pull request reads: a preview's verdict, and the changed lines of files."""

import argparse
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from base.errors import MISSHAPEN, ConfigError, Fault, OkdBaremetalError
from base.git import git
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK, EXIT_POLICY, install_config, writing
from cli.shared.notices import notices
from cli.shared.option_history import written
from cli.shared.stack_options import backend_url, run_pulumi
from cluster.files import read_standard_input, read_text
from cluster.plan import load_intent
from fleet.site.checkout import Clone
from review.comparison import created
from review.document import Page, page_of, refused_page
from review.html import html
from review.markdown import markdown
from review.policies import RULES, Facts, check_policies
from review.preview import Preview, failures, read_preview
from review.write_plan import WritePlan

RUN = "pulumi preview"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stack", metavar="STACK", help="the stack")
    parser.add_argument("--preview", metavar="FILE", help="the output of `pulumi preview --json`; - for stdin")
    what = "compare what is not installed yet with this branch or commit, which another preview reads"
    parser.add_argument("--base", metavar="REVISION", help=what)
    what = "check it against these policies, or against all"
    parser.add_argument("--policy", nargs="*", choices=RULES, metavar="POLICY", help=what)
    what = "also write the write plan, the file whose SHA-256 is the digest, for `okd-baremetal verify`"
    parser.add_argument("--write-plan", metavar="FILE", help=what)
    parser.add_argument("--html", action="store_true", help="print one HTML page, however long")


def review(options: argparse.Namespace) -> int:
    """Print what the next `pulumi up` does to machines, and the changed lines of the files that they read.

    The output is Markdown for a comment on a pull request: at most 65,536 characters, without secrets. Run `pulumi
    preview --json`, or read what it printed. The exit code is 0 whether anything changes or not, 2 if the preview
    fails, which is then the review, and 4 if the update breaks a policy: consent (a disk is wiped only with a consent
    of the last 30 days, by git), certificates (those of BMCs are verified), destroyable (not in production), backend
    (shared, no folder). It has the notices of `plan`, too.
    """
    text, where = _preview(options)
    if errors := failures(text):
        _print(options, refused_page(options.stack, errors))
        raise ConfigError(*(Fault(where, error) for error in errors))
    preview, noticed = read_preview(text, where), _notices(options.stack)
    try:
        policies = () if options.policy is None else check_policies(_facts(options.stack, preview), options.policy)
        page = page_of(preview, options.stack, policies, _base(options, preview), noticed)
    except MISSHAPEN:
        fix = "preview and review with one release"
        raise ConfigError(Fault(where, "its resources are not those of this release", fix)) from None
    if options.write_plan:
        _write(Path(options.write_plan), WritePlan.of(preview))
    _print(options, page)
    return EXIT_POLICY if any(policy.breaches for policy in policies) else EXIT_OK


def _print(options: argparse.Namespace, page: Page) -> None:
    print(html(page) if options.html else markdown(page), end="")


def _write(file: Path, plan: WritePlan) -> None:
    with writing(file, "name a file in a folder that is writable"):
        file.write_text(plan.text)


def _base(options: argparse.Namespace, preview: Preview) -> Preview | None:
    """Return the preview of the base; None if nothing is compared with it, or it has none, as without this stack."""
    if options.base is None or not created(preview):
        return None
    try:
        commit = git(Path(), "rev-parse", "--verify", f"{options.base}^{{commit}}")
        folder = Clone(Path().absolute()).checkout(f"base-of-{options.stack}", commit)
        return read_preview(_made(options.stack, folder), f"{RUN} of {options.base}")
    except OkdBaremetalError as error:
        print(f"not compared with {options.base}: {error}", file=sys.stderr)
        return None


def _notices(stack: str) -> list[str]:
    """Return the notices of `plan`, which are about the stack's own install-config."""
    return notices(stack, lambda: load_intent(install_config(stack), {}))


def _facts(stack: str, preview: Preview) -> Facts:
    return Facts(preview, datetime.now(UTC), partial(written, stack), backend_url)


def _preview(options: argparse.Namespace) -> tuple[str, str]:
    """Return a preview, and where it is from, for messages."""
    match options.preview:
        case None:
            return _made(options.stack, Path()), RUN
        case "-":
            return read_standard_input(), "standard input"
        case file:
            return _saved(file), file


def _made(stack: str, folder: Path) -> str:
    done = run_pulumi("preview", "--json", "--stack", stack, folder=folder)
    # A preview that failed is JSON too, with its errors, unless Pulumi could not begin.
    if done.returncode == 0 or failures(done.stdout):
        return done.stdout
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    raise ConfigError(*(Fault(RUN, line) for line in lines or [f"exit code {done.returncode}"]))


def _saved(file: str) -> str:
    try:
        return read_text(Path(file))
    except ConfigError as error:
        raise ConfigError(*(fault.within(file) for fault in error.faults)) from None


COMMAND = Command(review, _add_arguments)
