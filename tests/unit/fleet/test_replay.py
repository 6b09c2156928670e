"""Today's workflows replay what tests/fleet has recorded: those under way outlive a new release."""

import asyncio
import base64
from pathlib import Path

import pytest

from fleet.codec import BOUND, UNBOUND
from testing.histories import HISTORIES, recorded, replay


@pytest.mark.parametrize("file", sorted(HISTORIES.iterdir()), ids=lambda file: file.stem)
def test_a_workflow_of_before_goes_on(file: Path) -> None:
    asyncio.run(replay(recorded(file)))


def test_the_sdk_binds_all_that_a_server_keeps_of_a_workflow() -> None:
    """Orders, results, failures, approvals and signals: whatever the release of the SDK."""
    kept = (HISTORIES / "unapproved.json").read_text()
    bound, unbound = (kept.count(f'"{base64.b64encode(each).decode()}"') for each in (BOUND, UNBOUND))
    assert (bound > 10, unbound) == (True, 0)
