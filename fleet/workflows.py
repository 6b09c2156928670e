"""The workflows that take one cluster, and many, to production. They are deterministic: activities do all I/O.

A change of this module must replay the histories in tests/fleet/histories; `workflow.patched` keeps the old code for
those. `pytest -m "fleet and golden" --accept-golden tests/fleet` records them again: only while no release has the
old code.
"""

import asyncio
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy, SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.exceptions import ActivityError, ApplicationError, ChildWorkflowError, FailureError
from temporalio.workflow import (
    ActivityCancellationType,
    ChildWorkflowCancellationType,
    ParentClosePolicy,
)

from fleet.messages import (
    Activity,
    Approval,
    Checked,
    Done,
    Notice,
    Order,
    Preview,
    Rollout,
    Status,
    Step,
    Waits,
    Wave,
)

PHASES = ("bootstrap", "production")
UPGRADE = "upgrade"
"""What may follow the phases, with preview, approval and update as each of them."""
QUEUE = "fleet"
"""The task queue of the workflows."""
SITE = SearchAttributeKey.for_keyword("Site")
CLUSTER = SearchAttributeKey.for_keyword("Cluster")
STEP = SearchAttributeKey.for_keyword("Step")
SINCE = SearchAttributeKey.for_datetime("Since")

APPROVAL = "waits for approval"
STOPPED = "stopped"
CHANGED = "Changed"
"""Type of the failure of an `up` whose preview is no longer the approved one."""
UNAPPROVED = "Unapproved"
"""Type of the failure of an `up` that has no approval which counts at its site."""
IN_PRODUCTION = "in production"
NOTIFY = "notify"
"""The activity that sends a notice."""

HEARTBEAT_TIMEOUT = timedelta(seconds=30)
"""A worker that sends no heartbeat for this long is dead, or has no link: another attempt begins."""
UPDATE_TIMEOUT = timedelta(hours=12)
"""The limit of one update; its own deadlines are shorter."""
RETRY_POLICY = RetryPolicy(initial_interval=timedelta(seconds=2), maximum_interval=timedelta(minutes=2))
"""Without end, since each attempt first reads the state. What no retry can fix is raised as non-retryable."""

NOTICE_ATTEMPT_TIMEOUT = timedelta(seconds=30)
NOTICE_TIMEOUT = timedelta(hours=1)
"""A notice that could not be sent for this long is dropped."""

Result = TypeVar("Result")


def queue_of(site: str) -> str:
    """Return the task queue of a site."""
    return f"site/{site}"


def cluster_id(cluster: str) -> str:
    """Return the id of a cluster's workflow: one at a time, since Temporal runs an id only once."""
    return f"cluster/{cluster}"


def rollout_id(name: str) -> str:
    """Return the id of a rollout's workflow."""
    return f"rollout/{name}"


@workflow.defn(name="Cluster")
class ClusterWorkflow:
    """Check; then, for each phase and the upgrade that a site has before a cluster: preview, approval, up."""

    @workflow.init
    def __init__(self, order: Order) -> None:
        self._order = order
        self._step = ""
        self._preview: Preview | None = None
        self._approvals = {approval.phase: approval for approval in order.approvals}
        self._gates = set(order.gates)
        self._problem = self._refusal = ""

    @workflow.run
    async def run(self, order: Order) -> dict[str, Done]:
        """Return what the update of each phase did."""
        checked = await self._at_site(Activity.CHECK, self._order_of(), Checked)
        done = {phase: await self._phase(phase) for phase in checked.phases}
        self._enter(IN_PRODUCTION)
        await self._notify()
        return done

    async def _phase(self, phase: str) -> Done:
        while True:
            self._preview = await self._at_site(Activity.PREVIEW, self._order_of(phase), Preview)
            approval = await self._approved(phase, self._preview.digest) if phase in self._gates else None
            try:
                return await self._at_site(Activity.UP, self._order_of(phase, approval), Done)
            except _ChangedError:
                continue
            except _UnapprovedError as error:
                # Only the site knows its gates and approvers.
                self._gates.add(phase)
                self._approvals.pop(phase, None)
                self._refusal = str(error)

    def _order_of(self, phase: str = "", approval: Approval | None = None) -> Step:
        digest = approval.digest if approval else ""
        order, run = self._order, workflow.info().run_id
        return Step(order.cluster, order.commit, phase, digest, approval, order.id, run)

    async def _approved(self, phase: str, digest: str) -> Approval:
        """Wait for the approval of this preview."""

        def is_approved() -> bool:
            return phase in self._approvals and self._approvals[phase].digest == digest

        if not is_approved():
            self._enter(f"{phase}: {APPROVAL}")
            await self._notify(digest)
            await self._tell_rollout(Waits(self._order.cluster, for_person=True))
            await workflow.wait_condition(is_approved)
            await self._tell_rollout(Waits(self._order.cluster, for_person=False))
        self._refusal = ""
        return self._approvals[phase]

    async def _at_site(self, activity: Activity, step: Step, result: type[Result]) -> Result:
        """Run an activity at the site. A failure that no retry can fix waits for a person's `retry`."""
        name = f"{step.phase}: {activity}" if step.phase else activity.value
        while True:
            self._enter(name)
            try:
                answer: Result = await workflow.execute_activity(
                    activity.value,
                    step,
                    result_type=result,
                    task_queue=queue_of(self._order.site),
                    start_to_close_timeout=UPDATE_TIMEOUT,
                    heartbeat_timeout=HEARTBEAT_TIMEOUT,
                    retry_policy=RETRY_POLICY,
                    cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
                )
                return answer
            except ActivityError as error:
                # A site whose worker died reports no end: the attempt then ends by the server's timeout.
                _heed_cancellation()
                if not isinstance(error.cause, ApplicationError):
                    raise
                if error.cause.type == CHANGED:
                    raise _ChangedError from None
                if error.cause.type == UNAPPROVED:
                    raise _UnapprovedError(error.cause.message) from None
                await self._wait_for_retry(name, error.cause.message)

    async def _wait_for_retry(self, step: str, problem: str) -> None:
        self._problem = problem
        self._enter(f"{step}: {STOPPED}")
        await self._notify()
        await self._tell_rollout(Waits(self._order.cluster, for_person=True, is_stopped=True))
        await workflow.wait_condition(lambda: not self._problem)
        await self._tell_rollout(Waits(self._order.cluster, for_person=False))

    async def _notify(self, digest: str = "") -> None:
        """Tell people where the cluster is, by a workflow of its own: a web hook that is down holds no cluster."""
        order = self._order
        if order.notifies:
            await workflow.start_child_workflow(
                NoticeWorkflow.run,
                Notice(order.cluster, order.site, order.commit, self._step, digest),
                id=f"notice/{order.cluster}/{workflow.uuid4()}",
                parent_close_policy=ParentClosePolicy.ABANDON,
                cancellation_type=ChildWorkflowCancellationType.ABANDON,
            )

    async def _tell_rollout(self, waits: Waits) -> None:
        parent = workflow.info().parent
        if parent is None:
            return
        # By its run: another rollout may have the name of one that was cancelled.
        rollout = workflow.get_external_workflow_handle_for(
            RolloutWorkflow.run, parent.workflow_id, run_id=parent.run_id
        )
        try:
            await rollout.signal(RolloutWorkflow.note, waits)
        except FailureError:
            workflow.logger.info("the rollout has ended; its cluster goes on")
        _heed_cancellation()

    def _enter(self, step: str) -> None:
        _heed_cancellation()
        self._step = step
        workflow.upsert_search_attributes([STEP.value_set(step), SINCE.value_set(workflow.now())])

    @workflow.update
    async def approve(self, approval: Approval) -> None:
        """Let the phase begin."""
        self._approvals[approval.phase] = approval

    @approve.validator
    def _may_approve(self, approval: Approval) -> None:
        if self._step != f"{approval.phase}: {APPROVAL}" or self._preview is None:
            raise ApplicationError(f"{approval.phase} does not wait for an approval; the cluster is at: {self._step}")
        if approval.digest != self._preview.digest:
            raise ApplicationError(
                f"{approval.digest} is not the preview that waits, which is {self._preview.digest}"
            )

    @workflow.update
    async def retry(self) -> None:
        """Repeat the step that stopped."""
        self._problem = ""

    @retry.validator
    def _may_retry(self) -> None:
        if not self._problem:
            raise ApplicationError(f"nothing has stopped; the cluster is at: {self._step}")

    @workflow.query
    def status(self) -> Status:
        """Return where the cluster is."""
        approvals = [self._approvals[phase] for phase in (*PHASES, UPGRADE) if phase in self._approvals]
        order = self._order
        return Status(self._step, self._preview, self._problem, approvals, self._refusal, order.commit, order.id)


@workflow.defn(name="Notice")
class NoticeWorkflow:
    """Send one notice, for as long as it is news."""

    @workflow.run
    async def run(self, notice: Notice) -> None:
        """End when it is sent."""
        await workflow.execute_activity(
            NOTIFY,
            notice,
            start_to_close_timeout=NOTICE_ATTEMPT_TIMEOUT,
            schedule_to_close_timeout=NOTICE_TIMEOUT,
            retry_policy=RETRY_POLICY,
        )


class _ChangedError(Exception):
    """The approved preview is out of date."""


class _UnapprovedError(Exception):
    """The site wants an approval that counts there."""


def _heed_cancellation() -> None:
    """End a workflow that was cancelled while what it waited for ended by itself: Temporal reports it only once."""
    if workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError


@workflow.defn(name="Rollout")
class RolloutWorkflow:
    """Waves, one after the other: each begins once all clusters of the one before are in production."""

    def __init__(self) -> None:
        self._waiting: set[str] = set()
        self._stopped: set[str] = set()
        self._lost: set[str] = set()
        """Those that ended before production; they count as stopped for good."""

    @workflow.run
    async def run(self, rollout: Rollout) -> dict[str, str]:
        """Return the end of each cluster that was started: `in production`, or why it ended before."""
        ends: dict[str, str] = {}
        for wave in rollout.waves:
            ends |= await self._wave(wave)
            if any(end != IN_PRODUCTION for end in ends.values()):
                break
        return ends

    async def _wave(self, wave: Wave) -> dict[str, str]:
        slots = asyncio.Semaphore(wave.at_a_time)

        async def one(order: Order) -> str:
            async with slots:
                await workflow.wait_condition(
                    lambda: len(self._stopped | self._lost) < wave.hold_at or len(self._lost) >= wave.hold_at
                )
                if len(self._lost) >= wave.hold_at:
                    return "not started: too many of its wave have ended before production"
                try:
                    child = await workflow.start_child_workflow(
                        ClusterWorkflow.run,
                        order,
                        id=cluster_id(order.cluster),
                        # A rollout that is cancelled starts no further cluster, and leaves those under way.
                        parent_close_policy=ParentClosePolicy.ABANDON,
                        cancellation_type=ChildWorkflowCancellationType.ABANDON,
                        search_attributes=attributes(order),
                    )
                except FailureError as error:
                    return f"not started: {error}"
                # A cluster that waits for a person holds no slot.
                await workflow.wait_condition(lambda: child.done() or order.cluster in self._waiting)
            try:
                await child
            except ChildWorkflowError as error:
                self._lost.add(order.cluster)
                return f"ended: {error.cause or error}"
            return IN_PRODUCTION

        ends = await asyncio.gather(*map(one, wave.orders))
        return dict(zip((order.cluster for order in wave.orders), ends, strict=True))

    @workflow.signal(name="told")  # the name in the histories
    def note(self, waits: Waits) -> None:
        """Take note of a cluster that waits for a person, or goes on."""
        (self._waiting.add if waits.for_person else self._waiting.discard)(waits.cluster)
        (self._stopped.add if waits.is_stopped else self._stopped.discard)(waits.cluster)


def attributes(order: Order) -> TypedSearchAttributes:
    """Return the search attributes with which a cluster's workflow starts."""
    return TypedSearchAttributes([SearchAttributePair(SITE, order.site), SearchAttributePair(CLUSTER, order.cluster)])
