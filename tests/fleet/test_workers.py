"""Workers that are missing, or have another key."""

import asyncio
import re

import pytest
from temporalio.client import Client

from base.errors import ConfigError
from fleet import desk
from fleet.codec import KEY_FILE, ONE_KEY, sealing
from fleet.connection import NAMESPACE
from fleet.keys import KEY_BYTES
from fleet.messages import Rollout
from fleet.worker import workflow_worker
from fleet.workflows import IN_PRODUCTION, QUEUE, ClusterWorkflow, attributes, cluster_id
from testing.histories import CONVERTER
from testing.rollouts import DEADLINE_S, POLL_S, Rollouts, rollouts
from testing.sites.temporal import TemporalServer
from tests.fleet.scenarios import CHECK, Play, in_production, order, wave

pytestmark = pytest.mark.fleet


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
