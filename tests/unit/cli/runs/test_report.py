"""`okd-baremetal report`: a run as a page."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from base.errors import ConfigError, Fault
from base.log_entries import Event
from cli.runs import report
from testing.command_line import run
from tests.unit.cli.runs.test_timeline import line

FIRST, SECOND = "2026-11-23T060000.000Z", "2026-11-23T070000.000Z"


class Reader(HTMLParser):
    """Checks that each element is closed in its turn, and notes what the page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs: the second one took longer for its first step, and failed in the other."""
    folder = tmp_path / "log" / "prod"
    folder.mkdir(parents=True)
    first = [line(0, "media", "m0"), line(4, "booting from disk", "m0"), line(9, "installed", "m0", Event.END)]
    first += [line(9, "media", "m1"), line(20, "installed", "m1", Event.END)]
    second = [
        line(0, "media", "m0"),
        line(6, "booting from disk", "m0"),
        line(8, "BmcRefusedError: <no>", "m0", Event.ERROR),
    ]
    (folder / f"{FIRST}.jsonl").write_text("\n".join(first) + "\n")
    (folder / f"{SECOND}.jsonl").write_text("\n".join(second) + "\n")

    def no_state(*_: str) -> str:
        raise ConfigError(Fault("", "no state here"))

    monkeypatch.setattr(report, "pulumi", no_state)
    return tmp_path


def cells(page: str) -> list[list[str]]:
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)][1:]


def test_the_newest_run_is_drawn_beside_the_run_before(project: Path) -> None:
    done = run("report", "prod", folder=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"report/prod.html: log/prod/{SECOND}.jsonl\n"
    page = (project / "report" / "prod.html").read_text()
    assert cells(page) == [["m0", "media", "6.0", "4.0"], ["m0", "booting from disk", "2.0", "5.0"]]
    assert '<p class="failed">Errors: m0.</p>' in page
    assert "<h3>m0</h3><pre>BmcRefusedError: &lt;no&gt;</pre>" in page
    assert "<title>m0: booting from disk, 2.0 s from 6.0 s on</title>" in page


def test_another_run_is_drawn_by_its_name(project: Path) -> None:
    assert run("report", "prod", "--run", FIRST, folder=project).returncode == 0
    page = (project / "report" / "prod.html").read_text()
    assert cells(page) == [
        ["m0", "media", "4.0", ""],
        ["m0", "booting from disk", "5.0", ""],
        ["m1", "media", "11.0", ""],
    ]
    assert "Failed" not in page


def test_the_page_is_whole_and_loads_nothing(project: Path) -> None:
    run("report", "prod", folder=project)
    reader = Reader()
    reader.feed((project / "report" / "prod.html").read_text())
    assert (reader.open, reader.loads) == ([], [])


def test_only_its_owner_may_read_it_as_the_log(project: Path) -> None:
    run("report", "prod", folder=project)
    assert (project / "report" / "prod.html").stat().st_mode & 0o777 == 0o600


def test_a_run_with_a_handoff_shows_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handoff = """{"holders": [{"holder": "vm", "at_s": 0}, {"holder": "m0", "at_s": 2}], "probes_sent": 9,
        "probes_failed": 0, "timeline": [{"state": "gate", "at_s": 0}, {"state": "done", "at_s": 3}],
        "gap_at_s": null, "gap_ms": null}"""
    monkeypatch.setattr(report, "pulumi", lambda *_: handoff)
    page, drawn = project / "report" / "prod.html", "API VIP from vm to m0; 0 of 9 probes failed"
    run("report", "prod", folder=project)
    assert drawn not in page.read_text()
    with (project / "log" / "prod" / f"{SECOND}.jsonl").open("a") as log:
        log.write(f"{line(9, 'soak', resource='VipHandoff::okd-api')}\n")
    run("report", "prod", folder=project)
    assert drawn in page.read_text()


def test_a_stack_without_a_run_is_refused(tmp_path: Path) -> None:
    done = run("report", "prod", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("log/prod: no run has left a log. Fix: ")
