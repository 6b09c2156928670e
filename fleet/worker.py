"""The two kinds of workers: one of the workflows beside the server, one per site on its provisioner."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path

from temporalio.client import Client
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from fleet.connection import connected
from fleet.notices import web_hook
from fleet.site.activities import BEAT_S, Site
from fleet.site.checkout import Clone
from fleet.site.orders import Orders
from fleet.workflows import QUEUE, UPDATE_TIMEOUT, ClusterWorkflow, NoticeWorkflow, RolloutWorkflow, queue_of

AT_A_TIME = 4
"""Updates of one provisioner side by side."""


def workflow_worker(client: Client) -> Worker:
    """Return the worker of the workflows, which sends notices, too.

    Raises:
        ConfigError: `FLEET_NOTIFY_FILE` names no file with a URL.
    """
    # The messages are this program's own: the sandbox need not load them again for each workflow.
    known = SandboxRestrictions.default.with_passthrough_modules("fleet.messages")
    return Worker(
        client,
        task_queue=QUEUE,
        workflows=[ClusterWorkflow, NoticeWorkflow, RolloutWorkflow],
        activities=[web_hook().notify],
        workflow_runner=SandboxedWorkflowRunner(restrictions=known),
    )


def site_worker(client: Client, site: str, root: Path) -> Worker:
    """Return the worker of a site, whose clone is `root`."""
    activities = Site(Orders(Clone(root), site))
    return Worker(
        client,
        task_queue=queue_of(site),
        activities=[activities.check, activities.preview, activities.up],
        max_concurrent_activities=AT_A_TIME,
        # A worker that must end takes nothing new, and waits for its updates.
        graceful_shutdown_timeout=UPDATE_TIMEOUT,
        # Otherwise the SDK holds heartbeats back for 24 of the 30 s of silence that end an attempt.
        max_heartbeat_throttle_interval=timedelta(seconds=BEAT_S),
    )


async def serve(worker_of: Callable[[Client], AbstractAsyncContextManager[object]], ready: str) -> None:
    """Run a worker until SIGTERM or SIGINT, and print `ready` once it polls."""
    client, ends = await connected(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ends.set)
    async with worker_of(client):
        print(ready, flush=True)
        await ends.wait()
