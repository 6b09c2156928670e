"""Each `okd-baremetal …` of a document or a message is a command, with options and arguments that it takes."""

import ast
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

from cli.__main__ import COMMANDS, _add
from cli.shared.command import CommandParser
from testing.checkout import ROOMS, ROOT

HISTORY = [ROOT / "CHANGELOG.md", *(ROOT / "docs" / "adr").iterdir()]
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "cli/start/site").glob("*.md")})
FENCED = re.compile(r"^ *```\w*\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`okd-baremetal ([a-z][^`]*)`")
LINE = re.compile(r"(?:^ *|[$] |[|&(] ?)okd-baremetal ([a-z].*)")
PLACEHOLDER = re.compile(r"<[^<>\n]*>")
NEXT = re.compile(r"(?: [|;]| && | >).*")
"""What follows a command in its line: a pipe, another command, or a file for its output."""
STACKS = {"<stack>", "<cluster>", "STACK", "prod"}
PART = ("the following arguments are required", "expected one argument", "is required")
"""What a sentence may leave out, as in `okd-baremetal plan --stack`."""


def spans(text: str) -> Iterator[str]:
    yield from SPAN.findall(" ".join(FENCED.sub("", text).split()))


def lines(text: str) -> Iterator[str]:
    for block in FENCED.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            yield from LINE.findall(line)


def messages(path: Path) -> Iterator[str]:
    """Yield the commands in the texts of a module; what is put in is a word."""
    for node in ast.walk(ast.parse(path.read_text())):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        if isinstance(node, ast.JoinedStr | ast.Constant):
            texts = (str(part.value) if isinstance(part, ast.Constant) else "WORD" for part in parts)
            yield from SPAN.findall(" ".join("".join(texts).split()))


@cache
def wrong(command: str) -> str:
    """Return why a command cannot be run; empty if it can."""
    alone = PLACEHOLDER.sub(lambda hole: f"'{hole[0]}'", NEXT.sub("", command).replace("…", ""))
    parser, said = CommandParser(prog="okd-baremetal"), StringIO()
    _add(parser, COMMANDS)
    try:
        with redirect_stderr(said):
            named = parser.parse_args(shlex.split(alone, comments=True))
    except SystemExit:
        return said.getvalue().splitlines()[-1]
    file, stack = str(getattr(named, "file", "")), str(getattr(named, "stack", ""))
    return f"{file or stack} is of the other kind" if file in STACKS or "config" in stack else ""


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in HISTORY], ids=lambda page: str(page.relative_to(ROOT))
)
def test_each_command_of_a_document_can_be_run(page: Path) -> None:
    text = page.read_text()
    assert [(command, why) for command in lines(text) if (why := wrong(command))] == []
    assert [(it, why) for it in spans(text) if (why := wrong(it)) and not any(part in why for part in PART)] == []


def test_each_command_of_a_message_can_be_run() -> None:
    named = {it for room in ROOMS for path in (ROOT / room).rglob("*.py") for it in messages(path)}
    assert len(named) > 20
    assert [(it, why) for it in named if (why := wrong(it)) and not any(part in why for part in PART)] == []
