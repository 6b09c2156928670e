"""Report, notice and expected time read the fields of a log, whatever its texts say."""

import json
import logging
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from base import log
from base.clock import SYSTEM_CLOCK
from base.errors import BmcRefusedError
from base.log_entries import Action, entries_of
from base.log_file import runs_of
from base.progress import Progress
from cli.runs.after_run import _changes as has_changed
from cli.runs.timeline import Timeline, timelines_of
from providers.host_provisioning.installation.durations import latest_s
from providers.pulumi import plugin
from tests.unit.providers.host_provisioning.installation.rig import Rig
from wires.bmc.steps import run_steps

URN = "urn:pulumi:prod::okd::Cluster$pulumi-python:dynamic/baremetal:HostProvisioning::okd-control-plane"


class Reading(NamedTuple):
    """What the readers of a log make of it."""

    rows: list[Timeline]
    has_changed: bool
    expected_s: dict[str, float]


@pytest.fixture
def reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Action], Reading]:
    """Return what reads the log that a run leaves: an installation of m0, a failure at m1, a call of a wire."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SYSTEM_CLOCK, "engine", ("127.0.0.1", 1))
    made = logging.getLogRecordFactory()

    def read(action: Action) -> Reading:
        random.seed(1)
        rig = Rig()
        rig.report = plugin.row(URN)

        def at_its_time(*arguments: Any, **fields: Any) -> logging.LogRecord:
            record = made(*arguments, **fields)
            record.created = rig.clock.now()
            return record

        logging.setLogRecordFactory(at_its_time)
        with log.working(action, URN, "", lambda _: None):
            logging.getLogger("wires.redfish.client.adapter").debug("GET /redfish/v1")
            log.about("m0")
            run_steps(rig.installation().run(), rig.clock)
            log.about("m1")
            log.failed(BmcRefusedError("an error is shown as it is"))
        log.close()
        logging.setLogRecordFactory(made)
        (path,) = runs_of("prod")
        found = Reading(timelines_of(entries_of(path)), has_changed(path), latest_s("prod", ["m0"]))
        path.unlink()
        return found

    return read


def test_the_readers_find_what_the_program_writes(reading: Callable[[Action], Reading]) -> None:
    rows, changed, expected_s = reading(Action.CREATE)
    assert [(row.name, len(row.errors)) for row in rows] == [("okd-control-plane", 0), ("m0", 0), ("m1", 1)]
    steps = list(rows[1].seconds)
    assert (steps[0], steps[-1]) == ("media", "booting from disk")
    assert (changed, [*expected_s]) == (True, ["m0"])
    assert expected_s["m0"] == pytest.approx(rows[1].spans[-1].end_s - rows[1].spans[0].begin_s, abs=60)
    assert not reading(Action.READ).has_changed


def test_another_wording_changes_no_reader(
    reading: Callable[[Action], Reading], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = reading(Action.UPDATE)
    monkeypatch.setattr(Progress, "__str__", lambda _: "entirely different words")
    write = log._write
    monkeypatch.setattr(
        log, "_write", lambda event, text, **fields: write(event, text if event == "error" else "other", **fields)
    )
    texts, dumps = set[str](), json.dumps

    def noted(line: dict[str, Any]) -> str:
        texts.add(line["text"])
        return dumps(line)

    monkeypatch.setattr(json, "dumps", noted)
    assert reading(Action.UPDATE) == before
    assert texts == {"other", "GET /redfish/v1", "BmcRefusedError: an error is shown as it is"}
