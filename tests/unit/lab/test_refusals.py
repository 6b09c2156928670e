"""The rehearsal's mistakes of an operator: each is proven refused only by its own line."""

from pathlib import Path
from unittest.mock import create_autospec

import pytest

from lab.rehearsal import refusals
from lab.rehearsal.refusals import MISTAKES, UP, Mistake, refuse, refuse_all
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.stack import Outcome, Stack

WANTED = "config: bootstrap.memory_mb: unknown key. Fix: write memory_mib, or remove it"
REFUSED = f"Updating (rehearsal):\n\nDiagnostics:\n  pulumi:pulumi:Stack (okd-rehearsal):\n    error: {WANTED}\n"


@pytest.fixture
def stack() -> Stack:
    made: Stack = create_autospec(Stack, instance=True)
    return made


def proof_of(stack: Stack, tmp_path: Path, code: int, text: str) -> str:
    """Return what the report shows of a command that ended so."""
    stack.try_run.return_value = Outcome(code, text)  # type: ignore[attr-defined]
    report = Report("rehearsal", folder=tmp_path)
    refuse(stack, report, "an option's name misspelled", WANTED)
    return report.proofs[-1].seen


def test_a_refusal_by_its_own_line_is_proven(stack: Stack, tmp_path: Path) -> None:
    assert proof_of(stack, tmp_path, 255, REFUSED) == WANTED


@pytest.mark.parametrize(
    ("code", "text"),
    [
        pytest.param(0, REFUSED, id="it-succeeded"),
        pytest.param(255, REFUSED.replace("memory_mb: ", "vcpu: "), id="another-line"),
        pytest.param(255, REFUSED.replace(" Fix: write memory_mib, or remove it", ""), id="without-the-fix"),
        pytest.param(255, f"{REFUSED}    Traceback (most recent call last):\n", id="traceback"),
        pytest.param(255, REFUSED.replace("Diagnostics:", "Outputs:"), id="not-as-an-error"),
        pytest.param(255, REFUSED.replace("unknown key. ", "unknown key.\n    "), id="on-two-lines"),
        pytest.param(255, "", id="nothing-said"),
    ],
)
def test_any_other_end_is_no_refusal(stack: Stack, tmp_path: Path, code: int, text: str) -> None:
    with pytest.raises(RehearsalError, match="refused: an option's name misspelled"):
        proof_of(stack, tmp_path, code, text)


def test_each_mistake_is_made_in_a_copy_and_has_its_own_line(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy in which a mistake succeeds, among others that are refused."""
    accepted = Mistake("taken for right", "a.yaml", str.upper, "refused b", UP)
    refused = Mistake("refused", "a.yaml", str.upper, "refused a", UP)
    monkeypatch.setattr(refusals, "MISTAKES", (refused, accepted))

    def copy(name: str) -> Stack:
        other: Stack = create_autospec(Stack, instance=True)
        path = tmp_path / name / "stacks" / "a.yaml"
        path.parent.mkdir(parents=True)
        path.write_text("text")
        other.project = tmp_path / name  # type: ignore[misc]
        other.try_run.side_effect = lambda *_, **__: Outcome(  # type: ignore[attr-defined]
            int(path.read_text() == "TEXT" and name == "mistake-0"),
            "Diagnostics:\nerror: refused a\nerror: refused b",
        )
        return other

    stack.copy.side_effect = copy  # type: ignore[attr-defined]
    with pytest.raises(RehearsalError, match="refused: taken for right"):
        refuse_all(stack, Report("rehearsal", folder=tmp_path))


def test_a_mistake_that_changes_nothing_is_an_error(stack: Stack, tmp_path: Path) -> None:
    stack.copy.return_value.project = tmp_path  # type: ignore[attr-defined]
    for mistake in MISTAKES:
        (tmp_path / "stacks" / mistake.file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "stacks" / mistake.file).write_text("okd-baremetal:consent:\n  a: 1\n  b: 1\n")
    with pytest.raises(ValueError, match="the mistake changes nothing"):
        refuse_all(stack, Report("rehearsal", folder=tmp_path))
