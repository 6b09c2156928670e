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
from fleet.messages import Activity, Done
from fleet.site import activities
from fleet.site.activities import ATTEMPTS, Site, failure_of
from fleet.site.checkout import FOLDER, UnreachableError
from fleet.site.record import UnapprovedError
from fleet.site.updates import ChangedError, EngineError, StoppedError, Update
from fleet.workflows import CHANGED, UNAPPROVED
from testing import plans, preview_steps
from testing.fakes.pulumi import FakePulumi
from testing.namespaces import needs_root
from testing.site_clone import RUN, SiteClone

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


def test_what_needs_another_approval_has_a_type_of_its_own() -> None:
    for error, kind in ((ChangedError("it is another"), CHANGED), (UnapprovedError("nobody has"), UNAPPROVED)):
        failure = failure_of(error, 1)
        assert (failure.message, failure.type, failure.non_retryable) == (str(error), kind, True)


class Worker:
    """A site's worker with one commit. Its `up` writes into FIFO `said`, and waits for the end of FIFO `told`."""

    def __init__(self, folder: Path, pulumi: FakePulumi) -> None:
        self.pulumi, self.said, self.told = pulumi, folder / "said", folder / "told"
        stack = folder / "remote" / "stacks" / "north-a"
        stack.mkdir(parents=True)
        (stack / "install-config.yaml").touch()
        self.clone = SiteClone(folder)
        self.clone.change(gates=[])
        self.site, self.step = Site(self.clone.orders), self.clone.step()
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
        step = replace(self.step, run=environment.info.workflow_run_id or "")
        return asyncio.ensure_future(environment.run(self.site.up, step))


@pytest.fixture
def worker(tmp_path: Path, pulumi: FakePulumi) -> Worker:
    return Worker(tmp_path, pulumi)


def attempt(number: int, activity: Activity = Activity.UP) -> ActivityEnvironment:
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, attempt=number, activity_type=activity.value, workflow_run_id=RUN)
    return environment


@needs_root
def test_the_result_is_that_of_the_work(worker: Worker) -> None:
    worker.pulumi.previews(preview_steps.preview(HOST))
    preview = asyncio.run(attempt(1, Activity.PREVIEW).run(worker.site.preview, worker.step))
    assert preview == Update(worker.clone.orders, worker.step).preview()


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
    with worker.clone.orders.clone.lock("north-a").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@needs_root
def test_a_failure_is_reported_without_its_traceback(worker: Worker) -> None:
    worker.pulumi.does("preview", "echo 'error: connection refused' >&2; exit 255")
    for number, non_retryable in ((1, False), (ATTEMPTS, True)):
        with pytest.raises(ApplicationError, match=r"^EngineError: error: connection refused$") as caught:
            asyncio.run(attempt(number, Activity.PREVIEW).run(worker.site.preview, worker.step))
        assert (caught.value.non_retryable, caught.value.cause) == (non_retryable, None)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"cluster": "../../outside/x"}, id="a-path"),
        pytest.param({"cluster": "/tmp/x"}, id="an-absolute-path"),  # noqa: S108
        pytest.param({"commit": "HEAD"}, id="a-branch"),
        pytest.param({"run": "another"}, id="of-another-run"),
        pytest.param({"run": ""}, id="of-an-older-release"),
        pytest.param({"phase": ""}, id="a-check-as-an-update"),
    ],
)
def test_what_is_no_order_of_the_run_touches_nothing(worker: Worker, fields: dict[str, str]) -> None:
    """S7: the answer is a failure that waits for a person; no folder, lock or note is made."""
    with pytest.raises(ApplicationError) as caught:
        asyncio.run(attempt(1).run(worker.site.up, replace(worker.step, **fields)))  # type: ignore[arg-type]
    assert (caught.value.type, caught.value.non_retryable) == ("ConfigError", True)
    assert worker.pulumi.calls() == []
    assert not (worker.clone.root / FOLDER).exists()
