"""The log of a run: one file for all its lines, of its owner alone, bounded, and whole up to a kill."""

import json
import logging
import os
import pkgutil
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import wires
from base import log, log_file
from base.clock import SYSTEM_CLOCK
from base.errors import BmcRefusedError
from base.log_entries import Action
from base.progress import Progress
from providers.pulumi import plugin
from testing.checkout import ROOT

URN = "urn:pulumi:prod::okd::okd-baremetal:cluster:Cluster$pulumi-python:dynamic/baremetal:BmcHost::okd-m0"


@pytest.fixture(autouse=True)
def _a_plugin_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be the process that an engine started in the project's root; leave no log open."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SYSTEM_CLOCK, "engine", ("127.0.0.1", 1))
    yield
    log.close()
    for name in ("wires", log.__name__):
        logger = logging.getLogger(name)
        assert logger.level == logging.NOTSET
        assert not any(isinstance(handler, log_file.RunLog) for handler in logger.handlers)


def files(stack: str = "prod") -> list[Path]:
    return sorted(Path("log", stack).glob("*"))


def lines() -> list[dict[str, Any]]:
    (file,) = files()
    return [json.loads(line) for line in file.read_text().splitlines()]


def working(machine: str = "", begun: Callable[[Path], None] = lambda _: None) -> AbstractContextManager[None]:
    return log.working(Action.CREATE, URN, machine, begun)


def say(text: str = "GET /redfish/v1") -> None:
    logging.getLogger("wires.redfish.client.adapter").debug("%s", text)


def test_each_line_has_its_time_resource_machine_event_and_text(capfd: pytest.CaptureFixture[str]) -> None:
    with working("m0"):
        say()
        logging.getLogger("wires.libvirt.connection").debug("test:///default: create domain vm")
        logging.getLogger("wires.segment.neighbours").debug("192.0.2.2 on br0: answered by nobody")
        logging.getLogger("wires.api.https").debug("GET https://192.0.2.2:6443/readyz: status 200")
        log.step(Progress("media", "1 s spent"), "")
        log.step(Progress("installed", "9 s spent", took_s=9.0), "")
    written = lines()
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time")) for line in written)
    end = written.pop()
    assert re.fullmatch(r"create: done in \d+\.\d s", end.pop("text"))
    assert 0 <= end.pop("seconds") < 60
    who = {"resource": "BmcHost::okd-m0", "machine": "m0"}
    assert end == {**who, "event": "end", "step": "create"}
    assert written == [
        {**who, "event": "begin", "step": "create", "text": "create: begins"},
        {**who, "event": "redfish", "text": "GET /redfish/v1"},
        {**who, "event": "libvirt", "text": "test:///default: create domain vm"},
        {**who, "event": "segment", "text": "192.0.2.2 on br0: answered by nobody"},
        {**who, "event": "api", "text": "GET https://192.0.2.2:6443/readyz: status 200"},
        {**who, "event": "step", "step": "media", "text": "media: 1 s spent"},
        {**who, "event": "end", "step": "installed", "seconds": 9.0, "text": "installed: 9 s spent"},
    ]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("module", [*(each.name for each in pkgutil.iter_modules(wires.__path__)), "of_tomorrow", ""])
def test_every_wire_can_log(module: str) -> None:
    logger = logging.getLogger(f"wires.{module}".rstrip("."))
    with working():
        logger.debug("sent")
    (line,) = [line for line in lines() if line["text"] == "sent"]
    assert line["event"] == (module or "wires")


def test_a_line_that_cannot_be_written_fails_no_work(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.getLogger("wires"), "propagate", False)  # pytest's own handler raises
    with working():
        logging.getLogger("wires.redfish.client.adapter").debug("%d polls", "no number")
    assert "TypeError" in capfd.readouterr().err


def test_what_other_libraries_log_is_not_in_it() -> None:
    with working():
        logging.getLogger("sushy.connector").debug("Password: canary")
        logging.getLogger("urllib3.connectionpool").debug("canary")
    assert "canary" not in files()[0].read_text()


@pytest.mark.parametrize("umask", [0o022, 0o000, 0o077])
def test_only_its_owner_may_read_it(umask: int) -> None:
    before = os.umask(umask)
    try:
        with working():
            pass
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in (Path("log"), Path("log", "prod"), *files())]
    assert modes == [0o700, 0o700, 0o600]


def test_all_work_of_a_process_is_in_one_file() -> None:
    for _ in range(3):
        with working():
            say()
    assert [line["text"] for line in lines()].count("GET /redfish/v1") == 3


def test_what_follows_a_run_is_started_once_when_its_log_is_opened() -> None:
    started = list[Path]()
    for _ in range(2):
        with working(begun=started.append):
            say()
    assert started == files()


def test_what_a_resource_reports_is_a_step_of_it() -> None:
    with working():
        pass
    plugin.row(URN)(Progress("held by m0"))
    (line,) = [line for line in lines() if line["text"] == "held by m0"]
    assert line["resource"] == "BmcHost::okd-m0"


def test_an_error_is_in_it_in_full_and_ends_with_its_path() -> None:
    error = BmcRefusedError("HTTP 500", where="https://192.0.2.9", fix="look", details=["second line"])
    with pytest.raises(BmcRefusedError) as caught, working("m0"):
        raise error
    assert caught.value.__notes__ == [f"log: {files()[0]}"]
    texts = [line["text"] for line in lines() if line["event"] == "error"]
    assert texts == ["BmcRefusedError: https://192.0.2.9: HTTP 500", "BmcRefusedError: second line. Fix: look"]


def test_of_an_error_that_nobody_foresaw_only_the_place_is_in_it() -> None:
    with pytest.raises(ValueError, match="canary"), working():
        raise ValueError("canary")
    (text,) = [line["text"] for line in lines() if line["event"] == "error"]
    assert re.match(r"ValueError at log\.py:\d+ working, test_log\.py:\d+ test_of_an_error", text)


def test_nothing_is_written_before_there_is_work() -> None:
    plugin.notes(URN)("a note of a preview")
    say()
    assert not Path("log").exists()


def test_a_process_that_no_engine_started_leaves_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SYSTEM_CLOCK, "engine", None)
    with working():
        say()
    assert not Path("log").exists()


def test_a_run_removes_the_oldest_logs_of_only_its_stack() -> None:
    for stack in ("prod", "other"):
        for day in range(10, 35):
            path = Path("log", stack, f"2026-01-{day}T000000.000Z.jsonl")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{}\n")
    with working():
        pass
    assert (len(files()), len(files("other"))) == (20, 25)
    assert files()[0].name == "2026-01-16T000000.000Z.jsonl"


def test_a_run_keeps_its_own_log_beside_those_of_a_clock_that_was_ahead() -> None:
    """Twenty of them: a run of the right clock was the oldest by its name, and removed its own log."""
    for day in range(10, 35):
        path = Path("log", "prod", f"2999-01-{day}T000000.000Z.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    with working():
        pass
    assert len(files()) == 20
    assert log_file.runs_of("prod")[-1] == files()[0]
    assert files()[0].read_text()


def test_beyond_its_bound_a_run_writes_only_steps_and_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "RUN_BYTES", 10_000)
    with working():
        for _ in range(20):
            say("x" * 1000)
        log.step(Progress("the last step"), "")
    written = lines()
    assert [line["text"][:3] for line in written[:-3]] == ["cre", *["xxx"] * 9]
    assert written[-3]["text"].endswith("from here on only steps and errors are written")
    assert written[-2]["text"] == "the last step"


def test_work_goes_on_if_no_log_can_be_written(capfd: pytest.CaptureFixture[str]) -> None:
    Path("log").write_text("a file in place of the folder")
    with pytest.raises(BmcRefusedError) as caught, working():
        raise BmcRefusedError("HTTP 500")
    assert not hasattr(caught.value, "__notes__")
    (line,) = capfd.readouterr().err.splitlines()
    assert re.fullmatch(r"log/prod/20\S+\.jsonl: no log is written: (File exists|Not a directory)", line)


def test_a_killed_process_leaves_each_line(tmp_path: Path) -> None:
    program = """
        import os, signal
        from base import log
        from base.clock import SYSTEM_CLOCK
        from base.log_entries import Action
        from base.progress import Progress
        SYSTEM_CLOCK.engine = ("127.0.0.1", 1)
        with log.working(Action.CREATE, URN, "m0", lambda _: None):
            log.step(Progress("installing from ISO"), "")
            os.kill(os.getpid(), signal.SIGKILL)
    """
    text = textwrap.dedent(program).replace("URN", repr(URN))
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, check=False)
    assert done.returncode == -9
    assert (lines()[-1]["machine"], lines()[-1]["text"]) == ("m0", "installing from ISO")
