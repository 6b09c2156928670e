"""How long the logs of earlier runs say that an installation takes."""

from pathlib import Path

import pytest

from base.log_entries import Event
from providers.host_provisioning.installation.durations import latest_s
from tests.unit.cli.runs.test_timeline import line

STACK = "prod"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "log" / STACK
    made.mkdir(parents=True)
    return made


def ended(machine: str, seconds: float, step: str = "installed") -> str:
    return line(seconds, step, machine, Event.END)


BOTH = ended("m0", 900), ended("m1", 1200)


def test_without_an_earlier_run_nothing_is_expected() -> None:
    assert latest_s(STACK, ["m0"]) == {}


def test_without_an_installation_in_them_nothing_is_expected(folder: Path) -> None:
    lines = [ended("m0", 2, "adopted"), line(5, "media", "m0"), line(9, "installed", "m0"), ended("", 3)]
    (folder / "1.jsonl").write_text("\n".join(lines))
    assert latest_s(STACK, ["m0"]) == {}


def test_the_latest_installation_of_a_server_counts(folder: Path) -> None:
    (folder / "1.jsonl").write_text("\n".join(BOTH))
    (folder / "2.jsonl").write_text(ended("m0", 700))
    (folder / "3.jsonl").write_text(ended("m0", 2, "adopted"))
    assert latest_s(STACK, ["m0", "m1"]) == {"m0": 700, "m1": 1200}


def test_a_server_without_an_installation_has_the_longest_of_the_others(folder: Path) -> None:
    (folder / "1.jsonl").write_text("\n".join(BOTH))
    assert latest_s(STACK, ["w0"]) == {"w0": 1200}


@pytest.mark.parametrize(
    "torn",
    [
        pytest.param(BOTH[0][:-9], id="cut"),
        pytest.param('["installed"]', id="no-object"),
        pytest.param('{"step": "installed"}', id="no-time"),
        pytest.param(BOTH[0].replace("900.0", '"soon"'), id="no-seconds"),
    ],
)
def test_a_torn_line_counts_for_nothing(folder: Path, torn: str) -> None:
    (folder / "1.jsonl").write_text(f"{torn}\n{ended('m1', 900)}\n")
    assert latest_s(STACK, ["m1"]) == {"m1": 900}
