"""What a rehearsal leaves of its runs and machines, so that a failure can be understood afterwards."""

import logging
from pathlib import Path

import pytest

from base.log_entries import Event
from base.log_file import RunLog
from lab.rehearsal import evidence
from lab.rehearsal.evidence import errors_of, keep_evidence
from lab.rehearsal.provisioner import note_on_kept_lab
from lab.rehearsal.report import Report
from lab.rehearsal.stack import Stack
from testing import plans
from testing.command_line import run

FIRST, LAST = "2026-11-23T045857.889Z", "2026-11-23T061500.000Z"
ERROR = "https://10.0.0.21: answered by nobody. Fix: correct bmc.address"


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    """A stack with the logs of two runs."""
    project = tmp_path / "operator" / "project"
    (project / "log").mkdir(parents=True)
    for name, text in ((FIRST, "refused"), (LAST, ERROR)):
        log = RunLog(project / "log" / "site" / f"{name}.jsonl")
        log.emit(logging.makeLogRecord({"name": __name__, "event": Event.ERROR, "machine": "m0", "msg": text}))
        log.close()
    return Stack(project, "site")


@pytest.fixture
def report(tmp_path: Path, stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Report:
    """The report of a failed rehearsal, with its evidence."""
    console = tmp_path / "m0-console.log"
    console.write_text("\x1b[1mokd-lab: waits\r\npassword: hunter2\r\n")
    monkeypatch.setattr(evidence, "console_log", {"m0": console, "m1": tmp_path / "none"}.__getitem__)
    report = Report("site", folder=tmp_path / "report")
    old = report.path / "log" / "old.jsonl"
    old.parent.mkdir(parents=True)
    old.touch()
    keep_evidence(report, stack, ["m0", "m1"])
    report.errors = errors_of(stack)
    return report


def test_logs_and_masked_consoles_are_beside_the_report(report: Report) -> None:
    """Issue 40, 8."""
    files = {str(path.relative_to(report.path)) for path in report.path.glob("*/*")}
    assert files == {f"log/{FIRST}.jsonl", f"log/{LAST}.jsonl", "console/m0.log"}
    console = (report.path / "console" / "m0.log").read_text()
    assert console.startswith("okd-lab: waits\n")
    assert "hunter2" not in console


def test_the_report_of_a_failure_has_its_error_and_leads_to_the_logs(
    report: Report, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue 40, 8."""
    report.close(failed="`pulumi up` ended with 1")
    page = (report.path / "index.html").read_text()
    assert f"m0: {ERROR}" in page
    assert "refused" not in page, "the error of an earlier run, which the rehearsal wanted"
    assert f'href="log/{LAST}.jsonl"' in page
    said = capsys.readouterr().out
    assert said.endswith("log: okd-baremetal log site --rehearsal\nFAILED: `pulumi up` ended with 1\n")


@pytest.mark.usefixtures("report")
def test_the_log_of_a_rehearsal_is_found_by_the_words_of_its_end(tmp_path: Path) -> None:
    """Issue 40, 8."""
    done = run("log", "site", "--rehearsal", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    path, line = done.stdout.splitlines()
    assert path == f"report/site/log/{LAST}.jsonl"
    assert line.endswith(ERROR)


@pytest.mark.usefixtures("report")
def test_a_stack_with_only_rehearsed_runs_names_them(tmp_path: Path) -> None:
    done = run("log", "site", folder=tmp_path)
    assert done.returncode == 2
    assert "`okd-baremetal log site --rehearsal` has the runs of its rehearsal" in done.stderr


def test_no_rehearsal_in_this_folder_is_refused(tmp_path: Path) -> None:
    done = run("log", "site", "--rehearsal", folder=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "report/site/log: no rehearsal has left a log. Fix: run this in the folder in which "
        "`okd-baremetal rehearse site` ran\n",
    )


def test_only_a_rehearsal_that_passed_says_that_the_cluster_is_up() -> None:
    """Issue 40, 8."""
    failed, passed = (note_on_kept_lab(plans.plan(), failed=failed) for failed in (True, False))
    assert "cluster is up" not in failed
    assert "as the failure left it" in failed
    assert "The cluster is up." in passed
