"""The files that the rehearsal keeps."""

from pathlib import Path

import pytest

from lab.rehearsal.report import Report


def test_a_kept_file_is_named_and_takes_the_place_of_an_earlier_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report(tmp_path / "report")
    report.keep("handoff.svg", "<svg>an earlier and longer one</svg>\n")
    report.keep("handoff.svg", "<svg/>\n")
    assert (tmp_path / "report" / "handoff.svg").read_text() == "<svg/>\n"
    assert capsys.readouterr().out.splitlines() == ["    kept: report/handoff.svg"] * 2
