"""Clusters and rollouts that are cancelled, and what their rollouts make of it."""

import asyncio
from functools import partial

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import TerminatedError

from base.errors import ConfigError
from fleet import desk
from fleet.workflows import IN_PRODUCTION, cluster_id
from testing.histories import record
from testing.rollouts import Rollouts
from tests.fleet.scenarios import CHECK, GATE, TOO_MANY, UP, Play, has_begun, in_production, order, wave

pytestmark = pytest.mark.fleet
CANCELLED = "ended: Cancelled"


async def is_asked_to_cancel(fleet: Rollouts, cluster: str) -> bool:
    """Whether the server wants to interrupt a step of a cluster."""
    history = await fleet.cluster(cluster).fetch_history()
    kinds = {event.event_type for event in history.events}
    return EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED in kinds


@pytest.mark.golden
def test_a_rollout_ends_with_the_wave_of_a_cancelled_canary(play: Play, accept_golden: bool) -> None:
    async def scenario(fleet: Rollouts) -> None:
        fleet.site.held["canary-a", UP] = asyncio.Event()
        rollout = await fleet.start(wave(order("canary-a"), order("canary-b")), wave(order("canary-c")))
        await fleet.at("canary-a", UP)
        await desk.cancel(fleet.client, "canary-a")
        assert await rollout.result() == {"canary-a": CANCELLED, "canary-b": TOO_MANY}
        assert await fleet.course("canary-a cancelled") == ["canary-a begins", "canary-a cancelled"]
        await record(fleet.client, cluster_id("canary-a"), "cancelled", accept=accept_golden)

    play("canary", scenario)


@pytest.mark.parametrize(("hold_at", "end_of_next"), [(1, TOO_MANY), (2, IN_PRODUCTION)])
def test_a_stopped_cluster_that_is_cancelled_counts_as_stopped_for_good(
    play: Play, hold_at: int, end_of_next: str
) -> None:
    async def scenario(fleet: Rollouts) -> None:
        fleet.site.problems["given-a", CHECK] = "no such commit"
        first = wave(order("given-a"), order("given-b"), hold_at=hold_at)
        rollout = await fleet.start(first, wave(order("given-c")))
        await fleet.course("given-a stopped")
        await desk.cancel(fleet.client, "given-a")
        assert await rollout.result() == {"given-a": CANCELLED, "given-b": end_of_next}

    play("given", scenario)


@pytest.mark.parametrize("problem", ["", "no such commit"])
def test_a_cluster_that_is_cancelled_begins_no_further_step(play: Play, problem: str) -> None:
    """Though the site learns of it too late to interrupt the step that it does."""

    async def scenario(fleet: Rollouts) -> None:
        held = fleet.site.held["late-a", CHECK] = asyncio.Event()
        fleet.site.problems |= {("late-a", CHECK): problem} if problem else {}
        fleet.site.deaf.add("late-a")
        rollout = await fleet.start(wave(order("late-a")))
        await fleet.until(partial(has_begun, fleet, "late-a", CHECK))
        await desk.cancel(fleet.client, "late-a")
        await fleet.until(partial(is_asked_to_cancel, fleet, "late-a"))
        status = (await fleet.cluster("late-a").describe()).status
        assert status is WorkflowExecutionStatus.RUNNING, "the site is still at work"
        held.set()
        assert await rollout.result() == {"late-a": CANCELLED}
        assert set(fleet.site.begun) == {("late-a", CHECK)}

    play("late", scenario)


@pytest.mark.parametrize(("gates", "step"), [((), UP), (("bootstrap",), GATE)], ids=["at-work", "all-at-gates"])
def test_a_cancelled_rollout_leaves_its_clusters_and_starts_no_further(
    play: Play, gates: tuple[str, ...], step: str
) -> None:
    async def scenario(fleet: Rollouts) -> None:
        held = fleet.site.held["left-b", UP] = asyncio.Event()
        rollout = await fleet.start(
            wave(order("left-a", "bootstrap"), order("left-b", *gates)), wave(order("left-c"))
        )
        await fleet.at("left-b", step)
        if gates:
            await fleet.course("left-b waits")
        await desk.cancel_rollout(fleet.client, "left")
        with pytest.raises(WorkflowFailureError) as ended:
            await rollout.result()
        assert isinstance(ended.value.cause, TerminatedError)
        held.set()
        for cluster in ("left-a", "left-b") if gates else ("left-a",):
            await fleet.approve(cluster, f"{cluster}-bootstrap")
        for cluster in ("left-a", "left-b"):
            await fleet.cluster(cluster).result()
        with pytest.raises(ConfigError, match="left-c: has no workflow"):
            await desk.describe(fleet.client, "left-c")

    play("left", scenario)


def test_a_cluster_that_is_cancelled_before_its_site_has_begun_ends(play: Play) -> None:
    """The server then answers for the site, with words that nobody sealed."""

    async def scenario(fleet: Rollouts) -> None:
        rollout = await fleet.start(wave(order("absent-a")))
        await fleet.at("absent-a", CHECK)
        await desk.cancel(fleet.client, "absent-a")
        assert await rollout.result() == {"absent-a": CANCELLED}

    play("nobody", scenario)


def test_one_that_is_cancelled_while_its_sites_worker_is_dead_is_cancelled(play: Play) -> None:
    """The attempt ends by the server's timeout, and no other begins."""

    async def scenario(fleet: Rollouts) -> None:
        fleet.site.held["dead-a", CHECK] = asyncio.Event()
        fleet.site.deaf.add("dead-a")
        rollout = await fleet.start(wave(order("dead-a")))
        await fleet.until(partial(has_begun, fleet, "dead-a", CHECK))
        await desk.cancel(fleet.client, "dead-a")
        assert await rollout.result() == {"dead-a": CANCELLED}
        assert fleet.site.begun["dead-a", CHECK] == 1
        fleet.site.held["dead-a", CHECK].set()

    play("dead", scenario)


def test_a_cluster_tells_only_the_rollout_that_started_it(play: Play) -> None:
    """A later one of the same name, by default the commit's, is not held by what an earlier one left."""

    async def scenario(fleet: Rollouts) -> None:
        held = fleet.site.held["same-a", UP] = asyncio.Event()
        before = await fleet.start(wave(order("same-a"), order("same-b")))
        await fleet.at("same-a", UP)
        await desk.cancel_rollout(fleet.client, "same")
        with pytest.raises(WorkflowFailureError):
            await before.result()
        blocked = fleet.site.held["same-b", UP] = asyncio.Event()
        rollout = await fleet.start(wave(order("same-b"), order("same-c")))
        await fleet.at("same-b", UP)
        fleet.site.problems["same-a", UP] = "no such disk"
        held.set()
        await fleet.at("same-a", f"{UP}: stopped")
        blocked.set()
        assert await rollout.result() == in_production("same-b", "same-c")
        await fleet.cluster("same-a").terminate()

    play("same", scenario)


def test_one_that_has_ended_takes_nothing(play: Play) -> None:
    async def scenario(fleet: Rollouts) -> None:
        rollout = await fleet.start(wave(order("over-a")))
        await rollout.result()
        for asked in (
            fleet.approve("over-a", "over-a-production"),
            desk.retry(fleet.client, "over-a"),
            desk.cancel(fleet.client, "over-a"),
        ):
            with pytest.raises(ConfigError, match="over-a: has no workflow under way"):
                await asked

    play("over", scenario)
