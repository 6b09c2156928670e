"""A stand-in for a site's worker, without repository, Pulumi and server, whose steps a test can block and fail."""

import asyncio
from collections import Counter
from contextlib import suppress
from datetime import timedelta

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from fleet.messages import Activity, Approval, Checked, Done, Preview, Step
from fleet.workflows import CHANGED, PHASES, UNAPPROVED, queue_of

BEAT = timedelta(milliseconds=100)


class FakeSiteWorker:
    """The activities of a site. Keys are cluster and step, as `("north-a", "bootstrap: up")`."""

    def __init__(self) -> None:
        self.begun = Counter[tuple[str, str]]()
        self.held: dict[tuple[str, str], asyncio.Event] = {}
        """Steps that end only once their event is set."""
        self.problems: dict[tuple[str, str], str] = {}
        """Steps that fail with this text until a test removes it."""
        self.transients: dict[tuple[str, str], str] = {}
        """The same, but they are tried again."""
        self.refusals: dict[tuple[str, str], str] = {}
        """Updates whose approval does not count, and why, until a test removes it."""
        self.approvals: dict[tuple[str, str], Approval | None] = {}
        """The approval of the latest update."""
        self.digests: dict[tuple[str, str], str] = {}
        """Digests of previews; by default they follow from cluster and phase."""
        self.phases: dict[str, list[str]] = {}
        """The phases before a cluster; all by default."""
        self.deaf = set[str]()
        """Clusters whose steps send no heartbeat, so that no cancellation reaches them in time."""

    def worker(self, client: Client, site: str) -> Worker:
        """Return the worker, which polls while its context is entered."""
        activities = [self.check, self.preview, self.up]
        # A heartbeat's answer has the cancellation; the SDK would send heartbeats only every 24 s.
        return Worker(client, task_queue=queue_of(site), activities=activities, max_heartbeat_throttle_interval=BEAT)

    @activity.defn(name=Activity.CHECK)
    async def check(self, step: Step) -> Checked:
        """Return the phases before a cluster."""
        await self._begin("check", step)
        return Checked(self.phases.get(step.cluster, list(PHASES)))

    @activity.defn(name=Activity.PREVIEW)
    async def preview(self, step: Step) -> Preview:
        """Return the present digest."""
        await self._begin(f"{step.phase}: preview", step)
        return Preview(self._digest(step), [f"Installs {step.cluster}."])

    @activity.defn(name=Activity.UP)
    async def up(self, step: Step) -> Done:
        """Carry out the approved preview."""
        await self._begin(f"{step.phase}: up", step)
        key = step.cluster, f"{step.phase}: up"
        self.approvals[key] = step.approval
        if key in self.refusals:
            raise ApplicationError(self.refusals[key], type=UNAPPROVED, non_retryable=True)
        if step.digest not in ("", self._digest(step)):
            raise ApplicationError("it would do something else", type=CHANGED, non_retryable=True)
        return Done({"create": 1}, 1.5, resumed=False)

    def _digest(self, step: Step) -> str:
        return self.digests.get((step.cluster, f"{step.phase}: preview"), f"{step.cluster}-{step.phase}")

    async def _begin(self, name: str, step: Step) -> None:
        key = step.cluster, name
        self.begun[key] += 1
        while key in self.held and not self.held[key].is_set():
            if step.cluster not in self.deaf:
                activity.heartbeat()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.held[key].wait(), BEAT.total_seconds())
        if key in self.problems:
            raise ApplicationError(self.problems[key], non_retryable=True)
        if key in self.transients:
            raise ApplicationError(self.transients[key])
