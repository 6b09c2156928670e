"""The table of contents of the command line, and what `--help` prints of each command."""

import inspect
from collections.abc import Iterator
from pkgutil import resolve_name

import pytest

from cli.__main__ import COMMANDS, Commands
from cli.shared.command import Command
from testing.command_line import run


def entry_points(commands: Commands, *group: str) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, (entry, _) in commands.items():
        if isinstance(entry, str):
            yield (*group, name), entry
        else:
            yield from entry_points(entry, *group, name)


@pytest.mark.parametrize(
    ("words", "entry_point"),
    [pytest.param(words, entry_point, id=" ".join(words)) for words, entry_point in entry_points(COMMANDS)],
)
def test_help_of_each_command_is_its_function_s_docstring(words: tuple[str, ...], entry_point: str) -> None:
    command = resolve_name(entry_point)
    assert isinstance(command, Command)
    done = run(*words, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    description = " ".join(inspect.getdoc(command.run).split())  # type: ignore[union-attr]
    # argparse breaks lines at hyphens, too.
    assert description.replace(" ", "") in "".join(done.stdout.split())
