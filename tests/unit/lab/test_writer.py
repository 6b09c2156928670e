"""The rehearsal's writer, against a store that fails on demand."""

import threading

import pytest

from lab.rehearsal import writer
from lab.rehearsal.writer import Writer


class Failing:
    """A `Store` whose keys fail so many times before they are written, and which loses some of them."""

    def __init__(self, failures: dict[str, int], lost: set[str]) -> None:
        self.failures, self.lost = failures, lost
        self.written: set[str] = set()
        self.now_s = 0.0
        self.all_written = threading.Event()

    def put(self, key: str) -> None:
        self.now_s += 2
        self.failures[key] = self.failures.get(key, 0) - 1
        if self.failures[key] >= 0:
            raise ConnectionRefusedError("seen")
        self.written.add(key)
        if key == "000003":
            self.all_written.set()

    def keys(self) -> set[str]:
        return self.written - self.lost


def test_a_writer_counts_from_its_first_acknowledged_key_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "EVERY_S", 0)
    store = Failing({"000000": 9, "000001": 1, "000002": 3}, lost={"000002"})
    monkeypatch.setattr("time.monotonic", lambda: store.now_s)
    load = Writer(store, every_s=0)
    load.start()
    assert store.all_written.wait(60)
    load.stop()
    assert load.acknowledged[:4] == ["000000", "000001", "000002", "000003"]
    assert load.retries == 4, "the first key came before the API"
    assert load.slowest_s == 8, "four tries of the third"
    assert load.problems == ["000002: " + ", then ".join(["seen"] * 3)]
    assert load.lost() == ["000002"]
