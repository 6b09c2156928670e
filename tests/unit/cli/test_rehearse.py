"""`okd-baremetal rehearse`: what it refuses, and what it runs."""

from pathlib import Path

import pytest

from cli.__main__ import main
from cli.command_line import REFUSED


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a Makefile that writes down what it was asked for."""
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.site.yaml").write_text("config: {}\n")
    (tmp_path / "lab" / "rehearsal").mkdir(parents=True)
    (tmp_path / "Makefile").write_text("rehearsal:\n\t@echo $(STACK) >asked; exit 3\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_makes_the_rehearsal_of_the_stack(checkout: Path) -> None:
    assert main(["rehearse", "site"]) == 2  # make's own code for a recipe that failed
    assert (checkout / "asked").read_text() == "site\n"


def test_an_unknown_stack_is_refused(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rehearse", "other"]) == REFUSED
    assert "stacks/Pulumi.other.yaml: cannot be read: No such file" in capsys.readouterr().err
    assert not (checkout / "asked").exists()


def test_it_needs_the_checkout(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "lab" / "rehearsal").rmdir()
    assert main(["rehearse", "site"]) == REFUSED
    assert "lab/rehearsal: no such folder here. Fix: run this in the program's checkout" in capsys.readouterr().err
