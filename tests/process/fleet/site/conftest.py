"""What a site has: Pulumi's CLI, here a stand-in, and a clone of the repository of stacks."""

from pathlib import Path

import pytest

from testing.fakes.pulumi import FakePulumi


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePulumi:
    """The stand-in for the CLI, on PATH."""
    fake = FakePulumi(tmp_path / "pulumi")
    monkeypatch.setenv("PATH", fake.path)
    return fake
