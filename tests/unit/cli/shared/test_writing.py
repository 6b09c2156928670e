"""A file that a command cannot write is named, and a full disk has a fix of its own."""

import errno
import os
from pathlib import Path

import pytest

from base.errors import ConfigError
from cli.shared.command_line import writing
from testing.checkout import ROOT

ROOM = "make room on its disk"


@pytest.mark.parametrize(
    ("number", "fix"),
    [(errno.ENOSPC, ROOM), (errno.EDQUOT, ROOM), (errno.EACCES, "name another")],
    ids=["full", "quota", "denied"],
)
def test_a_file_that_cannot_be_written_is_named(number: int, fix: str) -> None:
    with pytest.raises(ConfigError) as error, writing(Path("stacks/prod"), "name another"):
        raise OSError(number, os.strerror(number))
    assert str(error.value) == f"stacks/prod: cannot be written ({os.strerror(number)}). Fix: {fix}"


def test_no_command_has_words_of_its_own() -> None:
    written = "cannot be written ("
    assert [path.name for path in (ROOT / "cli").rglob("*.py") if written in path.read_text()] == ["command_line.py"]
