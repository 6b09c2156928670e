"""What an installation shows of itself: its steps, who reads, and the time that is left."""

import re
from dataclasses import replace

import pytest

from providers.host_provisioning.installation.shown_steps import INSTALLED
from testing.fakes.media import FakeMedia
from tests.unit.providers.host_provisioning.installation.rig import DEADLINE_S, NAME, Rig, running
from wires.bmc.steps import run_steps


def test_only_the_last_report_says_how_long_the_installation_took() -> None:
    rig = Rig()
    began = rig.clock.now()
    rig.run()
    *earlier, last = rig.reports
    assert last.step == INSTALLED
    assert last.took_s == round(rig.clock.now() - began, 1) > 0
    assert [progress.took_s for progress in earlier] == [None] * len(earlier)


def test_progress_names_each_reader_of_the_iso(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    monkeypatch.setattr(FakeMedia, "progress", lambda _, url: f"192.0.2.9 has read 37 MB of {url[-16:]}")
    rig.run()
    read = [line for line in rig.lines if "has read" in line]
    assert read
    assert all(line.startswith(f"installing from ISO: 192.0.2.9 has read 37 MB of {NAME}.iso; ") for line in read)


def test_progress_is_a_line_per_change_and_a_heartbeat() -> None:
    rig = Rig()
    rig.bmc.install_s = 300
    seconds = rig.run().seconds
    beats = [line for line in rig.lines if line.startswith("installing from ISO")]
    assert 20 <= len(beats) <= 31
    assert re.search(r"s spent, at most 3,\d{3} s left$", beats[0])
    assert re.fullmatch(r"installed: \d{3} s spent", rig.lines[-1])
    assert seconds["installing from ISO"] >= 300


def test_the_time_left_is_estimated_from_an_earlier_installation() -> None:
    rig = Rig()
    rig.bmc.install_s = 300
    installation = replace(rig.installation(), expected_s=200.0)
    run_steps(installation.run(), rig.clock)
    beats = [line.partition(": ")[2] for line in rig.lines if line.startswith("installing from ISO")]
    assert re.fullmatch(r"(\d+) s spent, about (\d+) s left, at most 3,\d{3} s", beats[0])
    assert {sum(map(int, re.findall(r"(\d+) s (?:spent|left)", beat))) for beat in beats if "about" in beat} <= {
        199,
        200,
        201,
    }
    assert re.fullmatch(
        r"\d+ s spent, longer than the 200 s of the last installation, at most 3,\d{3} s left", beats[-1]
    )


def test_a_time_that_is_no_longer_allowed_is_not_expected() -> None:
    rig = Rig()
    run_steps(replace(rig.installation(), expected_s=DEADLINE_S + 1).run(), rig.clock)
    assert not [line for line in rig.lines if "about" in line]


def test_a_host_that_runs_already_has_nothing_left() -> None:
    rig = running(None)
    run_steps(replace(rig.installation(), expected_s=200.0).run(), rig.clock)
    assert re.fullmatch(r"adopted: \d+ s spent", rig.lines[-1])
