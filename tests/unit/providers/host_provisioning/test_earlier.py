"""What the logs of earlier runs tell about the time that an installation takes."""

import json
from pathlib import Path

import pytest

from providers.host_provisioning.earlier import latest_s
from tests.unit.providers.host_provisioning.rig import Rig

STACK = "prod"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "log" / STACK
    made.mkdir(parents=True)
    return made


def line(machine: str, text: str) -> str:
    return json.dumps({"time": "2026-01-02T03:04:05.000Z", "machine": machine, "kind": "step", "text": text})


BOTH = line("m0", "installed; 900 s spent"), line("m1", "installed; 1,200 s spent")


def test_without_an_earlier_run_nothing_is_expected() -> None:
    assert latest_s(STACK, ["m0"]) == {}


def test_without_an_installation_in_them_nothing_is_expected(folder: Path) -> None:
    (folder / "1.jsonl").write_text(line("m0", "adopted; 2 s spent") + "\n" + line("m0", "media; 5 s spent") + "\n")
    assert latest_s(STACK, ["m0"]) == {}


def test_the_latest_installation_of_a_server_counts(folder: Path) -> None:
    (folder / "1.jsonl").write_text("\n".join(BOTH))
    (folder / "2.jsonl").write_text(line("m0", "installed; 700 s spent"))
    (folder / "3.jsonl").write_text(line("m0", "adopted; 2 s spent"))
    assert latest_s(STACK, ["m0", "m1"]) == {"m0": 700, "m1": 1200}


def test_a_server_without_an_installation_has_the_longest_of_the_others(folder: Path) -> None:
    (folder / "1.jsonl").write_text("\n".join(BOTH))
    assert latest_s(STACK, ["w0"]) == {"w0": 1200}


@pytest.mark.parametrize(
    "torn",
    [
        pytest.param('{"machine": "m0", "text": "installed; 9', id="cut"),
        pytest.param('["installed; 9 s spent"]', id="no-object"),
        pytest.param('{"text": "installed; 9 s spent"}', id="no-machine"),
        pytest.param(line("m0", "installed; soon"), id="no-seconds"),
    ],
)
def test_a_torn_line_counts_for_nothing(folder: Path, torn: str) -> None:
    (folder / "1.jsonl").write_text(f"{torn}\n{line('m1', 'installed; 900 s spent')}\n")
    assert latest_s(STACK, ["m1"]) == {"m1": 900}


def test_the_engine_writes_what_is_read(folder: Path) -> None:
    rig = Rig()
    rig.bmc.install_s = 300
    rig.run()
    (folder / "1.jsonl").write_text("\n".join(line("m0", text) for text in rig.lines))
    assert 300 < latest_s(STACK, ["m0"])["m0"] < 600
