"""A stack's options with those that are encrypted, which only Pulumi can read; and how one is written."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from base.backend import environment, without_login
from base.errors import NO_ROOM, ConfigError, Fault, word
from base.files import read_file, write_private
from cli.shared.command_line import PROGRAM, stack_file, writing
from cli.shared.interrupts import child
from cluster.files import read_text
from cluster.stack_file import PREFIX, PULL_SECRET, read_options, read_stack_file
from cluster.values.pull_secret import FORM, SET, wrong_in


def stack_options(stack: str) -> dict[str, Any]:
    """Return a stack's options. Pulumi runs only if the file has encrypted ones.

    Raises:
        ConfigError: The file cannot be read, or Pulumi does not decrypt it.
    """
    file = stack_file(stack)
    options = read_stack_file(file)
    if "secure:" not in read_text(file):
        return options
    listed = json.loads(pulumi(stack, "config", "--show-secrets", "--json"))
    return {
        name.removeprefix(PREFIX): option.get("objectValue", option.get("value"))
        for name, option in listed.items()
        if name.startswith(PREFIX)
    }


def stack_pull_secret(stack: str) -> str:
    """Return the pull secret of a stack's options; empty if it has none. Pulumi runs only if there is one.

    Raises:
        ConfigError: It is no pull secret, or Pulumi does not decrypt it.
    """
    file = stack_file(stack)
    if not read_options(file).get(PULL_SECRET):
        return ""
    secret = str(stack_options(stack)[PULL_SECRET]).strip()
    if reasons := [*wrong_in(secret)]:
        fix = f"write {FORM}: `{SET}`"
        raise ConfigError(*(Fault(f"{file}: {PULL_SECRET}", what, fix) for what in reasons))
    return secret


def check_settable(stack: str) -> None:
    """Check that `set_stack_option` will work, without a change: login, stack, a file that can be written.

    Raises:
        ConfigError: It would not.
    """
    file = stack_file(stack)
    for path in (file, file.parent):
        if not os.access(path, os.W_OK):
            raise ConfigError(Fault(str(path), "cannot be written", "make it writable for this user"))
    pulumi(stack, "config", "--json")


def set_stack_option(stack: str, name: str, value: dict[str, str]) -> None:
    """Write one option of texts into a stack's file, in place of the present one.

    Raises:
        ConfigError: Pulumi does not write it.
    """
    # As JSON, because `pulumi config set --path` would make a number of a serial that has only digits.
    option = {f"{PREFIX}{name}": {"value": json.dumps(value), "objectValue": value, "secret": False}}
    with _kept(stack_file(stack)):
        pulumi(stack, "config", "set-all", "--json", json.dumps(option))


def set_stack_secret(stack: str, path: str, secret: str) -> None:
    """Write one text into a stack's file, encrypted by Pulumi.

    Raises:
        ConfigError: Pulumi does not write it.
    """
    with _kept(stack_file(stack)):
        pulumi(stack, "config", "set", "--secret", "--path", path, given=secret)


@contextmanager
def _kept(file: Path) -> Iterator[None]:
    """Have a stack's file stay as it was if the block fails.

    Pulumi (3.259.0) writes it in place: what does not fit on a full disk is lost, and with it what was there. The
    copy is made first, so that there is room for it; to put it back needs none.
    """
    own = file.resolve()
    copy = own.with_name(f".{own.name}-before")
    with writing(file, "make its folder writable"):
        write_private(copy, read_file(own), own.stat().st_mode & 0o777)
    try:
        yield
    except BaseException:
        copy.replace(own)
        raise
    copy.unlink()


def pulumi(stack: str, *words: str, given: str = "") -> str:
    """Run Pulumi on a stack with a text on standard input, and return what it prints, which may be secret.

    Raises:
        ConfigError: Pulumi is missing, or fails.
    """
    done = run_pulumi(*words, "--stack", stack, given=given)
    if done.returncode:
        what = f"pulumi {words[0]} failed: {' '.join(done.stderr.split())}"
        works = "see that `pulumi config` works for this stack: login, passphrase, `pulumi stack init`"
        is_full = any(os.strerror(it).lower() in done.stderr.lower() for it in NO_ROOM)
        fix = "make room on the disk that it names" if is_full else works
        raise ConfigError(Fault(str(stack_file(stack)), what, fix))
    return done.stdout


def backend_url() -> str:
    """Return the URL of the backend, which may hold a login.

    Raises:
        ConfigError: Pulumi does not say.
    """
    done = run_pulumi("whoami", "--verbose", "--json")
    if done.returncode:
        what = f"pulumi whoami failed: {' '.join(done.stderr.split())}"
        raise ConfigError(Fault("", what, "log in with `pulumi login URL`, or set PULUMI_BACKEND_URL"))
    return str(json.loads(done.stdout)["url"])


def run_pulumi(*words: str, given: str = "", folder: Path = Path()) -> subprocess.CompletedProcess[str]:
    """Run Pulumi with a text on standard input, and return its exit code and what it prints, which may be secret.

    Its errors, and all that a run prints that fails, have no login of the backend.

    Args:
        words: Its arguments.
        given: The text.
        folder: That of the project.

    Raises:
        ConfigError: Pulumi is not installed.
    """
    command = shutil.which("pulumi")
    if command is None:
        fix = f"run `make -C {word(PROGRAM)} setup`, then `. {word(PROGRAM)}/.venv/bin/activate`"
        raise ConfigError(Fault("", "pulumi is not in PATH", fix))
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with child([command, *words, "--non-interactive"], **pipes, cwd=folder, env=environment()) as started:
        printed, errors = started.communicate(given)
    printed = without_login(printed) if started.returncode else printed
    return subprocess.CompletedProcess(started.args, started.returncode, printed, without_login(errors))
