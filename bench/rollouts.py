"""A rollout through the fleet's desk: approvals as soon as clusters wait, and the workflows of its clusters."""

import asyncio
from collections.abc import Sequence

from temporalio.client import Client, WorkflowExecution

from fleet import desk
from fleet.approvers import approver
from fleet.workflows import APPROVAL, IN_PRODUCTION, RolloutWorkflow, rollout_id

POLL_S = 0.5
SIDE_BY_SIDE = 20
"""Approvals at the same time."""


async def approved_until_done(client: Client, names: Sequence[str], *, has_gates: bool = True) -> None:
    """Wait for the end of rollouts; if their clusters have gates, approve each one that waits.

    Raises:
        RuntimeError: A cluster is not in production.
    """
    result = asyncio.gather(
        *(client.get_workflow_handle_for(RolloutWorkflow.run, rollout_id(name)).result() for name in names)
    )
    while has_gates and not result.done():
        await _approve_waiting(client)
        await asyncio.wait({result}, timeout=POLL_S)
    ends = {cluster: end for rollout in await result for cluster, end in rollout.items()}
    if wrong := {cluster: end for cluster, end in ends.items() if end != IN_PRODUCTION}:
        raise RuntimeError(f"not in production: {wrong}")


async def _approve_waiting(client: Client) -> None:
    slots = asyncio.Semaphore(SIDE_BY_SIDE)

    signs = approver()

    async def approve(cluster: str) -> None:
        async with slots:
            status = (await desk.describe(client, cluster)).status
            approved = {f"{approval.phase}: {APPROVAL}" for approval in status.approvals}
            # The table is a moment behind, and an approved cluster stays at the step until its rollout knows.
            if status.step.endswith(APPROVAL) and status.step not in approved and status.preview:
                await desk.approve(client, cluster, status.preview.digest, "bench", signs)

    waiting = [status.cluster for status in await desk.cluster_statuses(client) if status.step.endswith(APPROVAL)]
    await asyncio.gather(*map(approve, waiting))


async def clusters_of(client: Client, size: int) -> list[WorkflowExecution]:
    """Return the workflows of all clusters, once the server's table shows that each has ended."""
    while True:
        query = f"{desk.CLUSTERS} AND ExecutionStatus = 'Completed'"
        workflows = [workflow async for workflow in client.list_workflows(query)]
        if len(workflows) == size:
            return workflows
        await asyncio.sleep(POLL_S)
