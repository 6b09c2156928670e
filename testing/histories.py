"""Recorded workflows. Today's code has to replay them: those that are under way on a release go on with the next."""

from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer

from fleet.codec import KEY_BYTES, sealing
from fleet.workflows import ClusterWorkflow, NoticeWorkflow, RolloutWorkflow
from testing.checkout import ROOT

HISTORIES = ROOT / "tests" / "fleet" / "histories"
CONVERTER = sealing(bytes(range(KEY_BYTES)))
"""Of a key that everybody knows, so that what is recorded can be opened."""


async def replay(history: WorkflowHistory) -> None:
    """Run the workflows' code against what one of them did.

    Raises:
        WorkflowNondeterminismError: It now does something else.
    """
    replayer = Replayer(workflows=[ClusterWorkflow, NoticeWorkflow, RolloutWorkflow], data_converter=CONVERTER)
    await replayer.replay_workflow(history)


async def keep(client: Client, workflow_id: str, name: str, *, accept: bool) -> None:
    """Replay what a workflow has done, and record it if that is asked for."""
    history = await client.get_workflow_handle(workflow_id).fetch_history()
    await replay(history)
    if accept:
        (HISTORIES / f"{name}.json").write_text(history.to_json() + "\n")
