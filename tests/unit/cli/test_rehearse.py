"""`okd-baremetal rehearse`: what it refuses, and what it runs."""

from pathlib import Path

import pytest

from cli import rehearse
from cli.__main__ import main
from cli.shared.command_line import EXIT_INVALID


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the Makefile of the program was asked for, from a site's folder that has the stack `site`."""
    program, site = tmp_path / "program", tmp_path / "site"
    program.mkdir()
    (site / "stacks").mkdir(parents=True)
    (site / "stacks" / "Pulumi.site.yaml").write_text("config: {}\n")
    (program / "Makefile").write_text("rehearsal:\n\t@echo $(STACK) $(SITE) >asked; exit 3\n")
    monkeypatch.chdir(site)
    monkeypatch.setattr(rehearse, "PROGRAM", program)
    return program / "asked"


def test_it_makes_the_rehearsal_of_a_stack_of_the_current_folder(asked: Path) -> None:
    assert main(["rehearse", "site"]) == 2  # make's own code for a recipe that failed
    assert asked.read_text() == f"site {Path.cwd()}\n"


def test_an_unknown_stack_is_refused(asked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rehearse", "other"]) == EXIT_INVALID
    assert "stacks/Pulumi.other.yaml: cannot be read: No such file" in capsys.readouterr().err
    assert not asked.exists()
