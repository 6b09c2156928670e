"""The faults that nobody chose: which there are of a file, and what the report says of them."""

import math
from pathlib import Path

import pytest

from testing import survivors
from testing.checkout import ROOT
from testing.mutants import Row, mutated
from testing.mutations import NO_CONTEXT, mutations
from testing.survivors import folder_of_tests, report, rows_of


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        pytest.param("if a < b: pass", ["if a <= b: pass"], id="a-limit"),
        pytest.param("x = a in b", ["x = a not in b"], id="a-member"),
        pytest.param("x = a and b", ["x = ((a) or (b))"], id="both"),
        pytest.param("x = not a", ["x = bool(a)"], id="negated"),
        pytest.param("if a.b: pass", ["if not a.b: pass"], id="a-condition"),
        pytest.param("WITHIN_S = 120.0", ["WITHIN_S = 12.0"], id="a-time"),
        pytest.param("x = y[0]", ["x = y[1]"], id="a-number"),
        pytest.param("x = ask(a, timeout=T, b=c)", ["x = ask(a, b=c)", "x = ask(a, timeout=T)"], id="an-argument"),
        pytest.param("x = {**a, 'ö': b, **c(d=e)}", ["x = {**a, 'ö': b, **c()}"], id="behind-two-bytes"),
        pytest.param("ask(a)", ["pass"], id="a-step"),
        pytest.param("def f(): return a", ["def f(): return None"], id="a-value"),
        pytest.param("x = [b for b in a if b.c]", ["x = [b for b in [*a][:1] if b.c]", "x = [b for b in a if True]"],
                     id="all"),
        pytest.param("with lock, a as b: pass", [f"with {NO_CONTEXT}, a as b: pass"], id="a-lock"),
        pytest.param("def f(a: 'list[1]' = b) -> int: ...", [], id="annotations"),
        pytest.param("x = f'{a < b}'", [], id="an-f-string"),
        pytest.param('"""A text with 1."""', [], id="a-docstring"),
        pytest.param("x = True", [], id="no-number"),
        pytest.param("if TYPE_CHECKING: import a", [], id="types"),
    ],
)  # fmt: skip
def test_each_kind_of_fault_is_one_change(line: str, faults: list[str]) -> None:
    assert [fault.new.rstrip("\n") for fault in mutations(f"{line}\n")] == faults


def test_each_fault_of_a_room_can_be_planted() -> None:
    """What they replace occurs once, also where a line is there twice."""
    rows = rows_of(["base/http_client.py", "base/files.py", "boot_media/web_server.py"])
    assert len(rows) > 50
    for row in rows:
        compile(mutated((ROOT / row.file).read_text(), row), row.file, "exec")


@pytest.mark.parametrize(
    ("file", "folder"),
    [
        ("base/files.py", "tests/unit/base"),
        ("providers/host_provisioning/installation/engine.py", "tests/unit/providers/host_provisioning/installation"),
        ("lab/rehearsal/proofs.py", "tests/unit/lab"),
        ("testing/fakes/fleet/bmc.py", "tests/unit/testing"),
        ("components/cluster.py", "tests/program"),
        ("__main__.py", "tests/unit"),
    ],
)
def test_a_file_has_the_folder_of_tests_the_nearest_room(file: str, folder: str) -> None:
    assert folder_of_tests(file) == folder


def test_the_report_has_only_what_went_unnoticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = {"a.py": (0, ""), "b.py": (1, "FAILED"), "c.py": (4, "ImportError"), "d.py": (-9, "did not end")}
    rows = [Row(file=name, old="x < 1", new="x <= 1", test=name) for name in ends]
    for name in ends:
        (tmp_path / name).write_text("x < 1\n")
    monkeypatch.setattr(survivors, "run_pytest", lambda _, test: ends[test])
    text = report(rows, [tmp_path], math.inf)
    assert text == "1 of 4 planted faults went unnoticed; 4 were possible.\n\n- a.py: x < 1 -> x <= 1\n"


def test_a_night_that_is_over_leaves_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Row(file="a.py", old="1", new=str(number), test="a") for number in range(2, 50)]
    (tmp_path / "a.py").write_text("1\n")
    monkeypatch.setattr(survivors, "run_pytest", lambda *_: (1, ""))
    assert report(rows, [tmp_path], -math.inf) == "0 of 1 planted faults went unnoticed; 48 were possible.\n\n"


def test_a_fault_of_the_first_line_takes_lines_below_it_along() -> None:
    faults = list(mutations("ask(a)\nask(b)\nask(a)\n"))
    assert [(fault.old, fault.new) for fault in faults[:1]] == [("ask(a)\nask(b)\n", "pass\nask(b)\n")]
