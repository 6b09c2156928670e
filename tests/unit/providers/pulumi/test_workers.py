"""The pool that runs a provider's calls is widened if it is Python's own, and otherwise left alone."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from unittest.mock import Mock
from weakref import ref

import pytest
from pulumi.dynamic import Config, ConfigureRequest

from providers.pulumi.workers import WORKERS, widen
from providers.rendered_asset.provider import RenderedAssetProvider

OTHER_POOL = Mock(_max_workers=4)


def configured() -> None:
    RenderedAssetProvider().configure(ConfigureRequest(Config({}, "")))


@pytest.mark.parametrize("call", [widen, configured])
def test_the_pool_of_the_calling_thread_is_widened(call: Callable[[], None]) -> None:
    meeting = threading.Barrier(6)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(call).result()
        for future in [pool.submit(meeting.wait, 20) for _ in range(6)]:
            future.result()


def test_a_wider_pool_keeps_its_width() -> None:
    with ThreadPoolExecutor(WORKERS + 1) as pool:
        pool.submit(widen).result()
        assert pool._max_workers == WORKERS + 1


@pytest.mark.parametrize(
    "thread",
    [
        object(),
        SimpleNamespace(_args=()),
        SimpleNamespace(_args=("word",)),
        SimpleNamespace(_args=(ref(OTHER_POOL),)),
    ],
    ids=["without-arguments", "none", "no-reference", "of-something-else"],
)
def test_a_thread_of_another_kind_of_pool_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch, thread: object) -> None:
    monkeypatch.setattr(threading, "current_thread", lambda: thread)
    widen()
    assert OTHER_POOL._max_workers == 4
