"""What an operator or CI asks of the fleet: start, describe, approve, retry, cancel. It reaches no site."""

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
from temporalio.converter import ActivitySerializationContext, DataConverter
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from base.errors import ConfigError, Fault, word
from fleet.approvers import Approver, Subject
from fleet.codec import ONE_KEY
from fleet.messages import Rollout, Status
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
"""A worker polls at least once a minute: Temporal's long poll. The server lists it for five minutes."""
WORKER = "the site's worker"
RUNNING = "ExecutionStatus = 'Running'"


@dataclass(frozen=True)
class ClusterStatus:
    """The step at which one cluster is.

    Args:
        since: When it began that step.
        waits_for: Whom or what it waits for; empty if it works.
    """

    site: str
    cluster: str
    step: str
    since: datetime
    waits_for: str


@dataclass(frozen=True)
class ClusterDetail:
    """One cluster in detail.

    Args:
        attempt: Number of the present attempt of its activity; 0 without one.
        progress: The latest line of its progress.
        failure: Why the attempt before failed.
    """

    status: Status
    attempt: int = 0
    progress: str = ""
    failure: str = ""


async def start(client: Client, rollout: Rollout) -> None:
    """Start a rollout.

    Raises:
        ConfigError: One of its clusters is under way already, or a rollout of this name is.
    """
    wanted = {order.cluster for wave in rollout.waves for order in wave.orders}
    busy = [status.cluster async for status in _statuses(client, RUNNING) if status.cluster in wanted]
    fix = "wait for its end, or end it with `okd-baremetal fleet cancel`"
    if busy:
        raise ConfigError(
            *(Fault(cluster, "a workflow of this cluster is under way", fix) for cluster in sorted(busy))
        )
    try:
        await client.start_workflow(RolloutWorkflow.run, rollout, id=rollout_id(rollout.name), task_queue=QUEUE)
    except WorkflowAlreadyStartedError:
        raise ConfigError(Fault(rollout.name, "a rollout of this name is under way", fix)) from None


async def cluster_statuses(client: Client) -> list[ClusterStatus]:
    """Return the status of each cluster's latest workflow, sorted by site and cluster."""
    latest: dict[str, ClusterStatus] = {}
    async for status in _statuses(client):
        if status.cluster not in latest or status.since > latest[status.cluster].since:
            latest[status.cluster] = status
    sites = sorted({status.site for status in latest.values()})
    served = dict(zip(sites, await asyncio.gather(*(_is_served(client, site) for site in sites)), strict=True))
    return [
        replace(status, waits_for="") if status.waits_for == WORKER and served[status.site] else status
        for status in sorted(latest.values(), key=lambda status: (status.site, status.cluster))
    ]


async def describe(client: Client, cluster: str) -> ClusterDetail:
    """Return one cluster in detail.

    Raises:
        ConfigError: It has no workflow, or one of another key.
    """
    handle = _handle(client, cluster)
    try:
        status = await handle.query(ClusterWorkflow.status)
        execution = await handle.describe()
    except RPCError as error:
        raise _unknown(cluster, error) from None
    except WorkflowQueryFailedError:
        raise ConfigError(Fault(cluster, "the worker of the workflows cannot read it", ONE_KEY)) from None
    for pending in execution.raw_description.pending_activities:
        converter = _converter_of(client, cluster, pending.activity_type.name)
        beats = await converter.decode(pending.heartbeat_details.payloads)
        failure = ""
        if pending.HasField("last_failure"):
            failure = str(await converter.decode_failure(pending.last_failure))
        return ClusterDetail(status, pending.attempt, str(beats[0]) if beats else "", failure)
    return ClusterDetail(status)


async def approve(client: Client, cluster: str, digest: str, by: str, approver: Approver) -> str:
    """Approve the preview that waits, and return its phase.

    Raises:
        ConfigError: It is not the one that waits, or the workflows know no signatures.
    """
    status = (await describe(client, cluster)).status
    if not status.commit:
        what = "the worker of the workflows has an older release, which hands on no signature"
        raise ConfigError(Fault(cluster, what, "restart it with this release, and approve again"))
    phase = status.step.partition(":")[0]
    approval = approver.approval(Subject(cluster, status.commit, status.order), phase, digest, by)
    try:
        await _handle(client, cluster).execute_update(ClusterWorkflow.approve, approval)
    except WorkflowUpdateFailedError as error:
        raise ConfigError(
            Fault(cluster, str(error.cause), f"run `okd-baremetal fleet status {word(cluster)}`")
        ) from None
    return phase


async def retry(client: Client, cluster: str) -> None:
    """Repeat the step that stopped.

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


def _converter_of(client: Client, cluster: str, activity: str) -> DataConverter:
    """Return the converter of what an activity of a cluster has sent."""
    of = ActivitySerializationContext(
        namespace=client.namespace,
        workflow_id=cluster_id(cluster),
        workflow_type=None,
        activity_type=activity,
        activity_id=None,
        activity_task_queue=None,
        is_local=False,
    )
    return client.data_converter.with_context(of)


def _unknown(name: str, error: RPCError) -> ConfigError:
    what = "has no workflow" if error.status is RPCStatusCode.NOT_FOUND else error.message
    return ConfigError(Fault(name, what, "see `okd-baremetal fleet status`"))


async def _statuses(client: Client, query: str = "") -> AsyncIterator[ClusterStatus]:
    async for execution in client.list_workflows(" AND ".join(filter(None, [CLUSTERS, query]))):
        yield _status(execution)


def _status(execution: WorkflowExecution) -> ClusterStatus:
    attributes = execution.typed_search_attributes
    step, since = attributes.get(STEP) or "starting", attributes.get(SINCE) or execution.start_time
    waits_for = ""
    if execution.status is WorkflowExecutionStatus.RUNNING:
        waits_for = _waits_for(step)
    elif execution.status is WorkflowExecutionStatus.COMPLETED:
        step = IN_PRODUCTION
    else:
        ended = execution.status.name.lower() if execution.status else "ended"
        step, since = f"{ended} at {step}", execution.close_time or since
    return ClusterStatus(attributes.get(SITE) or "", attributes.get(CLUSTER) or "", step, since, waits_for)


def _waits_for(step: str) -> str:
    if step == IN_PRODUCTION:
        return ""
    if step.endswith(APPROVAL):
        return "a person's approval"
    return "a person's retry" if step.endswith(STOPPED) else WORKER


async def _is_served(client: Client, site: str) -> bool:
    """Return whether a worker of the site polls."""
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=queue_of(site)),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
    )
    pollers = (await client.workflow_service.describe_task_queue(request, retry=True)).pollers
    now = time.time()
    return any(now - poller.last_access_time.ToSeconds() < POLL_S for poller in pollers)


def table_row(status: ClusterStatus) -> tuple[str, str, str, str, str]:
    """Return the cells of a table's row, with the time since the step began."""
    return status.site, status.cluster, status.step, _ago(status.since), status.waits_for or "-"


def _ago(since: datetime) -> str:
    seconds = int((datetime.now(UTC) - since).total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{max(seconds, 0)} s"
