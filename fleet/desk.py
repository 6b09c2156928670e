"""What an operator or CI asks of the fleet: start, show, approve, retry, cancel. It reaches no site."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from base.errors import ConfigError, Fault
from fleet.codec import ONE_KEY
from fleet.messages import Approval, Rollout, Status
from fleet.workflows import (
    APPROVAL,
    CLUSTER,
    IN_PRODUCTION,
    QUEUE,
    SINCE,
    SITE,
    STEP,
    STOPPED,
    ClusterWorkflow,
    RolloutWorkflow,
    cluster_id,
    queue_of,
    rollout_id,
)

CLUSTERS = "WorkflowType = 'Cluster'"
POLL_S = 90
"""A worker asks at least once a minute: Temporal's long poll. The server lists it for five."""
WORKER = "the site's worker"
RUNNING = "ExecutionStatus = 'Running'"


@dataclass(frozen=True)
class Row:
    """Where one cluster is.

    Args:
        since: When it came there.
        waits_for: Whom or what it waits for; empty if it works.
    """

    site: str
    cluster: str
    step: str
    since: datetime
    waits_for: str


@dataclass(frozen=True)
class Told:
    """One cluster in detail.

    Args:
        attempt: Number of the present attempt of its activity; 0 without one.
        row: The latest row of its progress.
        failure: Why the attempt before failed.
    """

    status: Status
    attempt: int = 0
    row: str = ""
    failure: str = ""


async def start(client: Client, rollout: Rollout) -> None:
    """Start a rollout.

    Raises:
        ConfigError: One of its clusters is under way already, or a rollout of this name is.
    """
    wanted = {order.cluster for wave in rollout.waves for order in wave.orders}
    busy = [each.cluster async for each in _rows(client, RUNNING) if each.cluster in wanted]
    fix = "wait for its end, or end it with `okd-baremetal fleet cancel`"
    if busy:
        raise ConfigError(
            *(Fault(cluster, "a workflow of this cluster is under way", fix) for cluster in sorted(busy))
        )
    try:
        await client.start_workflow(RolloutWorkflow.run, rollout, id=rollout_id(rollout.name), task_queue=QUEUE)
    except WorkflowAlreadyStartedError:
        raise ConfigError(Fault(rollout.name, "a rollout of this name is under way", fix)) from None


async def rows(client: Client) -> list[Row]:
    """Return a row per cluster, its latest workflow, sorted by site and cluster."""
    latest: dict[str, Row] = {}
    async for row in _rows(client):
        if row.cluster not in latest or row.since > latest[row.cluster].since:
            latest[row.cluster] = row
    sites = sorted({row.site for row in latest.values()})
    served = dict(zip(sites, await asyncio.gather(*(_is_served(client, site) for site in sites)), strict=True))
    found = sorted(latest.values(), key=lambda row: (row.site, row.cluster))
    return [replace(row, waits_for="") if row.waits_for == WORKER and served[row.site] else row for row in found]


async def told(client: Client, cluster: str) -> Told:
    """Return one cluster in detail.

    Raises:
        ConfigError: It has no workflow, or one of another key.
    """
    handle = _handle(client, cluster)
    try:
        status = await handle.query(ClusterWorkflow.status)
        described = await handle.describe()
    except RPCError as error:
        raise _unknown(cluster, error) from None
    except WorkflowQueryFailedError:
        raise ConfigError(Fault(cluster, "the worker of the workflows cannot read it", ONE_KEY)) from None
    for pending in described.raw_description.pending_activities:
        beats = await client.data_converter.decode(pending.heartbeat_details.payloads)
        failure = ""
        if pending.HasField("last_failure"):
            failure = str(await client.data_converter.decode_failure(pending.last_failure))
        return Told(status, pending.attempt, str(beats[0]) if beats else "", failure)
    return Told(status)


async def approve(client: Client, cluster: str, digest: str, by: str) -> str:
    """Approve the preview that waits, and return its phase.

    Raises:
        ConfigError: It is not the one that waits.
    """
    phase = (await told(client, cluster)).status.step.partition(":")[0]
    approval = Approval(phase, digest, by)
    try:
        await _handle(client, cluster).execute_update(ClusterWorkflow.approve, approval)
    except WorkflowUpdateFailedError as error:
        raise ConfigError(
            Fault(cluster, str(error.cause), f"look at `okd-baremetal fleet status {cluster}`")
        ) from None
    return phase


async def retry(client: Client, cluster: str) -> None:
    """Let the step that stopped begin again.

    Raises:
        ConfigError: None has stopped.
    """
    try:
        await _handle(client, cluster).execute_update(ClusterWorkflow.retry)
    except WorkflowUpdateFailedError as error:
        raise ConfigError(Fault(cluster, str(error.cause))) from None
    except RPCError as error:
        raise _unknown(cluster, error) from None


async def cancel(client: Client, workflow_id: str) -> None:
    """Cancel a cluster's workflow, whose update is interrupted, or a rollout, which starts no further cluster.

    Raises:
        ConfigError: It has none.
    """
    try:
        await client.get_workflow_handle(workflow_id).cancel()
    except RPCError as error:
        raise _unknown(workflow_id, error) from None


def _handle(client: Client, cluster: str) -> WorkflowHandle[ClusterWorkflow, object]:
    return client.get_workflow_handle_for(ClusterWorkflow.run, cluster_id(cluster))


def _unknown(name: str, error: RPCError) -> ConfigError:
    what = "has no workflow" if error.status is RPCStatusCode.NOT_FOUND else error.message
    return ConfigError(Fault(name, what, "see `okd-baremetal fleet status`"))


async def _rows(client: Client, query: str = "") -> AsyncIterator[Row]:
    async for found in client.list_workflows(" AND ".join(filter(None, [CLUSTERS, query]))):
        yield _row(found)


def _row(found: WorkflowExecution) -> Row:
    kept = found.typed_search_attributes
    step, since = kept.get(STEP) or "starting", kept.get(SINCE) or found.start_time
    who = ""
    if found.status is WorkflowExecutionStatus.RUNNING:
        who = _who(step)
    elif found.status is WorkflowExecutionStatus.COMPLETED:
        step = IN_PRODUCTION
    else:
        ended = found.status.name.lower() if found.status else "ended"
        step, since = f"{ended} at {step}", found.close_time or since
    return Row(kept.get(SITE) or "", kept.get(CLUSTER) or "", step, since, who)


def _who(step: str) -> str:
    if step == IN_PRODUCTION:
        return ""
    if step.endswith(APPROVAL):
        return "a person's approval"
    return "a person's retry" if step.endswith(STOPPED) else WORKER


async def _is_served(client: Client, site: str) -> bool:
    """Return whether a worker of the site polls."""
    asked = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=queue_of(site)),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
    )
    pollers = (await client.workflow_service.describe_task_queue(asked, retry=True)).pollers
    now = time.time()
    return any(now - each.last_access_time.ToSeconds() < POLL_S for each in pollers)


def cells(row: Row) -> tuple[str, str, str, str, str]:
    """Return a row as texts, with the time since."""
    return row.site, row.cluster, row.step, _ago(row.since), row.waits_for or "-"


def _ago(since: datetime) -> str:
    seconds = int((datetime.now(UTC) - since).total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{max(seconds, 0)} s"
