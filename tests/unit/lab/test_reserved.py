"""One rehearsal at a time, and none that removes the kept lab of another stack (issue 40, 5)."""

import shlex
from pathlib import Path

import pytest

from lab import __main__ as lab_command
from lab import site
from lab.rehearsal import __main__ as rehearsal
from lab.shell import LabError

Removed = list[bool]


@pytest.fixture(autouse=True)
def removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Removed:
    """A lab with the kept twin of the stack `other`; and how often it was removed."""
    removed = Removed()
    stack = tmp_path / "stack"
    stack.write_text("other")
    monkeypatch.setattr(site, "STACK_UP", stack)
    monkeypatch.setattr(site, "KEPT", tmp_path / "kept")
    site.keep()
    monkeypatch.setattr(site, "RESERVED", tmp_path / "lock")
    monkeypatch.setattr(site, "down", lambda _: removed.append(True))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(site.network, "namespace_exists", lambda: not removed)
    monkeypatch.setattr(rehearsal, "_rehearse", lambda *_: 0)
    monkeypatch.setattr(rehearsal, "free_mib", lambda: 100_000)
    return removed


def test_a_rehearsal_refuses_the_kept_lab_of_another_stack(
    removed: Removed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rehearsal.main(["--stack", "rehearsal"]) == 2
    assert removed == []
    assert "FAILED: the lab has the twin of other. Fix: " in capsys.readouterr().out


def test_the_fix_of_a_kept_lab_frees_it(removed: Removed, capsys: pytest.CaptureFixture[str]) -> None:
    rehearsal.main(["--stack", "rehearsal"])
    command = capsys.readouterr().out.split("`")[1]
    _, module, name, *arguments = shlex.split(command)
    assert (module, name) == ("-m", "lab")
    assert lab_command.main(arguments) == 0
    assert removed == [True]
    assert rehearsal.main(["--stack", "rehearsal"]) == 0


def test_a_rehearsal_replaces_what_a_killed_one_of_another_stack_has_left(removed: Removed, tmp_path: Path) -> None:
    (tmp_path / "kept").unlink()
    assert rehearsal.main(["--stack", "rehearsal"]) == 0
    assert removed == [True]


def test_a_rehearsal_replaces_the_kept_lab_of_its_own_stack(removed: Removed, tmp_path: Path) -> None:
    (tmp_path / "stack").write_text("rehearsal")
    assert rehearsal.main(["--stack", "rehearsal"]) == 0
    assert removed == [True]


def test_a_second_rehearsal_is_refused_while_one_runs(
    removed: Removed, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "stack").write_text("rehearsal")
    with site.reserved():
        assert rehearsal.main(["--stack", "rehearsal"]) == 2
    assert removed == []
    what = "another rehearsal, or `python -m lab`, has the lab. Fix: wait for it to end"
    assert f"FAILED: {what}" in capsys.readouterr().out
    assert rehearsal.main(["--stack", "rehearsal"]) == 0


def test_down_does_not_touch_a_rehearsal_that_runs(removed: Removed) -> None:
    with site.reserved():
        assert lab_command.main(["down"]) == 1
    assert removed == []


def test_only_root_can_reserve_the_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(LabError, match="not root"), site.reserved():
        pass
