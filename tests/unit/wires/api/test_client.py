"""What a client of the VIP measures: counts of attempts, and the longest gap."""

import threading

import pytest

from wires.api import client as client_of_a_vip
from wires.api.client import PROBLEMS, Attempt, Attempts, VipClient


@pytest.mark.parametrize(
    ("attempts", "failed", "gap_ms", "began"),
    [
        pytest.param([], 0, 0, 0, id="none"),
        pytest.param([(1.0, True)], 0, 0, 0, id="one"),
        pytest.param([(1.0, True), (1.02, True), (1.05, True)], 0, 30, 1.02, id="steady"),
        pytest.param([(1.0, True), (1.5, False), (2.0, True), (2.02, True)], 1, 1000, 1.0, id="an-outage"),
        pytest.param([(1.0, False), (2.0, True), (2.1, True)], 1, 100, 2.0, id="begins-with-an-outage"),
    ],
)
def test_the_gap_is_between_two_successes(
    attempts: list[tuple[float, bool]], failed: int, gap_ms: float, began: float
) -> None:
    met = Attempts()
    for now, succeeded in attempts:
        met.note(succeeded, now)
    assert (met.tried, met.failed, round(met.gap_ms), met.gap_began) == (len(attempts), failed, gap_ms, began)


class Answers:
    """Answers by a script (good, bad, or a problem), then repeats its last entry and sets `through`."""

    def __init__(self, *script: bool | str) -> None:
        self.script, self.asked, self.through = list(script), 0, threading.Event()

    def __call__(self) -> str | None:
        answer = self.script[min(self.asked, len(self.script) - 1)]
        self.asked += 1
        if self.asked >= len(self.script) + 2:
            self.through.set()
        if isinstance(answer, str):
            return answer
        return None if answer else f"problem {self.asked}"


def measured(connect: Attempt, request: Attempt, *scripts: Answers) -> VipClient:
    with VipClient(connect, request) as client:
        for script in scripts:
            assert script.through.wait(10)
    return client


def test_a_failed_connect_is_counted_and_not_retried() -> None:
    connects, requests = Answers(True, False, False, True), Answers(True)
    client = measured(connects, requests, connects, requests)
    assert client.connects.failed == 2
    assert client.connects.retried == 0
    assert client.connects.tried == connects.asked


def test_a_connect_that_was_accepted_and_then_reset_is_retried() -> None:
    connects = Answers(True, "Connection reset by peer", True, "timed out", True)
    requests = Answers(True)
    client = measured(connects, requests, connects, requests)
    assert (client.connects.retried, client.connects.failed) == (1, 1)


def test_a_request_that_broke_is_not_made_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_of_a_vip, "RETRY_AFTER_S", 3600)
    connects, requests = Answers(True), Answers(False, True)
    with VipClient(connects, requests):
        assert connects.through.wait(10)
        assert requests.asked <= 1
    assert requests.asked == 2


def test_a_request_that_broke_in_flight_is_retried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_of_a_vip, "RETRY_AFTER_S", 0)
    connects, requests = Answers(True), Answers(True, False, True, False, False, True)
    client = measured(connects, requests, connects, requests)
    assert (client.requests.retried, client.requests.failed) == (1, 1)
    assert client.requests.tried == requests.asked - 2
    assert client.requests.problems == ["problem 2", "problem 4", "problem 5"]


def test_only_the_first_few_problems_are_recorded() -> None:
    connects, requests = Answers(*[False] * (PROBLEMS + 3), True), Answers(True)
    client = measured(connects, requests, connects, requests)
    assert client.connects.problems == [f"problem {number}" for number in range(1, PROBLEMS + 1)]


def test_the_measurement_ends_with_its_block_even_if_that_fails() -> None:
    before = threading.active_count()
    with pytest.raises(KeyError), VipClient(lambda: None, lambda: None):
        raise KeyError
    assert threading.active_count() == before
