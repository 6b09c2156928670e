"""Recorded workflows, which the code must replay: running workflows continue with the next release."""

import json
from pathlib import Path

from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer

from fleet.codec import sealing
from fleet.keys import KEY_BYTES
from fleet.workflows import ClusterWorkflow, NoticeWorkflow, RolloutWorkflow
from testing.checkout import ROOT

HISTORIES = ROOT / "tests" / "fleet" / "histories"
STARTED = "workflowExecutionStartedEventAttributes"
CONVERTER = sealing(bytes(range(KEY_BYTES)))
"""Its key is public, so that every developer can read the recorded workflows."""


def recorded(file: Path) -> WorkflowHistory:
    """Return a recorded history, under the id of its workflow."""
    text = file.read_text()
    return WorkflowHistory.from_json(json.loads(text)["events"][0][STARTED]["workflowId"], text)


async def replay(history: WorkflowHistory) -> None:
    """Run the workflows' code on the history of one of them.

    Raises:
        WorkflowNondeterminismError: The code does something else now.
    """
    replayer = Replayer(workflows=[ClusterWorkflow, NoticeWorkflow, RolloutWorkflow], data_converter=CONVERTER)
    await replayer.replay_workflow(history)


async def record(client: Client, workflow_id: str, name: str, *, accept: bool) -> None:
    """Replay a workflow's history, and record it if `accept`."""
    history = await client.get_workflow_handle(workflow_id).fetch_history()
    await replay(history)
    if accept:
        (HISTORIES / f"{name}.json").write_text(history.to_json() + "\n")
