"""Today's workflows replay what tests/fleet/test_rollouts.py has recorded: those under way outlive a new release."""

import asyncio
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory

from testing.histories import HISTORIES, replay


@pytest.mark.parametrize("file", sorted(HISTORIES.iterdir()), ids=lambda file: file.stem)
def test_a_workflow_of_before_goes_on(file: Path) -> None:
    asyncio.run(replay(WorkflowHistory.from_json(file.stem, file.read_text())))
