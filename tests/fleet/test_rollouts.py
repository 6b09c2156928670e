"""Rollouts: waves, slots, gates, problems, cancellations. Server and workflows are real, the sites stand-ins."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError, TerminatedError

from base.errors import ConfigError
from fleet import desk
from fleet.approvers import Subject, signer
from fleet.codec import KEY_FILE, ONE_KEY, sealing
from fleet.connection import NAMESPACE
from fleet.keys import KEY_BYTES
from fleet.messages import Approval, Order, Rollout, Wave
from fleet.notices import URL_FILE
from fleet.worker import workflow_worker
from fleet.workflows import IN_PRODUCTION, PHASES, QUEUE, UPGRADE, ClusterWorkflow, attributes, cluster_id, rollout_id
from testing.approvers import JANE, public_key
from testing.fakes.web_hook import web_hook
from testing.histories import CONVERTER, record
from testing.rollouts import DEADLINE_S, POLL_S, Rollouts, rollouts
from testing.sites.temporal import TemporalServer

Scenario = Callable[[Rollouts], Awaitable[None]]
Play = Callable[[str, Scenario], None]

pytestmark = pytest.mark.fleet
CHECK, PREVIEW, UP, GATE = "check", "bootstrap: preview", "bootstrap: up", "bootstrap: waits for approval"
LAST_GATE = "production: waits for approval"
CANCELLED = "ended: Cancelled"
TOO_MANY = "not started: too many of its wave have ended before production"


@pytest.fixture
def play(temporal: TemporalServer) -> Play:
    """Play a scenario at a site of the scenario's name, which has a worker."""

    def played(name: str, scenario: Scenario) -> None:
        async def at_site() -> None:
            async with (
                rollouts(temporal.address, name) as found,
                found.site.worker(found.client, name),
                asyncio.timeout(DEADLINE_S),
            ):
                await scenario(found)

        asyncio.run(at_site())

    return played


def order(cluster: str, *gates: str, approvals: tuple[Approval, ...] = (), notifies: bool = False) -> Order:
    """Return the order of a cluster whose site is the first word of its name."""
    return Order(cluster, cluster.partition("-")[0], "c0ffee", list(gates), list(approvals), notifies)


def wave(*orders: Order, at_a_time: int = 1, hold_at: int = 1) -> Wave:
    return Wave(list(orders), at_a_time, hold_at)


def in_production(*clusters: str) -> dict[str, str]:
    return dict.fromkeys(clusters, IN_PRODUCTION)


async def waits_with(fleet: Rollouts, cluster: str, digest: str) -> bool:
    """Whether a cluster waits for the approval of this preview."""
    status = await fleet.at(cluster, GATE)
    return status.preview is not None and status.preview.digest == digest


async def has_begun(fleet: Rollouts, cluster: str, step: str) -> bool:
    return fleet.site.begun[cluster, step] > 0


async def is_asked_to_cancel(fleet: Rollouts, cluster: str) -> bool:
    """Whether the server wants to interrupt a step of a cluster."""
    history = await fleet.cluster(cluster).fetch_history()
    kinds = {event.event_type for event in history.events}
    return EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED in kinds


@pytest.mark.golden
def test_a_wave_begins_when_all_of_the_one_before_are_in_production(play: Play, accept_golden: bool) -> None:
    async def scenario(fleet: Rollouts) -> None:
        held = fleet.site.held["waves-a", UP] = asyncio.Event()
        rollout = await fleet.start(
            wave(order("waves-a"), order("waves-b"), at_a_time=2), wave(order("waves-c"), order("waves-d"))
        )
        first = ["waves-a begins", "waves-b begins", "waves-b in production"]
        assert await fleet.course(first[-1]) == first
        held.set()
        assert await rollout.result() == in_production("waves-a", "waves-b", "waves-c", "waves-d")
        assert await fleet.course("waves-d in production") == [
            *first,
            "waves-a in production",
            "waves-c begins",
            "waves-c in production",
            "waves-d begins",
            "waves-d in production",
        ]
        await record(fleet.client, rollout_id("waves"), "two-waves", accept=accept_golden)

    play("waves", scenario)


@pytest.mark.golden
def test_stopped_clusters_give_their_slots_and_so_many_hold_the_wave(play: Play, accept_golden: bool) -> None:
    async def scenario(fleet: Rollouts) -> None:
        fleet.site.problems |= {("stop-a", CHECK): "no such commit", ("stop-b", UP): "stop-b-master-0: no disk"}
        held = fleet.site.held["stop-b", "production: up"] = asyncio.Event()
        rollout = await fleet.start(wave(*map(order, ("stop-a", "stop-b", "stop-c")), hold_at=2))
        both = ["stop-a begins", "stop-a stopped", "stop-b begins", "stop-b stopped"]
        assert await fleet.course(both[-1]) == both
        assert (await fleet.at("stop-a", f"{CHECK}: stopped")).problem == "no such commit"
        assert (await fleet.at("stop-b", f"{UP}: stopped")).problem == "stop-b-master-0: no disk"
        fleet.site.problems.clear()
        await desk.retry(fleet.client, "stop-b")
        further = [*both, "stop-b goes on", "stop-c begins"]
        assert (await fleet.course("stop-c begins"))[: len(further)] == further
        with pytest.raises(ConfigError, match=r"^stop-b: nothing has stopped; the cluster is at: "):
            await desk.retry(fleet.client, "stop-b")
        held.set()
        await desk.retry(fleet.client, "stop-a")
        assert await rollout.result() == in_production("stop-a", "stop-b", "stop-c")
        assert [fleet.site.begun["stop-b", step] for step in (PREVIEW, UP)] == [1, 2]
        await record(fleet.client, cluster_id("stop-b"), "stop-and-retry", accept=accept_golden)

    play("stop", scenario)


@pytest.mark.golden
def test_a_cluster_at_a_gate_gives_up_its_slot(play: Play, accept_golden: bool) -> None:
    async def scenario(fleet: Rollouts) -> None:
        held = fleet.site.held["gate-a", UP] = asyncio.Event()
        rollout = await fleet.start(wave(order("gate-a", *PHASES), order("gate-b")))
        course = await fleet.course("gate-b in production")
        assert course == ["gate-a begins", "gate-a waits", "gate-b begins", "gate-b in production"]
        status = await fleet.at("gate-a", GATE)
        assert status.preview
        assert (status.preview.digest, status.preview.sentences) == ("gate-a-bootstrap", ["Installs gate-a."])
        with pytest.raises(ConfigError, match="5eed is not the preview that waits, which is gate-a-bootstrap"):
            await fleet.approve("gate-a", "5eed")
        early = Approval("production", "gate-a-bootstrap", "somebody")
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await fleet.cluster("gate-a").execute_update(ClusterWorkflow.approve, early)
        assert isinstance(refused.value.cause, ApplicationError)
        assert refused.value.cause.message == f"production does not wait for an approval; the cluster is at: {GATE}"
        assert not fleet.site.begun["gate-a", UP]
        assert await fleet.approve("gate-a", "gate-a-bootstrap") == "bootstrap"
        await fleet.at("gate-a", UP)
        with pytest.raises(ConfigError, match=f"bootstrap does not wait for an approval; the cluster is at: {UP}"):
            await fleet.approve("gate-a", "gate-a-bootstrap")
        held.set()
        await fleet.at("gate-a", LAST_GATE)
        assert await fleet.approve("gate-a", "gate-a-production") == "production"
        assert await rollout.result() == in_production("gate-a", "gate-b")
        assert [fleet.site.begun["gate-a", step] for step in (UP, "production: up")] == [1, 1]
        await record(fleet.client, cluster_id("gate-a"), "both-gates", accept=accept_golden)

    play("gate", scenario)


@pytest.mark.golden
def test_an_update_that_its_site_does_not_begin_waits_for_an_approval(play: Play, accept_golden: bool) -> None:
    """Also where the order had no gate, or an approval of that very preview: the site has its own rules."""

    async def scenario(fleet: Rollouts) -> None:
        signed = JANE.approval(Subject("site-a", "c0ffee", "an order"), "bootstrap", "site-a-bootstrap", "somebody")
        for gates, approvals in (((), ()), (("bootstrap",), (signed,))):
            fleet.site.refusals["site-a", UP] = "bootstrap is a gate of this site"
            rollout = await fleet.start(wave(replace(order("site-a", *gates, approvals=approvals), id="an order")))
            status = await fleet.at("site-a", GATE)
            assert (status.refusal, status.approvals) == ("bootstrap is a gate of this site", [])
            assert (status.commit, status.order) == ("c0ffee", "an order")
            fleet.site.refusals.clear()
            await fleet.approve("site-a", "site-a-bootstrap")
            assert await rollout.result() == in_production("site-a")
            given = fleet.site.approvals["site-a", UP]
            assert given
            assert signer({"jane": public_key(JANE)}, Subject("site-a", "c0ffee", "an order"), given) == "jane"
        await record(fleet.client, cluster_id("site-a"), "unapproved", accept=accept_golden)

    play("site", scenario)


@pytest.mark.golden
def test_an_upgrade_has_its_own_gate_and_holds_its_wave_while_it_stands(play: Play, accept_golden: bool) -> None:
    async def scenario(fleet: Rollouts) -> None:
        for cluster in ("ahead-a", "ahead-b", "ahead-c"):
            fleet.site.phases[cluster] = [UPGRADE]
        fleet.site.problems["ahead-a", f"{UPGRADE}: up"] = "OKD: the upgrade to 4.21.3 has not got on for 600 s"
        gated = [order(cluster, *PHASES, UPGRADE) for cluster in ("ahead-a", "ahead-b", "ahead-c")]
        rollout = await fleet.start(wave(*gated[:1]), wave(*gated[1:], at_a_time=2))
        await fleet.at("ahead-a", f"{UPGRADE}: waits for approval")
        assert await fleet.approve("ahead-a", "ahead-a-upgrade") == UPGRADE
        held = ["ahead-a begins", "ahead-a waits", "ahead-a goes on", "ahead-a stopped"]
        assert await fleet.course(held[-1]) == held
        fleet.site.problems.clear()
        await desk.retry(fleet.client, "ahead-a")
        for cluster in ("ahead-b", "ahead-c"):
            status = await fleet.at(cluster, f"{UPGRADE}: waits for approval")
            assert status.preview is not None
            await fleet.approve(cluster, status.preview.digest)
        assert await rollout.result() == in_production("ahead-a", "ahead-b", "ahead-c")
        course = await fleet.course("ahead-c in production")
        assert course.index("ahead-a in production") < course.index("ahead-b begins")
        assert [fleet.site.begun["ahead-a", f"{UPGRADE}: {step}"] for step in ("preview", "up")] == [1, 2]
        status = (await desk.describe(fleet.client, "ahead-a")).status
        assert [given.phase for given in status.approvals] == [UPGRADE]
        await record(fleet.client, cluster_id("ahead-a"), "upgraded", accept=accept_golden)

    play("ahead", scenario)


def test_an_approval_given_with_the_order_is_of_one_preview_too(play: Play) -> None:
    async def scenario(fleet: Rollouts) -> None:
        good, other = (Approval("bootstrap", digest, "pull request 7") for digest in ("merged-a-bootstrap", "5eed"))
        rollout = await fleet.start(
            wave(
                order("merged-a", "bootstrap", approvals=(good,)),
                order("merged-b", "bootstrap", approvals=(other,)),
                at_a_time=2,
            )
        )
        assert (await fleet.at("merged-b", GATE)).approvals == [other]
        assert "merged-a waits" not in await fleet.course("merged-a in production")
        await fleet.approve("merged-b", "merged-b-bootstrap")
        assert await rollout.result() == in_production("merged-a", "merged-b")

    play("merged", scenario)


@pytest.mark.golden
def test_an_update_that_would_do_something_else_needs_a_new_approval(play: Play, accept_golden: bool) -> None:
    """Also if it comes back to what was approved once."""

    async def scenario(fleet: Rollouts) -> None:
        fleet.site.digests["changed-a", PREVIEW] = "first"
        rollout = await fleet.start(wave(order("changed-a", "bootstrap")))
        for shown, then in (("first", "second"), ("second", "first"), ("first", "first")):
            await fleet.until(partial(waits_with, fleet, "changed-a", shown))
            fleet.site.digests["changed-a", PREVIEW] = then
            await fleet.approve("changed-a", shown)
        assert await rollout.result() == in_production("changed-a")
        assert fleet.site.begun["changed-a", UP] == 3
        await record(fleet.client, cluster_id("changed-a"), "changed", accept=accept_golden)

    play("changed", scenario)


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


@pytest.mark.golden
def test_people_are_notified_when_a_cluster_waits_for_them_and_is_done(
    play: Play, accept_golden: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(fleet: Rollouts) -> None:
        async def are_told() -> bool:
            return len(hook.notices) == 3

        fleet.site.problems["told-a", CHECK] = "no such commit"
        rollout = await fleet.start(wave(order("told-a", "bootstrap", notifies=True), order("told-b")))
        await fleet.at("told-a", f"{CHECK}: stopped")
        fleet.site.problems.clear()
        await desk.retry(fleet.client, "told-a")
        await fleet.at("told-a", GATE)
        await fleet.approve("told-a", "told-a-bootstrap")
        assert await rollout.result() == in_production("told-a", "told-b")
        await fleet.until(are_told)
        await record(fleet.client, cluster_id("told-a"), "notices", accept=accept_golden)

    # The first notice comes after the others: its first attempt is refused.
    with web_hook([503]) as hook:
        (tmp_path / "url").write_text(hook.url)
        monkeypatch.setenv(URL_FILE, str(tmp_path / "url"))
        play("told", scenario)
    told = {each["step"]: (each["cluster"], each["site"], each["commit"], each["digest"]) for each in hook.notices}
    assert told == {
        f"{CHECK}: stopped": ("told-a", "told", "c0ffee", ""),
        GATE: ("told-a", "told", "c0ffee", "told-a-bootstrap"),
        IN_PRODUCTION: ("told-a", "told", "c0ffee", ""),
    }


def test_a_web_hook_that_is_down_holds_no_cluster(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(fleet: Rollouts) -> None:
        rollout = await fleet.start(wave(order("down-a", notifies=True), order("down-b", notifies=True)))
        assert await rollout.result() == in_production("down-a", "down-b")

    (tmp_path / "url").write_text("http://127.0.0.1:1/")
    monkeypatch.setenv(URL_FILE, str(tmp_path / "url"))
    play("down", scenario)


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


def test_a_cluster_with_its_control_plane_begins_with_production(play: Play) -> None:
    async def scenario(fleet: Rollouts) -> None:
        fleet.site.phases["half-a"] = ["production"]
        rollout = await fleet.start(wave(order("half-a", "bootstrap")))
        assert await rollout.result() == in_production("half-a")
        assert set(fleet.site.begun) == {
            ("half-a", step) for step in (CHECK, "production: preview", "production: up")
        }

    play("half", scenario)


def test_a_site_without_a_worker_is_waited_for(play: Play) -> None:
    async def scenario(fleet: Rollouts) -> None:
        async def rows() -> list[tuple[str, str, str]]:
            found = await desk.cluster_statuses(fleet.client)
            return [(row.cluster, row.step, row.waits_for) for row in found if row.site == "alone"]

        async def is_waited_for() -> bool:
            return await rows() == [("alone-a", CHECK, "the site's worker")]

        async def is_in_production() -> bool:
            return await rows() == [("alone-a", IN_PRODUCTION, "")]

        rollout = await fleet.start(wave(order("alone-a")))
        await fleet.until(is_waited_for)
        async with fleet.site.worker(fleet.client, "alone"):
            assert await rollout.result() == in_production("alone-a")
        await fleet.until(is_in_production)

    play("another", scenario)


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


def test_status_says_that_the_worker_of_the_workflows_fails(temporal: TemporalServer) -> None:
    """It has another key than who started the cluster; a rollout was started with yet another."""

    async def scenario() -> None:
        client, other, third = [
            await Client.connect(temporal.address, namespace=NAMESPACE, data_converter=each)
            for each in (CONVERTER, sealing(bytes(KEY_BYTES)), sealing(bytes([1]) * KEY_BYTES))
        ]

        async def rows() -> dict[str, str]:
            return {row.cluster: row.waits_for for row in await desk.cluster_statuses(client)}

        async def are_told() -> bool:
            return [(await rows()).get(each) for each in ("sealed-a", "rollout/sealed")] == [desk.REPAIR] * 2

        await client.start_workflow(
            ClusterWorkflow.run,
            order("sealed-a"),
            id=cluster_id("sealed-a"),
            task_queue=QUEUE,
            search_attributes=attributes(order("sealed-a")),
        )
        await desk.start(third, Rollout("sealed", [wave(order("sealed-b"))]))
        async with asyncio.timeout(DEADLINE_S), workflow_worker(other):
            while not await are_told():
                await asyncio.sleep(POLL_S)
            with pytest.raises(ConfigError) as refused:
                await desk.describe(client, "sealed-a")
            assert re.fullmatch(
                "sealed-a: the worker of the workflows fails: attempt [0-9]+: FLEET_KEY_FILE: a message was not "
                f"sealed with this key, or not for this workflow[.] Fix: {re.escape(desk.FAILING_FIX)}",
                str(refused.value),
            )
            await desk.cancel_rollout(client, "sealed")
        async with asyncio.timeout(DEADLINE_S), workflow_worker(client):
            while (await rows())["sealed-a"] == desk.REPAIR:
                await asyncio.sleep(POLL_S)
            assert (await desk.describe(client, "sealed-a")).status.step == CHECK
            assert "rollout/sealed" not in await rows()
            await client.get_workflow_handle(cluster_id("sealed-a")).terminate()

    asyncio.run(scenario())


def test_a_site_with_another_key_is_told_and_goes_on_with_the_right_one(temporal: TemporalServer) -> None:
    async def scenario() -> None:
        key = sealing(bytes(KEY_BYTES))
        other = await Client.connect(temporal.address, namespace=NAMESPACE, data_converter=key)
        async with rollouts(temporal.address, "keyless") as fleet, asyncio.timeout(DEADLINE_S):

            async def is_told() -> bool:
                failure = (await desk.describe(fleet.client, "keyless-a")).failure
                what = "a message was not sealed with this key, or not for this workflow"
                assert failure in ("", f"{KEY_FILE}: {what}. Fix: {ONE_KEY}")
                return bool(failure)

            rollout = await fleet.start(wave(order("keyless-a")))
            await fleet.at("keyless-a", CHECK)
            async with fleet.site.worker(other, "keyless"):
                await fleet.until(is_told)
            async with fleet.site.worker(fleet.client, "keyless"):
                assert await rollout.result() == in_production("keyless-a")

    asyncio.run(scenario())
