"""`python -m bench.stand_ins BEAT_S`: workers of ten sites in one process, whose updates only take time."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from random import Random

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from fleet.messages import Activity, Checked, Done, Preview, Step
from fleet.worker import serve
from fleet.workflows import PHASES, queue_of

SITES = tuple(f"site-{number}" for number in range(10))
SCALE = 60
"""A minute of a real site takes a second here."""
SPREAD = 0.2
TYPICAL_S = {
    (Activity.CHECK, ""): 2,
    (Activity.PREVIEW, "bootstrap"): 10,
    (Activity.UP, "bootstrap"): 30 * 60,
    (Activity.PREVIEW, "production"): 10,
    (Activity.UP, "production"): 20 * 60,
}
"""Real times; a cluster's own are within `SPREAD` of them, the same in each run."""
AT_A_TIME = 1000
"""Activities of one site side by side: so many that no cluster waits for a slot."""
PREVIEW = Preview(
    "0123456789abcdef",
    [
        "installs 3 control-plane servers: node-0, node-1, node-2",
        "powers on and boots 3 servers from a virtual CD, and erases /dev/vda of each",
        "moves the VIPs 192.168.111.5 and 192.168.111.4 from the bootstrap to the control plane",
        "creates 24 resources, changes none, deletes none",
    ],
)


def takes_s(cluster: str, work: Activity, phase: str) -> float:
    """Return the seconds that a cluster's step takes here."""
    drawn = Random(f"{cluster} {work} {phase}").uniform(1 - SPREAD, 1 + SPREAD)  # noqa: S311  (a stand-in's time)
    return TYPICAL_S[work, phase] * drawn / SCALE


def needs_s(cluster: str) -> float:
    """Return the seconds that all steps of a cluster take here."""
    return sum(takes_s(cluster, *step) for step in TYPICAL_S)


@dataclass(frozen=True)
class StandIn:
    """The activities of a site, with a heartbeat every `beat_s`."""

    beat_s: float

    @activity.defn(name=Activity.CHECK)
    async def check(self, step: Step) -> Checked:
        """Take the time of a check."""
        await self._work(step, Activity.CHECK)
        return Checked(list(PHASES))

    @activity.defn(name=Activity.PREVIEW)
    async def preview(self, step: Step) -> Preview:
        """Take the time of a preview."""
        await self._work(step, Activity.PREVIEW)
        return PREVIEW

    @activity.defn(name=Activity.UP)
    async def up(self, step: Step) -> Done:
        """Take the time of an update."""
        return Done({"create": 24, "same": 6}, await self._work(step, Activity.UP), resumed=False)

    async def _work(self, step: Step, work: Activity) -> float:
        """Send heartbeats for the time of a step, and return its seconds."""
        left_s = whole_s = takes_s(step.cluster, work, step.phase)
        while left_s > 0:
            activity.heartbeat("master-0: create")
            await asyncio.sleep(min(left_s, self.beat_s))
            left_s -= self.beat_s
        return whole_s


@asynccontextmanager
async def workers(client: Client, beat_s: float) -> AsyncIterator[None]:
    """Run the workers of all sites."""
    stand_in = StandIn(beat_s)
    async with AsyncExitStack() as running:
        for site in SITES:
            worker = Worker(
                client,
                task_queue=queue_of(site),
                activities=[stand_in.check, stand_in.preview, stand_in.up],
                max_concurrent_activities=AT_A_TIME,
                max_heartbeat_throttle_interval=timedelta(seconds=beat_s),
            )
            await running.enter_async_context(worker)
        yield


if __name__ == "__main__":
    asyncio.run(serve(partial(workers, beat_s=float(sys.argv[1])), "ready"))
