"""The pages that people open, each in a real browser: at a desk, at night, and on a phone."""

import re
import struct
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from base.log_entries import entries_of
from cli.discover import page as servers_page
from cli.discover.table import SERVERS
from cli.runs import chart, report
from cli.runs.timeline import timelines_of
from cluster.inventory.model import Card, DiscoveredServer, Disk, Gap, Inventory, Unread
from lab.rehearsal.report import Report
from review.html import html
from testing.browser import dom_after, measure, screenshot
from testing.checkout import ROOT
from tests.unit.cli.runs.test_chart import BROKEN, MOVED
from tests.unit.review.test_markdown import SMALL, many

RUN = ROOT / "tests" / "facts" / "log" / "production.jsonl"
"""The steps of a rehearsal's `up` to production (2026-11-23)."""
GUIDE = ROOT / "docs" / "how-to" / "log-and-gather.md"
PICTURE = GUIDE.with_name("report.png")
PICTURE_PX = (1280, 760)
DESK_PX, PHONE_PX = 1280, 400
TB = 10**12
MARKUP = "<img src=x onerror=alert(1)>"
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


def servers() -> Inventory:
    """Three servers, one with all that a page may have to show, and one whose BMC tells markup."""
    disks = tuple(
        Disk(name=f"nvme{number}", size_bytes=(number + 1) * TB, serial=f"S{number}") for number in range(9)
    )
    card = Card(name="NIC.1", mac="52:54:00:00:00:01", link="up", speed_mbps=25_000)
    whole = DiscoveredServer(
        bmc="https://10.0.0.10/redfish/v1/Systems/1", disks=disks, cards=(card,), memory_mib=1 << 20
    )
    old = whole.changed(bmc="https://10.0.0.9/redfish/v1/Systems/1", cards=(), memory_mib=96 << 10, model=MARKUP)
    other = old.changed(bmc=f"{old.bmc}0", gaps=(Gap(what="clock", why=f"{MARKUP} {90 * 'long '}"),), memory_mib=None)
    unread = Unread(address="10.0.0.8", why=MARKUP, fix="look")
    return Inventory(dated=datetime(2026, 11, 27, tzinfo=UTC), servers=(whole, old, other), unread=(unread,))


PAGES: dict[str, Callable[[Path], str]] = {
    "run": of_a_run,
    "failed-run": of_a_failed_run,
    "review": lambda _: html(SMALL),
    "long-review": lambda _: html(many(60, 200, 400)),
    "rehearsal": of_a_rehearsal,
    "servers": lambda _: servers_page.html(servers()),
}
WITHOUT_DRAWING = ("review", "long-review", "servers")


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
    assert len(figures["drawings"]) == (0 if name in WITHOUT_DRAWING else 1 if name == "rehearsal" else 2)
    for drawing in figures["drawings"]:
        assert drawing["bars"] > 0
        assert drawing["thinnest"] >= 0.5
        assert (drawing["outside"], drawing["overlapping"]) == ([], [])


@pytest.mark.parametrize(("clicks", "order"), [(1, ["-", "96 GiB", "1024 GiB"]), (2, ["1024 GiB", "96 GiB", "-"])])
def test_a_click_on_a_head_sorts_the_servers(tmp_path: Path, clicks: int, order: list[str]) -> None:
    page = tmp_path / "page.html"
    page.write_text(servers_page.html(servers()))
    memory = list(SERVERS).index("MEMORY")
    script = f"document.querySelectorAll('.sorted button')[{memory}].click();" * clicks
    dom = dom_after(page, script, DESK_PX)
    rows = re.findall("<tr>(.*?)</tr>", dom.partition("<tbody>")[2].partition("</tbody>")[0], re.DOTALL)
    assert [re.findall("<td>(.*?)</td>", row)[memory] for row in rows] == order
    assert MARKUP not in dom


@pytest.mark.golden
def test_the_guide_shows_the_page_of_a_run(tmp_path: Path, accept_golden: bool) -> None:
    if accept_golden:
        page = tmp_path / "page.html"
        page.write_text(of_a_run(tmp_path))
        screenshot(page, PICTURE, *PICTURE_PX)
    assert struct.unpack(">4s8x4s2I", PICTURE.read_bytes()[:24]) == (b"\x89PNG", b"IHDR", *PICTURE_PX)
    assert f"({PICTURE.name})" in GUIDE.read_text()
