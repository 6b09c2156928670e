"""How an operator runs Pulumi in a twin that KEEP=1 left running (issue 40, 16)."""

import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from lab import __main__ as lab_command
from lab import site
from lab.paths import MARKS, PROJECT
from lab.rehearsal.provisioner import note_on_kept_lab
from lab.rehearsal.stack import Stack
from providers.mark_file import marks_folder
from testing import plans
from testing.documents import DOCS

Called = tuple[str, list[str], dict[str, str]]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Called]:
    """The program that takes this process's place, while the twin of `prod` is up."""
    calls = list[Called]()
    (tmp_path / "stack").write_text("prod")
    monkeypatch.setattr(site, "STACK_UP", tmp_path / "stack")
    monkeypatch.setattr(site.network, "namespace_exists", lambda: True)

    def execute(*call: Any) -> None:
        calls.append(call)
        raise SystemExit

    monkeypatch.setattr(os, "execvpe", execute)
    return calls


def words_of(line: str) -> list[str]:
    """Return the arguments of `python -m lab` in a line."""
    return shlex.split(line.partition("-m lab ")[2])


def test_the_last_lines_and_the_docs_run_pulumi_as_the_rehearsal_did(called: list[Called]) -> None:
    note = note_on_kept_lab(plans.plan(), failed=False).splitlines()
    page = (DOCS / "how-to" / "rehearse-your-cluster.md").read_text().splitlines()
    for lines in (note, page):
        (line,) = [line for line in lines if "exec -- pulumi" in line]
        with pytest.raises(SystemExit):
            lab_command.main(words_of(line))
    for _, words, env in called:
        assert words[:4] == ["ip", "netns", "exec", "okd-lab"]
        assert words[5:7] == [str(MARKS), str(marks_folder())], "the marks of its own servers"
        assert words[7:10] == ["pulumi", "--cwd", str(PROJECT)]
        assert env.items() >= Stack(PROJECT, "prod").environment().items()
    assert len(called) == 2
