"""What an operator or CI asks of the fleet: start, describe, approve, retry, cancel. It reaches no site."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from temporalio.api.enums.v1 import EventType, TaskQueueType
from temporalio.api.failure.v1 import Failure
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
)
from temporalio.common import SearchAttributeKey
from temporalio.converter import ActivitySerializationContext, DataConverter, WorkflowSerializationContext
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
ROLLOUTS = "WorkflowType = 'Rollout'"
POLL_S = 90
"""A worker polls at least once a minute: Temporal's long poll. The server lists it for five minutes."""
WORKER = "the site's worker"
WORKFLOWS = "the worker of the workflows"
REPAIR = f"{WORKFLOWS}, which fails"
RUNNING = "ExecutionStatus = 'Running'"
FAILS = SearchAttributeKey.for_keyword_list("TemporalReportedProblems")
"""The server's own, after five attempts, in about a minute, at which a workflow's task failed."""
FIRST_REPEATED = 2
"""The attempt at a workflow's task that follows one which failed, or whose worker died."""
FAILING_FIX = (
    f"{ONE_KEY}, and restart the worker of the workflows with the release that began the rollout; "
    "it goes on by itself, after ten minutes at the latest"
)


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
    """Return the status of each cluster's latest workflow, sorted by site and cluster.

    A rollout with which the worker of the workflows cannot go on has a row, too: it may have no cluster yet.
    """
    latest: dict[str, ClusterStatus] = {}
    async for status in _statuses(client):
        if status.cluster not in latest or status.since > latest[status.cluster].since:
            latest[status.cluster] = status
    rows = sorted(latest.values(), key=lambda status: (status.site, status.cluster))
    rollouts = await _rollouts(client)
    if not await _polls(client, QUEUE, TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW):
        return [*rollouts, *(replace(row, waits_for=WORKFLOWS) if row.waits_for else row for row in rows)]
    sites = sorted({row.site for row in rows})
    polled = await asyncio.gather(
        *(_polls(client, queue_of(site), TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY) for site in sites)
    )
    served = dict(zip(sites, polled, strict=True))
    return [
        *(rollout for rollout in rollouts if rollout.waits_for == REPAIR),
        *(replace(row, waits_for="") if row.waits_for == WORKER and served[row.site] else row for row in rows),
    ]


async def describe(client: Client, cluster: str) -> ClusterDetail:
    """Return one cluster in detail.

    Raises:
        ConfigError: It has no workflow, or the worker of the workflows cannot read it.
    """
    handle = _handle(client, cluster)
    try:
        execution = await handle.describe()
        await _refuse_failing(client, cluster, execution)
        status = await handle.query(ClusterWorkflow.status)
    except RPCError as error:
        raise _unknown(cluster, error) from None
    except WorkflowQueryFailedError:
        raise _failing(cluster, "it cannot read this workflow") from None
    for pending in execution.raw_description.pending_activities:
        converter = _converter_of(client, cluster, pending.activity_type.name)
        beats = await converter.decode(pending.heartbeat_details.payloads)
        failure = await _why(converter, pending.last_failure) if pending.HasField("last_failure") else ""
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
    except RPCError as error:
        raise _unknown(cluster, error) from None
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


async def cancel(client: Client, cluster: str) -> None:
    """Cancel a cluster's workflow, whose update is interrupted.

    Raises:
        ConfigError: It has none under way.
    """
    handle = _handle(client, cluster)
    try:
        # The server says nothing of the cancellation of one that has ended.
        execution = await handle.describe()
        if execution.status is not WorkflowExecutionStatus.RUNNING:
            raise _unknown(cluster)
        await handle.cancel()
    except RPCError as error:
        raise _unknown(cluster, error) from None


async def cancel_rollout(client: Client, rollout: str) -> None:
    """End a rollout, which starts no further cluster. Its clusters go on.

    It has nothing to tidy up, so this needs no worker of the workflows, which may be unable to read it.

    Raises:
        ConfigError: None of this name is under way.
    """
    try:
        await client.get_workflow_handle(rollout_id(rollout)).terminate("cancelled")
    except RPCError as error:
        raise _unknown(rollout, error) from None


async def _refuse_failing(client: Client, cluster: str, execution: WorkflowExecutionDescription) -> None:
    """Refuse a cluster with whose workflow the worker of the workflows cannot go on: the server asks it for ever.

    Raises:
        ConfigError: It cannot, and why.
    """
    attempt = execution.raw_description.pending_workflow_task.attempt
    if attempt < FIRST_REPEATED:
        return
    failure: Failure | None = None
    async for event in _handle(client, cluster).fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            failure = event.workflow_task_failed_event_attributes.failure
        elif event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            failure = None
    if failure is not None:
        own = WorkflowSerializationContext(namespace=client.namespace, workflow_id=cluster_id(cluster))
        why = await _why(client.data_converter.with_context(own), failure)
        raise _failing(cluster, f"attempt {attempt}: {why}")


async def _why(converter: DataConverter, failure: Failure) -> str:
    """Return why something failed; if it was sealed with another key, that."""
    try:
        return str(await converter.decode_failure(failure))
    except ConfigError as error:
        return str(error)


def _failing(cluster: str, why: str) -> ConfigError:
    # A fault of this program has a fix of its own, as that for two keys.
    what = f"{WORKFLOWS} fails: {why.partition(' Fix: ')[0].rstrip('.')}"
    return ConfigError(Fault(cluster, what, FAILING_FIX))


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


def _unknown(name: str, error: RPCError | None = None) -> ConfigError:
    what = (
        "has no workflow under way"
        if error is None or error.status is RPCStatusCode.NOT_FOUND
        else error.message.rstrip(".")
    )
    return ConfigError(Fault(name, what, "see `okd-baremetal fleet status`"))


async def _statuses(client: Client, query: str = "") -> AsyncIterator[ClusterStatus]:
    async for execution in client.list_workflows(" AND ".join(filter(None, [CLUSTERS, query]))):
        yield _status(execution)


def _status(execution: WorkflowExecution) -> ClusterStatus:
    attributes = execution.typed_search_attributes
    step, since = attributes.get(STEP) or "starting", attributes.get(SINCE) or execution.start_time
    waits_for = ""
    if execution.status is WorkflowExecutionStatus.RUNNING:
        waits_for = REPAIR if attributes.get(FAILS) else _waits_for(step)
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


async def _rollouts(client: Client) -> list[ClusterStatus]:
    """Return rows for the rollouts under way, as if all waited for the worker of the workflows."""
    return [
        ClusterStatus(
            "-",
            execution.id,
            "starts clusters",
            execution.start_time,
            REPAIR if execution.typed_search_attributes.get(FAILS) else WORKFLOWS,
        )
        async for execution in client.list_workflows(f"{ROLLOUTS} AND {RUNNING}")
    ]


async def _polls(client: Client, queue: str, kind: "TaskQueueType.ValueType") -> bool:
    """Return whether a worker polls a task queue."""
    request = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind
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
