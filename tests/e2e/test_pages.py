"""The pages that people open, each in a real browser: at a desk, at night, and on a phone."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from base.log_entries import entries_of
from cli.runs import chart, report
from cli.runs.timeline import timelines_of
from lab.rehearsal.report import Report
from review.html import html
from testing.browser import measure, screenshot
from testing.checkout import ROOT
from tests.unit.cli.runs.test_chart import BROKEN, MOVED
from tests.unit.review.test_markdown import SMALL, many

RUN = ROOT / "tests" / "facts" / "log" / "production.jsonl"
"""The steps of a rehearsal's `up` to production (2026-11-23)."""
GUIDE = ROOT / "docs" / "how-to" / "log-and-gather.md"
PICTURE = GUIDE.with_name("report.png")
PICTURE_PX = (1280, 760)
DESK_PX, PHONE_PX = 1280, 400
WINDOWS = {"desk": (DESK_PX, False), "night": (DESK_PX, True), "phone": (PHONE_PX, False)}


def of_a_run(_: Path) -> str:
    return report.html("prod", timelines_of(entries_of(RUN)), {}, chart.svg(MOVED))


def of_a_failed_run(_: Path) -> str:
    rows = timelines_of(entries_of(RUN))
    rows[0].errors.append(f"BmcRefusedError: {200 * 'long '}<no>")
    return report.html("prod", rows, {(rows[0].name, next(iter(rows[0].seconds))): 3}, chart.svg(BROKEN))


def of_a_rehearsal(folder: Path) -> str:
    kept = Report("site", ("master-0: boots otherwise",), folder, chart=chart.svg(MOVED))
    kept.servers = {"okd-master-0": {f"step {number}": 61.3 for number in range(9)}}
    with kept.step("pulumi up"):
        kept.prove("a second `pulumi up` " * 9, wanted="no changes", seen="no changes")
    kept.close(failed="VM runs: seen no")
    return (folder / "site" / "index.html").read_text()


PAGES: dict[str, Callable[[Path], str]] = {
    "run": of_a_run,
    "failed-run": of_a_failed_run,
    "review": lambda _: html(SMALL),
    "long-review": lambda _: html(many(60, 200, 400)),
    "rehearsal": of_a_rehearsal,
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_readable_and_loads_nothing(tmp_path: Path, name: str, window: str) -> None:
    page = tmp_path / "page.html"
    page.write_text(PAGES[name](tmp_path))
    width_px, dark = WINDOWS[window]
    figures = measure(page, width_px, dark=dark)
    assert figures["title"]
    assert figures["loaded"] == []
    assert figures["hidden_px"] <= 0, "the page is wider than its window"
    assert figures["faint"] == [], "text of a contrast below 4.5 (WCAG 2.2, AA)"
    assert len(figures["drawings"]) == (0 if "review" in name else 1 if name == "rehearsal" else 2)
    for drawing in figures["drawings"]:
        assert drawing["bars"] > 0
        assert drawing["thinnest"] >= 0.5
        assert (drawing["outside"], drawing["overlapping"]) == ([], [])


@pytest.mark.golden
def test_the_guide_shows_the_page_of_a_run(tmp_path: Path, accept_golden: bool) -> None:
    if accept_golden:
        page = tmp_path / "page.html"
        page.write_text(of_a_run(tmp_path))
        screenshot(page, PICTURE, *PICTURE_PX)
    assert struct.unpack(">4s8x4s2I", PICTURE.read_bytes()[:24]) == (b"\x89PNG", b"IHDR", *PICTURE_PX)
    assert f"({PICTURE.name})" in GUIDE.read_text()
