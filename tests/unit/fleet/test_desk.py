"""The table of all clusters, as made of what the server keeps. The server itself is a stand-in."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from temporalio.api.enums.v1 import WorkflowExecutionStatus as Raw
from temporalio.api.taskqueue.v1 import PollerInfo
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest, DescribeTaskQueueResponse
from temporalio.client import Client, WorkflowExecution
from temporalio.common import SearchAttributePair, TypedSearchAttributes
from temporalio.converter import DataConverter, encode_search_attributes

from base.errors import ConfigError
from fleet import desk
from fleet.desk import FAILS, ClusterDetail, ClusterStatus
from fleet.messages import Order, Preview, Rollout, Status, Wave
from fleet.workflows import CLUSTER, QUEUE, SINCE, SITE, STEP, queue_of
from testing.approvers import JANE

PROBLEMS = ["category=WorkflowTaskFailed", "cause=WorkflowTaskFailedCauseWorkflowWorkerUnhandledFailure"]
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
RUNNING, COMPLETED, FAILED, CANCELED = (
    Raw.WORKFLOW_EXECUTION_STATUS_RUNNING,
    Raw.WORKFLOW_EXECUTION_STATUS_COMPLETED,
    Raw.WORKFLOW_EXECUTION_STATUS_FAILED,
    Raw.WORKFLOW_EXECUTION_STATUS_CANCELED,
)


def execution(
    cluster: str,
    step: str,
    status: "Raw.ValueType" = RUNNING,
    since: datetime = NOON,
    site: str = "north",
) -> WorkflowExecution:
    """Return a cluster's workflow as the server lists it; with no step, it has only just been started."""
    info = WorkflowExecutionInfo(status=status)
    info.type.name = "Cluster"
    info.start_time.FromDatetime(NOON - timedelta(hours=1))
    if status != RUNNING:
        info.close_time.FromDatetime(since)
    pairs: list[SearchAttributePair[Any]] = [SearchAttributePair(SITE, site), SearchAttributePair(CLUSTER, cluster)]
    if step:
        pairs += [SearchAttributePair(STEP, step), SearchAttributePair(SINCE, since)]
    encode_search_attributes(TypedSearchAttributes(pairs), info.search_attributes)
    return WorkflowExecution._from_raw_info(info, "fleet", DataConverter.default)


def failing(execution: WorkflowExecution) -> WorkflowExecution:
    """Return a workflow as the server lists it once five attempts at its task have failed."""
    encode_search_attributes(
        TypedSearchAttributes([SearchAttributePair(FAILS, PROBLEMS)]), execution.raw_info.search_attributes
    )
    return WorkflowExecution._from_raw_info(execution.raw_info, "fleet", DataConverter.default)


def rollout() -> WorkflowExecution:
    """Return a rollout's workflow as the server lists it."""
    info = WorkflowExecutionInfo(status=RUNNING)
    info.type.name, info.execution.workflow_id = "Rollout", "rollout/spring"
    info.start_time.FromDatetime(NOON)
    return WorkflowExecution._from_raw_info(info, "fleet", DataConverter.default)


class Server:
    """A stand-in for server and client: some workflows, and the workers of the workflows and of some sites.

    Args:
        silent: The task queue whose worker has asked too long ago.
    """

    namespace = "fleet"

    def __init__(self, *executions: WorkflowExecution, served: Sequence[str] = (), silent: str = "") -> None:
        self._executions, self._queues = executions, [QUEUE, *map(queue_of, served)]
        self._silent = silent
        self.queries = list[str]()

    @property
    def client(self) -> Client:
        return cast(Client, self)

    @property
    def workflow_service(self) -> "Server":
        return self

    async def list_workflows(self, query: str) -> AsyncIterator[WorkflowExecution]:
        self.queries.append(query)
        for each in self._executions:
            if f"WorkflowType = '{each.workflow_type}'" in query:
                yield each

    async def describe_task_queue(self, asked: DescribeTaskQueueRequest, retry: bool) -> DescribeTaskQueueResponse:
        poller = PollerInfo()
        ago_s = 120 if asked.task_queue.name == self._silent else 60
        poller.last_access_time.FromSeconds(int(time.time() - ago_s))
        return DescribeTaskQueueResponse(pollers=[poller] if asked.task_queue.name in self._queues else [])


def rows(*executions: WorkflowExecution, served: Sequence[str] = ("north",)) -> list[ClusterStatus]:
    return asyncio.run(desk.cluster_statuses(Server(*executions, served=served).client))


@pytest.mark.parametrize(
    ("step", "waits_for"),
    [
        ("bootstrap: preview", ""),
        ("production: waits for approval", "a person's approval"),
        ("production: up: stopped", "a person's retry"),
    ],
)
def test_a_row_says_for_whom_a_cluster_waits(step: str, waits_for: str) -> None:
    assert rows(execution("north-a", step)) == [ClusterStatus("north", "north-a", step, NOON, waits_for)]


@pytest.mark.parametrize(
    ("step", "waits_for"),
    [
        ("bootstrap: preview", "the site's worker"),
        ("production: waits for approval", "a person's approval"),
        ("production: up: stopped", "a person's retry"),
    ],
)
def test_a_site_without_a_worker_is_waited_for(step: str, waits_for: str) -> None:
    assert [row.waits_for for row in rows(execution("north-a", step), served=("south",))] == [waits_for]


@pytest.mark.parametrize("step", ["production: up", "production: waits for approval", "production: up: stopped"])
@pytest.mark.parametrize(
    ("status", "told"),
    [
        pytest.param(COMPLETED, "in production", id="completed"),
        pytest.param(FAILED, "failed at {}", id="failed"),
        pytest.param(CANCELED, "canceled at {}", id="cancelled"),
    ],
)
@pytest.mark.parametrize("silent", ["", QUEUE])
def test_one_that_has_ended_waits_for_nobody(status: "Raw.ValueType", told: str, step: str, silent: str) -> None:
    ended = execution("north-a", step, status)
    found = asyncio.run(desk.cluster_statuses(Server(ended, silent=silent).client))
    assert found == [ClusterStatus("north", "north-a", told.format(step), NOON, "")]


def test_a_worker_that_no_longer_asks_is_waited_for() -> None:
    server = Server(execution("north-a", "bootstrap: up"), served=["north"], silent=queue_of("north"))
    (row,) = asyncio.run(desk.cluster_statuses(server.client))
    assert row.waits_for == "the site's worker"


@pytest.mark.parametrize("step", ["", "bootstrap: up", "production: waits for approval", "production: up: stopped"])
def test_without_the_worker_of_the_workflows_all_wait_for_it(step: str) -> None:
    """Also a rollout, which can then start no cluster."""
    server = Server(execution("north-a", step), rollout(), served=["north"], silent=QUEUE)
    found = asyncio.run(desk.cluster_statuses(server.client))
    assert [(row.cluster, row.waits_for) for row in found] == [
        ("rollout/spring", "the worker of the workflows"),
        ("north-a", "the worker of the workflows"),
    ]


@pytest.mark.parametrize("step", ["", "bootstrap: up", "production: waits for approval", "production: up: stopped"])
def test_one_with_which_the_workflows_worker_fails_does_not_seem_to_wait(step: str) -> None:
    found = rows(failing(execution("north-a", step)), execution("north-b", "bootstrap: up"), failing(rollout()))
    assert [(row.cluster, row.waits_for) for row in found] == [
        ("rollout/spring", "the worker of the workflows, which fails"),
        ("north-a", "the worker of the workflows, which fails"),
        ("north-b", ""),
    ]


def test_a_rollout_that_gets_on_has_no_row() -> None:
    assert [row.cluster for row in rows(execution("north-a", "bootstrap: up"), rollout())] == ["north-a"]


def test_one_that_was_only_just_started_has_a_row() -> None:
    assert rows(execution("north-a", "")) == [
        ClusterStatus("north", "north-a", "starting", NOON - timedelta(hours=1), "")
    ]


def test_each_cluster_has_its_latest_row_in_the_order_of_sites() -> None:
    before = NOON - timedelta(days=1)
    found = rows(
        execution("south-a", "bootstrap: up", site="south"),
        execution("north-b", "bootstrap: up", FAILED, before),
        execution("north-b", "bootstrap: preview"),
        execution("north-b", "bootstrap: check", FAILED, before),
        execution("north-a", "bootstrap: up"),
    )
    assert [(row.cluster, row.step) for row in found] == [
        ("north-a", "bootstrap: up"),
        ("north-b", "bootstrap: preview"),
        ("south-a", "bootstrap: up"),
    ]


def test_a_cluster_that_is_under_way_is_not_started_again() -> None:
    server = Server(execution("north-b", "bootstrap: up"), execution("north-a", "bootstrap: up"))
    orders = [Order(cluster, "north", "c0ffee", []) for cluster in ("north-a", "north-b", "north-c")]
    with pytest.raises(ConfigError) as caught:
        asyncio.run(desk.start(server.client, Rollout("all", [Wave(orders, 1, 1)])))
    line = (
        "a workflow of this cluster is under way. Fix: wait for its end, or end it with `okd-baremetal fleet cancel`"
    )
    assert str(caught.value).splitlines() == [f"north-a: {line}", f"north-b: {line}"]
    assert server.queries == ["WorkflowType = 'Cluster' AND ExecutionStatus = 'Running'"]


def test_workflows_that_know_no_signature_are_given_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async def older(_client: Client, _cluster: str) -> ClusterDetail:
        return ClusterDetail(Status("bootstrap: waits for approval", Preview("5eed", []), "", []))

    monkeypatch.setattr(desk, "describe", older)
    with pytest.raises(ConfigError) as caught:
        asyncio.run(desk.approve(Server().client, "north-a", "5eed", "somebody", JANE))
    assert str(caught.value) == (
        "north-a: the worker of the workflows has an older release, which hands on no signature. "
        "Fix: restart it with this release, and approve again"
    )


@pytest.mark.parametrize(
    ("ago", "told"),
    [
        (timedelta(seconds=-5), "0 s"),
        (timedelta(seconds=119), "119 s"),
        (timedelta(seconds=120), "2 min"),
        (timedelta(minutes=119), "119 min"),
        (timedelta(hours=2), "2 h"),
        (timedelta(hours=47), "47 h"),
        (timedelta(days=2), "2 d"),
    ],
)
def test_the_time_since_has_one_unit(ago: timedelta, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Noon(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return NOON

    monkeypatch.setattr(desk, "datetime", Noon)
    assert desk.table_row(ClusterStatus("north", "north-a", "bootstrap: up", NOON - ago, "")) == (
        "north",
        "north-a",
        "bootstrap: up",
        told,
        "-",
    )
