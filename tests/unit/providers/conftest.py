"""Fixtures of the resources' tests."""

from functools import partial
from pathlib import Path

import pytest

from providers.base import lock


@pytest.fixture
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep this test's locks apart from all others', and wait for none."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(lock, "held", partial(lock.held, deadline_s=0))
