"""Rollouts on a real server, with the real worker of the workflows; only the sites' workers are stand-ins."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHandle
from temporalio.converter import WorkflowSerializationContext
from temporalio.service import RPCError

from base.errors import ConfigError
from fleet import desk
from fleet.connection import NAMESPACE
from fleet.messages import Order, Rollout, Status, Waits, Wave
from fleet.worker import workflow_worker
from fleet.workflows import ClusterWorkflow, RolloutWorkflow, cluster_id, rollout_id
from testing.approvers import JANE
from testing.fakes.site_worker import FakeSiteWorker
from testing.histories import CONVERTER

DEADLINE_S = 60
"""For a whole scenario; the longest one takes 2 s."""
POLL_S = 0.05
IDENTITY = "recorded"
"""Keeps the names of a developer's processes out of recorded histories."""
ENDS = {
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED: "in production",
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED: "cancelled",
}


class Rollouts:
    """One rollout at one site of the same name, and its events."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name, self.site = client, name, FakeSiteWorker()
        self._orders: list[Order] = []

    async def start(self, *waves: Wave) -> WorkflowHandle[RolloutWorkflow, dict[str, str]]:
        """Start the rollout."""
        self._orders = [order for wave in waves for order in wave.orders]
        await desk.start(self.client, Rollout(self.name, list(waves)))
        return self.client.get_workflow_handle_for(RolloutWorkflow.run, rollout_id(self.name))

    def cluster(self, cluster: str) -> WorkflowHandle[ClusterWorkflow, object]:
        """Return the handle of a cluster's workflow."""
        return self.client.get_workflow_handle_for(ClusterWorkflow.run, cluster_id(cluster))

    async def approve(self, cluster: str, digest: str) -> str:
        """Approve a preview, and return its phase."""
        return await desk.approve(self.client, cluster, digest, "somebody", JANE)

    async def until(self, is_true: Callable[[], Awaitable[bool]]) -> None:
        """Wait until `is_true`; the deadline of the scenario limits it."""
        while not await is_true():
            await asyncio.sleep(POLL_S)

    async def at(self, cluster: str, step: str) -> Status:
        """Return the status of a cluster once it is at a step."""
        statuses: list[Status] = []

        async def is_there() -> bool:
            with suppress(ConfigError):  # it has not begun
                statuses[:] = [(await desk.describe(self.client, cluster)).status]
            return bool(statuses) and statuses[0].step == step

        await self.until(is_there)
        return statuses[0]

    async def course(self, until: str) -> list[str]:
        """Return the starts, signals and ends of clusters, once the rollout has processed the one named `until`."""
        words: list[str] = []

        async def is_through() -> bool:
            events = [event async for event in self._rollout.fetch_history_events()]
            by_event = [await self._word(event) for event in events]
            words[:] = filter(None, by_event)
            kinds = [event.event_type for event in events]
            processed = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
            return until in by_event and processed in kinds[by_event.index(until) :]

        await self.until(is_through)
        return words

    @property
    def _rollout(self) -> WorkflowHandle[RolloutWorkflow, dict[str, str]]:
        return self.client.get_workflow_handle_for(RolloutWorkflow.run, rollout_id(self.name))

    async def _word(self, event: HistoryEvent) -> str:
        """Return the words for an event about a cluster; empty for any other event."""
        if event.event_type == EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
            child = event.start_child_workflow_execution_initiated_event_attributes.workflow_id
            return f"{child.removeprefix(cluster_id(''))} begins"
        if event.event_type in ENDS:
            name = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_").lower() + "_event_attributes"
            child = getattr(event, name).workflow_execution.workflow_id
            return f"{child.removeprefix(cluster_id(''))} {ENDS[event.event_type]}"
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
            payloads = event.workflow_execution_signaled_event_attributes.input.payloads
            own = WorkflowSerializationContext(namespace=NAMESPACE, workflow_id=rollout_id(self.name))
            [waits] = await CONVERTER.with_context(own).decode(payloads, [Waits])
            stopped_or_waits = "stopped" if waits.is_stopped else "waits"
            return f"{waits.cluster} {stopped_or_waits if waits.for_person else 'goes on'}"
        return ""

    async def end(self) -> None:
        """End the workflows that still run, since all tests share the server."""
        for workflow in (rollout_id(self.name), *(cluster_id(order.cluster) for order in self._orders)):
            with suppress(RPCError):  # it has ended, or never began
                await self.client.get_workflow_handle(workflow).terminate()


@asynccontextmanager
async def rollouts(address: str, name: str) -> AsyncIterator[Rollouts]:
    """Connect, and run the worker of the workflows."""
    client = await Client.connect(address, namespace=NAMESPACE, data_converter=CONVERTER, identity=IDENTITY)
    async with workflow_worker(client):
        own = Rollouts(client, name)
        try:
            yield own
        finally:
            await own.end()
