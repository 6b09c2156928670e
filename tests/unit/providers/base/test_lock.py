"""The lock that allows one worker per natural key."""

import tempfile
import threading
from pathlib import Path

import pytest

from providers.base.errors import BusyError
from providers.base.lock import held
from testing.fakes.clock import FakeClock


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the locks of a test in its own folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_second_holder_is_refused_at_its_deadline() -> None:
    clock = FakeClock(0)
    with (
        held("VIP 192.0.2.5", clock=clock),
        pytest.raises(BusyError) as caught,
        held("VIP 192.0.2.5", deadline_s=20, clock=clock),
    ):
        pass
    assert 20 <= clock.now() <= 20.5
    assert str(caught.value).startswith("VIP 192.0.2.5: another run has worked on it for more than 20 s. ")


def test_a_lock_of_another_key_is_free() -> None:
    clock = FakeClock(0)
    with held("domain a", clock=clock), held("domain b", clock=clock):
        assert clock.slept == []


def test_a_lock_is_free_again_after_success_and_failure() -> None:
    clock = FakeClock(0)
    with pytest.raises(KeyError), held("x", clock=clock):
        raise KeyError
    with held("x", clock=clock):
        pass
    with held("x", clock=clock):
        assert clock.slept == []


def test_a_waiter_gets_the_lock_once_the_first_holder_is_done() -> None:
    class Releasing(FakeClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            done.set()
            thread.join()

    got, done = threading.Event(), threading.Event()

    def first() -> None:
        with held("x"):
            got.set()
            done.wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    assert got.wait(10)
    clock = Releasing(0)
    with held("x", clock=clock):
        assert len(clock.slept) == 1


def test_only_the_owner_can_read_the_folder_of_the_locks(tmp_path: Path) -> None:
    with held("x"):
        (folder,) = tmp_path.glob("okd-baremetal-*")
        assert folder.stat().st_mode & 0o777 == 0o700
