"""Fixtures of the unit tests."""

from pathlib import Path

import pytest


@pytest.fixture
def payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the payload of stack `prod` belongs, seen from the current folder; it does not exist yet."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "stacks" / "prod" / "payload"
