"""Fixtures of the unit tests."""

from pathlib import Path

import pytest


@pytest.fixture
def payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for the payload of stack `prod`, relative to the current one; it does not exist yet."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "stacks" / "prod" / "payload"
