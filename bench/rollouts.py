"""A rollout through the fleet's desk: approvals as soon as clusters wait, and what the server then knows of it."""

import asyncio
from collections.abc import Sequence

from temporalio.client import Client, WorkflowExecution

from fleet import desk
from fleet.workflows import APPROVAL, IN_PRODUCTION, RolloutWorkflow, rollout_id

LOOK_S = 0.5
SIDE_BY_SIDE = 20
"""Approvals on the way."""


async def approved_until_done(client: Client, names: Sequence[str], *, looks: bool = True) -> None:
    """Wait for the end of rollouts, and approve what waits if their clusters have gates (`looks`).

    Raises:
        RuntimeError: A cluster is not in production.
    """
    result = asyncio.gather(
        *(client.get_workflow_handle_for(RolloutWorkflow.run, rollout_id(name)).result() for name in names)
    )
    while looks and not result.done():
        await _approve_those_that_wait(client)
        await asyncio.wait({result}, timeout=LOOK_S)
    ends = {cluster: end for each in await result for cluster, end in each.items()}
    if wrong := {cluster: end for cluster, end in ends.items() if end != IN_PRODUCTION}:
        raise RuntimeError(f"not in production: {wrong}")


async def _approve_those_that_wait(client: Client) -> None:
    slots = asyncio.Semaphore(SIDE_BY_SIDE)

    async def approve(cluster: str) -> None:
        async with slots:
            status = (await desk.describe(client, cluster)).status
            approved = {f"{each.phase}: {APPROVAL}" for each in status.approvals}
            # The table is a moment behind, and an approved cluster stays at the step until its rollout knows.
            if status.step.endswith(APPROVAL) and status.step not in approved and status.preview:
                await desk.approve(client, cluster, status.preview.digest, "bench")

    waiting = [each.cluster for each in await desk.cluster_statuses(client) if each.step.endswith(APPROVAL)]
    await asyncio.gather(*map(approve, waiting))


async def clusters_of(client: Client, size: int) -> list[WorkflowExecution]:
    """Return the workflows of all clusters, once the server's table shows that each has ended."""
    while True:
        query = f"{desk.CLUSTERS} AND ExecutionStatus = 'Completed'"
        found = [each async for each in client.list_workflows(query)]
        if len(found) == size:
            return found
        await asyncio.sleep(LOOK_S)
