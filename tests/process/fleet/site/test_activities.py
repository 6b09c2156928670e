"""The activities as the server calls them: twice, when a link was cut, or with a person who cancels."""

import asyncio
import fcntl
import os
from dataclasses import replace
from pathlib import Path

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from base.errors import ConfigError, Fault, OkdBaremetalError
from fleet.messages import Done, Step
from fleet.site import activities
from fleet.site.activities import ATTEMPTS, Site, failure_of
from fleet.site.checkout import Clone, UnreachableError
from fleet.site.updates import ChangedError, EngineError, StoppedError, Update
from fleet.workflows import CHANGED
from testing import plans, preview_steps
from testing.fakes.pulumi import FakePulumi
from testing.git import committed, git
from testing.namespaces import needs_root

HOST = preview_steps.step("create", "okd-master-0", new=preview_steps.bmc_host(plans.plan(), "okd-master-0"))
ROW = {"diagnosticEvent": {"urn": HOST["urn"], "message": "boots", "color": "raw", "severity": "info"}}


@pytest.mark.parametrize("error", [EngineError("backend is away"), UnreachableError("git is away")])
def test_a_transient_failure_is_retried_for_minutes(error: OkdBaremetalError) -> None:
    assert [failure_of(error, attempt).non_retryable for attempt in (1, ATTEMPTS - 1, ATTEMPTS)] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("error", [StoppedError("no disk"), ConfigError(Fault("a", "is wrong", "mend it"))])
def test_a_failure_that_needs_a_person_is_not_retried(error: OkdBaremetalError) -> None:
    failure = failure_of(error, 1)
    assert (failure.message, failure.type, failure.non_retryable) == (str(error), type(error).__name__, True)


def test_a_changed_preview_has_a_type_of_its_own() -> None:
    failure = failure_of(ChangedError("it is another"), 1)
    assert (failure.message, failure.type, failure.non_retryable) == ("it is another", CHANGED, True)


class Worker:
    """A site's worker with one commit. Its `up` writes into FIFO `said`, and waits for the end of FIFO `told`."""

    def __init__(self, folder: Path, pulumi: FakePulumi) -> None:
        self.pulumi, self.said, self.told = pulumi, folder / "said", folder / "told"
        root = folder / "site"
        (root / "stacks" / "north-a").mkdir(parents=True)
        (root / "stacks" / "north-a" / "install-config.yaml").touch()
        committed(root)
        self.site, self.step = Site(Clone(root)), Step("north-a", git(root, "rev-parse", "HEAD"), "bootstrap")
        os.mkfifo(self.said)
        os.mkfifo(self.told)
        pulumi.updates(ROW, changes={"create": 1})
        pulumi.does("while-up", f"trap 'exit 1' INT; echo begun >{self.said}; cat {self.told} & wait")

    async def begun(self) -> None:
        """Return once `up` has begun."""
        assert await asyncio.to_thread(self.said.read_text) == "begun\n"

    async def end(self) -> None:
        """Let `up` go on."""
        await asyncio.to_thread(self.told.write_text, "")

    def up(self, environment: ActivityEnvironment) -> asyncio.Task[Done]:
        """Begin an attempt."""
        return asyncio.ensure_future(environment.run(self.site.up, self.step))


@pytest.fixture
def worker(tmp_path: Path, pulumi: FakePulumi) -> Worker:
    return Worker(tmp_path, pulumi)


def attempt(number: int) -> ActivityEnvironment:
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, attempt=number)
    return environment


@needs_root
def test_the_result_is_that_of_the_work(worker: Worker) -> None:
    worker.pulumi.previews(preview_steps.preview(HOST))
    preview = asyncio.run(attempt(1).run(worker.site.preview, worker.step))
    assert preview == Update(worker.site.clone, worker.step, "a run").preview()


@needs_root
def test_each_heartbeat_carries_the_latest_progress_row(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activities, "BEAT_S", 0)
    environment, told = attempt(1), asyncio.Event()
    environment.on_heartbeat = lambda row: told.set() if row == "okd-master-0: boots" else None

    async def scenario() -> None:
        running = worker.up(environment)
        await worker.begun()
        await told.wait()
        await worker.end()
        await running

    asyncio.run(scenario())


@needs_root
def test_a_second_attempt_joins_what_the_first_began(worker: Worker) -> None:
    async def scenario() -> Done:
        first, second = attempt(1), attempt(2)
        running = worker.up(first)
        await worker.begun()
        first.cancel(ActivityCancellationDetails(timed_out=True))
        with pytest.raises(asyncio.CancelledError):
            await running
        running = worker.up(second)
        await worker.end()
        return await running

    assert asyncio.run(scenario()).changes == {"create": 1}
    assert worker.pulumi.calls().count("up") == 1


@needs_root
def test_the_next_workflow_begins_from_the_start(worker: Worker) -> None:
    async def scenario() -> None:
        for run in ("first", "second"):
            environment = attempt(1)
            environment.info = replace(environment.info, workflow_run_id=run)
            running = worker.up(environment)
            await worker.begun()
            await worker.end()
            await running

    asyncio.run(scenario())
    assert worker.pulumi.calls().count("up") == 2


@needs_root
def test_cancelling_interrupts_pulumi_and_waits_for_its_end(worker: Worker) -> None:
    async def scenario() -> None:
        environment = attempt(1)
        running = worker.up(environment)
        await worker.begun()
        environment.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(scenario())
    assert worker.pulumi.calls()[-1] == "up"
    with worker.site.clone.lock("north-a").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@needs_root
def test_a_failure_is_reported_without_its_traceback(worker: Worker) -> None:
    worker.pulumi.does("preview", "echo 'error: connection refused' >&2; exit 255")
    for number, non_retryable in ((1, False), (ATTEMPTS, True)):
        with pytest.raises(ApplicationError, match=r"^EngineError: error: connection refused$") as caught:
            asyncio.run(attempt(number).run(worker.site.preview, worker.step))
        assert (caught.value.non_retryable, caught.value.cause) == (non_retryable, None)
