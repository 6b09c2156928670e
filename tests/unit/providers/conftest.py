"""Fixtures of the resources' tests."""

from functools import partial
from pathlib import Path

import pytest

from providers.base import lock


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
