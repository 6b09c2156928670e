"""The engine of the fuzzer finds each kind of finding, and its cases are the same each time."""

import re
from pathlib import Path

import pytest

from testing.checkout import ROOT
from testing.fuzz import engine, planted
from testing.fuzz.__main__ import main
from testing.fuzz.engine import SURFACES, case_of, replay, search

FOUND = {
    "defect": "KeyError: 'missing'",
    "shown": "ShownCanaryError: password CNRY",
    "quoted": "ShownCanaryError: a file: CNRY",
    "memory": "MemoryError",
    "crash": "exit code -11",
    "cpu": f"a case took more than {planted.SURFACE.cpu_s} s of CPU",
}

NOT_FUZZED = {
    "api": "answers of the cluster that this program installs, over TLS with its own CA",
    "bmc": "protocols, which redfish and ipmi implement",
    "etcd": "answers of the cluster that this program installs, as protobuf",
    "libvirt": "answers of the provisioner's own libvirt",
    "s3": "answers of a server over TLS that a person has named, which AWS's own client reads",
}
"""The wires that no surface has, and why."""


def test_the_answers_of_every_wire_are_fuzzed_or_it_is_said_why_not() -> None:
    texts = [path.read_text() for path in Path(engine.__file__).parent.glob("*.py")]
    fuzzed = {name for text in texts for name in re.findall(r"^from wires\.(\w+)|^from wires import", text, re.M)}
    wires = {path.parent.name for path in (ROOT / "wires").glob("*/__init__.py")}
    assert wires == (fuzzed - {"bmc"}) | NOT_FUZZED.keys()
    assert not (fuzzed - {"bmc"}) & NOT_FUZZED.keys()


def test_each_kind_of_planted_finding_is_expected() -> None:
    assert {*planted.KINDS} == {*FOUND, "fine", "refused"}


@pytest.mark.parametrize("kind", FOUND)
def test_a_finding_is_found_with_its_case(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "case"
    file.write_text(kind)
    finding = replay("planted", file)
    assert finding is not None
    assert (finding.surface, finding.case) == ("planted", kind.encode())
    assert FOUND[kind] in finding.what


def test_what_is_fine_or_refused_is_no_finding(tmp_path: Path) -> None:
    (tmp_path / "case").write_text("refused")
    assert replay("planted", tmp_path / "case") is None
    assert search("planted", range(3)) is None


@pytest.mark.parametrize("name", [name for name in SURFACES if name not in ("commands", "readers")])
def test_a_seed_always_makes_the_same_case(name: str) -> None:
    """Those of the other two hold certificates, whose keys are made anew; a finding keeps its case."""
    cases = [case_of(name, seed) for seed in range(20)]
    assert cases == [case_of(name, seed) for seed in range(20)]
    assert len({*cases}) == len(cases)


def test_a_replay_of_a_finding_ends_with_exit_code_1_and_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "case").write_text("shown")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(engine.__file__).parents[2]))
    monkeypatch.setattr("sys.argv", ["fuzz", "planted", "--replay", "case"])
    assert main() == 1
    assert (tmp_path / "fuzz-findings" / "planted-0").read_text() == "shown"
    assert "replay: " in capsys.readouterr().err
