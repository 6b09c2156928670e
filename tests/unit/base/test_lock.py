"""The lock that allows one worker per natural key."""

import os
import re
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from base.errors import BusyError, LockError
from base.lock import folder_of, held
from testing.fakes.clock import FakeClock

pytestmark = pytest.mark.usefixtures("lock_folder")


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


@pytest.mark.parametrize("variable", ["TMPDIR", "XDG_RUNTIME_DIR", "HOME"])
@pytest.mark.parametrize("user", [0, 1000])
def test_the_environment_does_not_choose_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, user: int, variable: str
) -> None:
    elsewhere = folder_of(user)
    monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)  # where the standard library keeps its first answer
    assert folder_of(user) == elsewhere


def test_users_share_no_folder() -> None:
    assert len({folder_of(user) for user in (0, 1000, 1001)}) == 3


def test_root_has_its_locks_where_no_other_user_can_write() -> None:
    parent = folder_of(0).parent.stat()
    assert (parent.st_uid, parent.st_mode & 0o022) == (0, 0)


def test_only_the_owner_can_read_the_folder_of_the_locks(lock_folder: Path) -> None:
    with held("x"):
        assert lock_folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch, lock_folder: Path) -> None:
    lock_folder.mkdir(mode=0o700)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(LockError) as caught, held("x"):
        pass
    assert str(caught.value) == (
        f"{lock_folder}: drwx------ of user {owner}, instead of drwx------ of user {owner + 1}. "
        "Fix: when no run is in progress, remove it as root"
    )
    assert list(lock_folder.iterdir()) == []


def test_a_folder_that_others_can_write_is_refused(lock_folder: Path) -> None:
    lock_folder.mkdir()
    lock_folder.chmod(0o770)
    with pytest.raises(LockError, match="drwxrwx--- of user"), held("x"):
        pass


def test_a_link_to_another_folder_is_not_followed(tmp_path: Path, lock_folder: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    lock_folder.symlink_to(elsewhere)
    with pytest.raises(LockError, match="lrwxrwxrwx of user"), held("x"):
        pass
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("put", "mode"),
    [
        pytest.param(lambda folder, _: folder.touch(0o644), "-rw-r--r--", id="file"),
        pytest.param(lambda folder, _: folder.touch(0o700), "-rwx------", id="file-of-mode-0700"),
        pytest.param(lambda folder, _: os.mkfifo(folder, 0o700), "prwx------", id="fifo"),
        pytest.param(lambda folder, target: folder.symlink_to(target), "lrwxrwxrwx", id="link-to-nothing"),
        pytest.param(lambda folder, _: folder.symlink_to(folder), "lrwxrwxrwx", id="link-to-itself"),
    ],
)
def test_what_is_no_folder_is_refused_in_one_line_and_stays(
    put: Callable[[Path, Path], None], mode: str, tmp_path: Path, lock_folder: Path
) -> None:
    """S8: such a link made root create a file anywhere, such as /etc/nologin."""
    target = tmp_path / "nologin"
    put(lock_folder, target)
    with pytest.raises(LockError) as caught, held("x"):
        pass
    user = os.geteuid()
    assert str(caught.value) == (
        f"{lock_folder}: {mode} of user {user}, instead of drwx------ of user {user}. "
        "Fix: when no run is in progress, remove it as root"
    )
    assert not target.exists()
    lock_folder.unlink()
    with held("x"):
        assert lock_folder.is_dir(), "the fix helps"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("base.lock.folder_of", lambda _: tmp_path / "none" / "locks")
    wanted = f"{tmp_path}/none/locks: cannot be made: No such file or directory. Fix: let user {os.geteuid()} create"
    with pytest.raises(LockError, match=re.escape(wanted)), held("x"):
        pass
