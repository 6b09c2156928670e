"""Each event at each state of a cluster. Server and workflows are real, the site a stand-in."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import TerminatedError
from temporalio.service import RPCError

from base.errors import ConfigError
from fleet import desk
from fleet.connection import NAMESPACE
from fleet.messages import Order, Rollout, Wave
from fleet.worker import workflow_worker
from fleet.workflows import APPROVAL, IN_PRODUCTION, STOPPED, UPGRADE, RolloutWorkflow, cluster_id, rollout_id
from testing.approvers import JANE
from testing.fakes.site_worker import FakeSiteWorker
from testing.histories import CONVERTER
from testing.sites.temporal import TemporalServer

pytestmark = [
    pytest.mark.fleet,
    # The SDK's, if a step has ended when its cancellation arrives.
    pytest.mark.filterwarnings("ignore:Cannot find activity to cancel"),
]
CHECK, UP = "check", "bootstrap: up"
STATES = {
    "unserved": CHECK,
    "pausing": CHECK,
    "stopped": f"{CHECK}: {STOPPED}",
    "at-work": UP,
    "gate": f"bootstrap: {APPROVAL}",
    "last-gate": f"production: {APPROVAL}",
    "upgrade-gate": f"upgrade: {APPROVAL}",
    "done": IN_PRODUCTION,
}
"""The step of each. In `unserved` no worker has it, in `pausing` it waits for its next attempt."""
GATES = {"gate": ["bootstrap"], "last-gate": ["production"], "upgrade-gate": [UPGRADE]}
DEADLINE_S = 240
POLL_S = 0.3


@dataclass
class Fleet:
    """One site, with the latest table of all clusters."""

    client: Client
    site: FakeSiteWorker = field(default_factory=FakeSiteWorker)
    steps: dict[str, str] = field(default_factory=dict)

    async def watch(self) -> None:
        """Keep the table up to date."""
        while True:
            with suppress(RPCError):  # the server is away
                self.steps = {row.cluster: row.step for row in await desk.cluster_statuses(self.client)}
            await asyncio.sleep(POLL_S)

    async def enter(self, state: str, cluster: str) -> None:
        """Bring a cluster, in a rollout of its own, to a state."""
        site = self.site
        if state == "at-work":
            site.held[cluster, UP] = asyncio.Event()
        elif state == "stopped":
            site.problems[cluster, CHECK] = "no such commit"
        elif state == "pausing":
            site.transients[cluster, CHECK] = "the backend is away"
        elif state == "upgrade-gate":
            site.phases[cluster] = [UPGRADE]
        place = cluster if state == "unserved" else "served"
        await start(self, cluster, Order(cluster, place, "c0ffee", GATES.get(state, [])))
        while self.steps.get(cluster) != STATES[state]:
            await asyncio.sleep(POLL_S)

    async def end(self, state: str, cluster: str) -> str:
        """Let a cluster go on, as a person would, and return how it ends."""
        self.site.problems.pop((cluster, CHECK), None)
        self.site.transients.pop((cluster, CHECK), None)
        if held := self.site.held.get((cluster, UP)):
            held.set()
        async with AsyncExitStack() as stack:
            if state == "unserved":
                await stack.enter_async_context(self.site.worker(self.client, cluster))
            while (step := self.steps[cluster]) != IN_PRODUCTION and " at " not in step:
                with suppress(ConfigError):  # it has gone on
                    if step.endswith(APPROVAL):
                        await approve(self, cluster)
                    elif step.endswith(STOPPED):
                        await retry(self, cluster)
                await asyncio.sleep(POLL_S)
        return step.partition(" at ")[0]

    async def told(self, cluster: str) -> str:
        """Return how a cluster ended by its rollout; empty if that had ended before."""
        try:
            rollout = self.client.get_workflow_handle_for(RolloutWorkflow.run, rollout_id(cluster))
            return (await rollout.result())[cluster]
        except WorkflowFailureError as error:
            if not isinstance(error.cause, TerminatedError):
                raise
            return ""


async def start(fleet: Fleet, cluster: str, order: Order | None = None) -> None:
    orders = [order or Order(cluster, "served", "c0ffee", [])]
    await desk.start(fleet.client, Rollout(cluster, [Wave(orders, 1, 1)]))


async def approve(fleet: Fleet, cluster: str) -> None:
    preview = (await desk.describe(fleet.client, cluster)).status.preview
    await desk.approve(fleet.client, cluster, preview.digest if preview else "", "somebody", JANE)


async def approve_another(fleet: Fleet, cluster: str) -> None:
    await desk.approve(fleet.client, cluster, "5eed", "somebody", JANE)


async def retry(fleet: Fleet, cluster: str) -> None:
    await desk.retry(fleet.client, cluster)


async def cancel(fleet: Fleet, cluster: str) -> None:
    await desk.cancel(fleet.client, cluster)


async def cancel_rollout(fleet: Fleet, cluster: str) -> None:
    await desk.cancel_rollout(fleet.client, cluster)


async def terminate(fleet: Fleet, cluster: str) -> None:
    """As by Temporal's own tool."""
    await fleet.client.get_workflow_handle(cluster_id(cluster)).terminate()


Event = Callable[[Fleet, str], Awaitable[None]]
EVENTS: tuple[Event, ...] = (start, approve, approve_another, retry, cancel, cancel_rollout, terminate)


@dataclass(frozen=True)
class Course:
    """What becomes of a cluster after an event.

    Args:
        is_taken: Whether the event was not refused.
        end: How it ends, once a person helps it on.
        told: The same by its rollout; empty if that had ended before.
    """

    is_taken: bool
    end: str = IN_PRODUCTION
    told: str = IN_PRODUCTION


def wanted(state: str, event: Event) -> Course:
    """Return what docs/reference/fleet.md says."""
    if state == "done":
        return Course(is_taken=event is start)
    if event is cancel:
        return Course(True, "canceled", "ended: Cancelled")
    if event is terminate:
        return Course(True, "terminated", "ended: Terminated")
    if event is cancel_rollout:
        return Course(True, told="")
    return Course((event, state) == (retry, "stopped") or (event is approve and state in GATES))


@asynccontextmanager
async def served(address: str) -> AsyncIterator[Fleet]:
    """Run the site's worker, and keep the table up to date."""
    client = await Client.connect(address, namespace=NAMESPACE, data_converter=CONVERTER)
    fleet = Fleet(client)
    async with asyncio.timeout(DEADLINE_S), fleet.site.worker(client, "served"):
        watching = asyncio.ensure_future(fleet.watch())
        try:
            yield fleet
        finally:
            watching.cancel()


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_does_at_each_state_what_the_reference_says(temporal: TemporalServer, event: Event) -> None:
    async def course(fleet: Fleet, state: str) -> Course:
        cluster = f"{state}-{event.__name__.replace('_', '-')}"
        await fleet.enter(state, cluster)
        try:
            await event(fleet, cluster)
            is_taken = True
        except ConfigError:
            is_taken = False
        end = await fleet.end(state, cluster)
        return Course(is_taken, end, await fleet.told(cluster))

    async def scenario() -> None:
        # The server refuses to terminate what has ended.
        states = [state for state in STATES if (state, event) != ("done", terminate)]
        async with served(temporal.address) as fleet, workflow_worker(fleet.client):
            found = await asyncio.gather(*(course(fleet, state) for state in states))
        assert dict(zip(states, found, strict=True)) == {state: wanted(state, event) for state in states}

    asyncio.run(scenario())


def test_each_state_outlives_the_server_and_the_worker_of_the_workflows(temporal: TemporalServer) -> None:
    """The next worker has none of them in its cache: it reads their histories."""

    async def scenario() -> None:
        states = {f"{state}-outlives": state for state in STATES}
        async with served(temporal.address) as fleet:
            async with workflow_worker(fleet.client):
                await asyncio.gather(*(fleet.enter(state, cluster) for cluster, state in states.items()))
            temporal.kill()
            temporal.begin()
            await asyncio.to_thread(temporal.wait)
            async with workflow_worker(fleet.client):
                found = await asyncio.gather(*(fleet.end(state, cluster) for cluster, state in states.items()))
                assert set(found) == {IN_PRODUCTION}
                assert {await fleet.told(cluster) for cluster in states} == {IN_PRODUCTION}
        ups = {key: count for key, count in fleet.site.begun.items() if key[1].endswith(": up")}
        assert set(ups.values()) == {1}

    asyncio.run(scenario())
