"""Rollouts: waves, slots, gates, problems, notices. Server and workflows are real, the sites stand-ins."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from base.errors import ConfigError
from fleet import desk
from fleet.approvers import Subject, signer
from fleet.messages import Approval
from fleet.notices import URL_FILE
from fleet.workflows import IN_PRODUCTION, PHASES, UPGRADE, ClusterWorkflow, cluster_id, rollout_id
from testing.approvers import JANE, public_key
from testing.fakes.web_hook import web_hook
from testing.histories import record
from testing.rollouts import Rollouts
from tests.fleet.scenarios import CHECK, GATE, PREVIEW, UP, Play, in_production, order, wave

pytestmark = pytest.mark.fleet
LAST_GATE = "production: waits for approval"


async def waits_with(fleet: Rollouts, cluster: str, digest: str) -> bool:
    """Whether a cluster waits for the approval of this preview."""
    status = await fleet.at(cluster, GATE)
    return status.preview is not None and status.preview.digest == digest


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


def test_a_cluster_with_its_control_plane_begins_with_production(play: Play) -> None:
    async def scenario(fleet: Rollouts) -> None:
        fleet.site.phases["half-a"] = ["production"]
        rollout = await fleet.start(wave(order("half-a", "bootstrap")))
        assert await rollout.result() == in_production("half-a")
        assert set(fleet.site.begun) == {
            ("half-a", step) for step in (CHECK, "production: preview", "production: up")
        }

    play("half", scenario)
