"""Waits end when the engine is gone."""

import socket
import time

import pytest

from providers.base.clock import SLICE_S, SystemClock
from providers.base.errors import EngineGoneError


class Naps:
    """Stands in for the machine's clock: time passes in naps alone."""

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


def test_a_wait_ends_at_once_when_the_engine_is_gone(naps: Naps) -> None:
    with socket.create_server(("127.0.0.1", 0)) as engine:
        port = engine.getsockname()[1]
    with pytest.raises(EngineGoneError, match="pulumi cancel"):
        SystemClock(f"127.0.0.1:{port}").sleep(3600)
    assert naps.taken == []


def test_an_engine_that_goes_during_a_wait_is_noticed(naps: Naps, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = socket.create_server(("127.0.0.1", 0))

    def nap_until_it_goes(seconds: float) -> None:
        naps.nap(seconds)
        if len(naps.taken) == 2:
            engine.close()

    monkeypatch.setattr(time, "sleep", nap_until_it_goes)
    with pytest.raises(EngineGoneError):
        SystemClock(f"127.0.0.1:{engine.getsockname()[1]}").sleep(3600)
    assert naps.taken == [SLICE_S] * 2


@pytest.mark.parametrize("engine", ["listens", "", "-q", "/tmp/x"], ids=["listens", "none", "option", "path"])  # noqa: S108
def test_a_wait_lasts_as_long_as_was_asked(naps: Naps, engine: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}" if engine == "listens" else engine
        SystemClock(address).sleep(1.25)
    assert naps.taken == [0.5, 0.5, 0.25]
