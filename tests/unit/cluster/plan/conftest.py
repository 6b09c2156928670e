"""Fixtures of the plan's tests."""

from pathlib import Path

import pytest

from testing.plan_files import Files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)
