"""Waits end when Pulumi's engine is gone, when nothing is missing any more, or at their deadline."""

import socket
import time

import pytest

from base.clock import SLICE_S, SYSTEM_CLOCK, SystemClock, Wait
from base.errors import EngineGoneError
from testing.fakes.clock import FakeClock


class Naps:
    """Replaces the machine's clock: time passes only in naps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.taken = 100.0, list[float]()
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self.nap)

    def nap(self, seconds: float) -> None:
        self.taken.append(seconds)
        self.now += seconds


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> Naps:
    return Naps(monkeypatch)


def at(port: int) -> tuple[str, int]:
    """Return the address of an engine on this machine."""
    return ("127.0.0.1", port)


def test_a_wait_ends_at_once_when_the_engine_is_gone(naps: Naps) -> None:
    with socket.create_server(("127.0.0.1", 0)) as engine:
        port = engine.getsockname()[1]
    with pytest.raises(EngineGoneError, match="pulumi cancel"):
        SystemClock(at(port)).sleep(3600)
    assert naps.taken == []


def test_a_wait_ends_when_the_engine_ends_during_it(naps: Naps, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = socket.create_server(("127.0.0.1", 0))

    def nap_until_it_goes(seconds: float) -> None:
        naps.nap(seconds)
        if len(naps.taken) == 2:
            engine.close()

    monkeypatch.setattr(time, "sleep", nap_until_it_goes)
    with pytest.raises(EngineGoneError):
        SystemClock(at(engine.getsockname()[1])).sleep(3600)
    assert naps.taken == [SLICE_S] * 2


def test_an_engine_too_busy_to_answer_counts_as_running(naps: Naps, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(address: tuple[str, int], timeout: float) -> socket.socket:
        assert (address, timeout) == (("127.0.0.1", 9), 0.5)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", busy)
    SystemClock(at(9)).sleep(0.75)
    assert naps.taken == [0.5, 0.25]


@pytest.mark.parametrize("engine", ["listens", "none"])
def test_a_wait_lasts_as_long_as_requested(naps: Naps, engine: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = at(listener.getsockname()[1]) if engine == "listens" else None
        SystemClock(address).sleep(1.25)
    assert naps.taken == [0.5, 0.5, 0.25]


def test_a_command_has_no_engine(naps: Naps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["okd-baremetal", "bmc", "check", "install-config.yaml", "--host", "m0:1"])
    SYSTEM_CLOCK.sleep(0.5)
    assert naps.taken == [0.5]


class Polled:
    """Something that lacks what `lacks` says from given seconds on."""

    def __init__(self, *lacks: tuple[float, str | None], **limits: float) -> None:
        self.clock, self.lacks, self.reports = FakeClock(0), lacks, list[tuple[float, str, float]]()
        self.wait = Wait(self.clock, **{"deadline_s": 10, **limits})

    def check(self) -> str | None:
        return [missing for since, missing in self.lacks if since <= self.clock.now()][-1]

    def late(self) -> str | None:
        return self.wait.until(self.check, lambda line, left_s: self.reports.append((self.clock.now(), line, left_s)))


def test_a_wait_for_what_is_so_already_takes_no_time() -> None:
    polled = Polled((0, None))
    assert polled.late() is None
    assert (polled.clock.slept, polled.reports) == ([], [])


def test_a_break_restarts_the_steady_time() -> None:
    polled = Polled((0, None), (3, "an answer"), (4, None), steady_s=4)
    assert polled.late() is None
    assert polled.clock.now() == 8
    assert [line for _, line, _ in polled.reports] == [
        "as wanted; steady for 4 s more",
        "an answer",
        "as wanted; steady for 4 s more",
    ]


def test_a_late_wait_returns_what_was_missing_last() -> None:
    polled = Polled((0, "a VM"), (4, "an answer"))
    assert polled.late() == "an answer"
    assert polled.clock.now() == 10
    assert polled.reports == [(0, "a VM", 10), (4, "an answer", 6)]


def test_what_was_missing_explains_a_steady_time_that_was_too_short() -> None:
    assert Polled((0, "an answer"), (8, None), steady_s=4).late() == "an answer"


def test_reports_at_an_interval_wait_for_it_also_after_a_change() -> None:
    polled = Polled((0, "an answer"), (1, "a VM"), (2, "an answer"), (5, "a VM"), report_s=4)
    polled.late()
    assert [(at_s, line) for at_s, line, _ in polled.reports] == [(0, "an answer"), (4, "an answer"), (8, "a VM")]
