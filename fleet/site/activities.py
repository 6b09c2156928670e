"""The activities of a site's worker. The server may ask twice; the second finds what the first still does."""

import asyncio
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from temporalio import activity
from temporalio.exceptions import ApplicationError

from base.errors import OkdBaremetalError
from fleet.messages import Activity, Checked, Done, Preview, Step
from fleet.site.checkout import UnreachableError
from fleet.site.orders import Orders, refuse_malformed
from fleet.site.record import UnapprovedError
from fleet.site.updates import ChangedError, EngineError, Update
from fleet.workflows import CHANGED, UNAPPROVED

BEAT_S = 5
"""A sixth of the heartbeat timeout, after which the server gives an attempt up."""
ATTEMPTS = 8
"""Attempts at what may recover, as a backend that is away: four minutes, by the policy's pauses."""
KINDS: dict[type[OkdBaremetalError], str] = {ChangedError: CHANGED, UnapprovedError: UNAPPROVED}
"""Types of failures after which the workflow asks for another approval."""

Result = TypeVar("Result", Checked, Preview, Done)


@dataclass
class _Job:
    """Work that goes on in a thread, whichever attempt waits for it."""

    update: Update
    future: asyncio.Future[Any]


@dataclass
class Site:
    """What a site's worker can do.

    Args:
        orders: Those that it carries out.
    """

    orders: Orders
    _jobs: dict[tuple[str, Step], _Job] = field(default_factory=dict)
    """By number of the activity, and step with its run: those of all attempts of one activity."""

    @activity.defn(name=Activity.CHECK)
    async def check(self, step: Step) -> Checked:
        """Check a cluster's inputs."""
        return await self._done(step, Update.check)

    @activity.defn(name=Activity.PREVIEW)
    async def preview(self, step: Step) -> Preview:
        """Return what an update would do."""
        return await self._done(step, Update.preview)

    @activity.defn(name=Activity.UP)
    async def up(self, step: Step) -> Done:
        """Update a cluster."""
        return await self._done(step, Update.up)

    async def _done(self, step: Step, work: Callable[[Update], Result]) -> Result:
        """Return the result of the work, which begins now or is under way.

        Whoever cancels the workflow interrupts Pulumi, and waits for its end. If the server gives this attempt up,
        because the link was cut, the work goes on, and the next attempt finds it.
        """
        info = activity.info()
        try:
            refuse_malformed(step, info.activity_type, info.workflow_run_id or "")
            return await self._finished((info.activity_id, step), work)
        except OkdBaremetalError as error:
            raise failure_of(error, info.attempt) from None
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            what = f"internal error: {type(error).__name__}: {Path(last.filename).name}:{last.lineno}"
            raise ApplicationError(what, non_retryable=True) from None

    async def _finished(self, key: tuple[str, Step], work: Callable[[Update], Result]) -> Result:
        if key not in self._jobs:
            update = Update(self.orders, key[1])
            self._jobs[key] = _Job(update, asyncio.ensure_future(asyncio.to_thread(work, update)))
        job = self._jobs[key]
        is_cancelled = await _waited(job)
        self._jobs.pop(key, None)
        if is_cancelled:
            job.future.exception()
            raise asyncio.CancelledError
        result: Result = job.future.result()
        return result


async def _waited(job: _Job) -> bool:
    """Wait for the end of the work, with heartbeats of its latest progress; return whether a person cancelled it."""
    is_cancelled = False
    while not job.future.done():
        activity.heartbeat(job.update.progress)
        try:
            await asyncio.wait({job.future}, timeout=BEAT_S)
        except asyncio.CancelledError:
            details = activity.cancellation_details()
            if details is None or not details.cancel_requested:
                raise
            job.update.pulumi.interrupt()
            is_cancelled = True
    return is_cancelled


def failure_of(error: OkdBaremetalError, attempt: int) -> ApplicationError:
    """Return how the server learns of an error: to try again, or to wait for a person."""
    may_recover = isinstance(error, EngineError | UnreachableError) and attempt < ATTEMPTS
    kind = KINDS.get(type(error), type(error).__name__)
    return ApplicationError(str(error), type=kind, non_retryable=not may_recover)
