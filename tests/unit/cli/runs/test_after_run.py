"""What follows a run: its report, and the notice to a web hook, which is a real HTTP server."""

import json
import os
import select
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from base.errors import ConfigError, Fault
from base.log_entries import Event
from cli.runs import after_run, report
from testing.fakes.web_hook import FakeWebHook, web_hook
from tests.unit.cli.runs.test_timeline import line

LOG = Path("log", "prod", "2026-11-23T060000.000Z.jsonl")
BEFORE, AFTER = "2026-11-23T05:59:59.000Z", "2026-11-23T06:00:09.000Z"
LOG_COMMAND = "`okd-baremetal log prod`"


@pytest.fixture(autouse=True)
def _a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 9 s, with an error at m1."""
    monkeypatch.chdir(tmp_path)
    LOG.parent.mkdir(parents=True)
    Path("stacks").mkdir()
    error = line(8, "BmcRefusedError: hunter2", "m1", Event.ERROR)
    lines = [
        line(0, "update", event=Event.BEGIN),
        line(1, "media", "m1"),
        error,
        line(9, "installed", "m0", Event.END),
    ]
    LOG.write_text("\n".join(lines) + "\n")


def options(**values: object) -> None:
    config = {f"okd-baremetal:{name}": value for name, value in values.items()}
    Path("stacks", "Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": config}))


@contextmanager
def ended_cli() -> Iterator[int]:
    """Yield the descriptor of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        descriptor = os.pidfd_open(process.pid)
    yield descriptor
    os.close(descriptor)


def told(
    monkeypatch: pytest.MonkeyPatch, history: Mapping[str, str], *statuses: int, **given: object
) -> tuple[FakeWebHook, list[str]]:
    """Follow a run that Pulumi's history has as `history`; return the web hook, and the notices in the log."""
    monkeypatch.setattr(after_run, "pulumi", lambda *_: json.dumps([history]))
    with web_hook(statuses) as hook, ended_cli() as cli:
        options(notify_url=hook.url, **given)
        after_run.follow(LOG, cli)
    lines = [json.loads(each) for each in LOG.read_text().splitlines()]
    return hook, [each["text"] for each in lines if each["event"] == "notice"]


@pytest.mark.parametrize(
    ("history", "given", "result", "then"),
    [
        pytest.param(
            {"kind": "update", "result": "succeeded", "endTime": AFTER},
            {},
            "up succeeded",
            ". Next: `pulumi config set phase production`, then `pulumi up`",
            id="the-first-phase-waits-for-a-person",
        ),
        pytest.param(
            {"kind": "update", "result": "succeeded", "endTime": AFTER},
            {"phase": "production"},
            "up succeeded",
            "",
            id="production",
        ),
        pytest.param(
            {"kind": "destroy", "result": "succeeded", "endTime": AFTER}, {}, "destroy succeeded", "", id="destroyed"
        ),
        pytest.param(
            {"kind": "refresh", "result": "succeeded", "endTime": AFTER}, {}, "refresh succeeded", "", id="refreshed"
        ),
        pytest.param(
            {"kind": "refresh", "result": "failed", "endTime": AFTER},
            {},
            "refresh failed",
            f". Next: {LOG_COMMAND}, then `pulumi up`",
            id="failed",
        ),
        pytest.param(
            {"kind": "update", "result": "succeeded", "endTime": BEFORE},
            {},
            "run killed",
            f". Next: {LOG_COMMAND}, `pulumi cancel`, then `pulumi up`",
            id="the-newest-of-the-history-is-an-earlier-one",
        ),
    ],
)
def test_the_web_hook_is_sent_how_the_run_ended(
    monkeypatch: pytest.MonkeyPatch, history: Mapping[str, str], given: Mapping[str, Any], result: str, then: str
) -> None:
    """Also of one that has succeeded in spite of an error, which then names no machine (S26)."""
    hook, notices = told(monkeypatch, history, **given)
    (notice,) = hook.notices
    failed = [] if result.endswith("succeeded") else ["m1"]
    text = f"prod: {result} after 9 s{''.join(f' at {name}' for name in failed)}{then}"
    assert (notice["text"], notices) == (text, [f"sent: {text}"])
    assert " ".join((notice["command"], notice["result"])) == result
    assert (notice["stack"], notice["seconds"], notice["failed"]) == ("prod", 9, failed)
    assert "hunter2" not in json.dumps(notice)
    assert hook.url not in LOG.read_text()


def test_a_preview_that_refreshes_is_no_killed_run(monkeypatch: pytest.MonkeyPatch) -> None:
    LOG.write_text(LOG.read_text().replace('"step": "update"', '"step": "read"'))
    hook, notices = told(monkeypatch, {"kind": "update", "result": "succeeded", "endTime": BEFORE})
    assert (hook.notices, notices) == ([], ["not sent: a preview, or a refresh that was killed"])


def test_a_web_hook_that_is_down_for_a_moment_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    hook, notices = told(monkeypatch, {"kind": "update", "result": "failed", "endTime": AFTER}, 503)
    assert len(hook.notices) == 1
    assert notices[0].startswith("sent: ")


@pytest.mark.parametrize("status", [302, 404])
def test_a_refusal_is_in_the_log_without_the_url(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    hook, notices = told(monkeypatch, {"kind": "update", "result": "failed", "endTime": AFTER}, status)
    assert (hook.notices, notices) == ([], [f"not sent: the web hook answered {status}"])
    assert hook.url not in LOG.read_text()


def test_without_a_web_hook_only_the_report_is_drawn() -> None:
    options(phase="production")
    before = LOG.read_text()
    with ended_cli() as cli:
        after_run.follow(LOG, cli)
    assert "Errors: m1." in Path("report", "prod.html").read_text()
    assert LOG.read_text() == before


def test_options_that_pulumi_cannot_decrypt_are_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    options(notify_url={"secure": "v1:x"})

    def refuse(_: str) -> dict[str, Any]:
        raise ConfigError(Fault("stacks/Pulumi.prod.yaml", "no passphrase"))

    monkeypatch.setattr(after_run, "stack_options", refuse)
    with ended_cli() as cli:
        after_run.follow(LOG, cli)
    assert "not sent: stacks/Pulumi.prod.yaml: no passphrase" in LOG.read_text()


def test_it_waits_for_the_end_of_the_cli(monkeypatch: pytest.MonkeyPatch) -> None:
    options()
    wait, ready = select.select, list[list[int]]()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as running:
        descriptor = os.pidfd_open(running.pid)

        def end_and_wait(*descriptors: Any) -> Any:
            assert running.stdin is not None
            running.stdin.close()
            return wait(*descriptors)

        monkeypatch.setattr("select.select", end_and_wait)
        monkeypatch.setattr(report, "write", lambda *_: ready.append(wait([descriptor], [], [], 0)[0]))
        after_run.follow(LOG, descriptor)
    os.close(descriptor)
    assert ready == [[descriptor]]
