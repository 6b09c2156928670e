"""The pool that runs a provider's calls grows where it is Python's own, and is left alone else."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from providers.asset.provider import AssetProvider
from providers.workers import WORKERS, widen


def configured() -> None:
    AssetProvider().configure(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("call", [widen, configured])
def test_the_pool_of_the_calling_thread_takes_more_than_it_was_made_for(call: Callable[[], None]) -> None:
    meeting = threading.Barrier(6)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(call).result()
        for each in [pool.submit(meeting.wait, 20) for _ in range(6)]:
            each.result()


def test_a_wider_pool_keeps_its_width() -> None:
    with ThreadPoolExecutor(WORKERS + 1) as pool:
        pool.submit(widen).result()
        assert pool._max_workers == WORKERS + 1


@pytest.mark.parametrize("arguments", [(), ("no reference",)], ids=["none", "others"])
def test_a_thread_of_no_pool_is_left_as_it_is(arguments: tuple[str, ...]) -> None:
    failed: list[BaseException] = []

    def work(*_: str) -> None:
        try:
            widen()
        except BaseException as error:  # noqa: BLE001  (a thread's own would only be printed)
            failed.append(error)

    thread = threading.Thread(target=work, args=arguments)
    thread.start()
    thread.join()
    assert failed == []
