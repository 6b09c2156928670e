"""The report that a rehearsal prints and writes."""

import json
from pathlib import Path

import pytest

from lab.rehearsal.report import RehearsalError, Report


def test_the_report_has_what_was_proven_and_what_was_not(tmp_path: Path) -> None:
    report = Report("site", ("master-0: boots <otherwise>",), tmp_path)
    report.chart, report.servers = "<svg/>", {"master-0": {"install": 61.3}}
    with report.step("pulumi up"):
        report.prove("second up", wanted="no changes", seen="no changes")
    report.close()
    content = json.loads((tmp_path / "site" / "index.json").read_text())
    assert content["not_proven"] == ["master-0: boots <otherwise>"]
    assert (content["failed"], list(content["seconds"]), content["servers"]) == (
        "",
        ["pulumi up"],
        {"master-0": {"install": 61.3}},
    )
    assert content["proofs"] == [{"name": "second up", "wanted": "no changes", "seen": "no changes", "holds": True}]
    page = (tmp_path / "site" / "index.html").read_text()
    assert "<svg/>" in page
    assert "boots &lt;otherwise&gt;" in page
    assert "<td>master-0</td><td>install 61</td>" in page


def test_the_report_of_a_failure_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = Report("site", folder=tmp_path)
    with pytest.raises(RehearsalError, match="VM runs: seen no, wanted yes"):
        report.prove("VM runs", wanted="yes", seen="no")
    report.close(failed="VM runs: seen no")
    assert "Failed: VM runs: seen no" in (tmp_path / "site" / "index.html").read_text()
    assert "VM runs  no (yes)   <-- NOT PROVEN" in capsys.readouterr().out
