"""Fixtures of the unit tests."""

import errno
import os
from functools import partial
from pathlib import Path

import pytest

from base import lock


@pytest.fixture
def payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for the payload of stack `prod`, relative to the current one; it does not exist yet."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "stacks" / "prod" / "payload"


@pytest.fixture
def timeouts(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """The time limit of each connection that urllib3 opens; all are refused."""
    limits = list[float | None]()

    def refuse(_address: tuple[str, int], timeout: float | None, **_: object) -> None:
        limits.append(timeout)
        raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))

    monkeypatch.setattr("urllib3.util.connection.create_connection", refuse)
    return limits


@pytest.fixture
def lock_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep this test's locks apart from all others'."""
    folder = tmp_path / "locks"
    monkeypatch.setattr(lock, "folder_of", lambda _: folder)
    return folder


@pytest.fixture
def own_locks(lock_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep this test's locks apart from all others', and wait for none."""
    monkeypatch.setattr(lock, "held", partial(lock.held, deadline_s=0))
