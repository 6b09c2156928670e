"""The links of the documents lead to pages and headings that exist, and their tables are whole."""

import re
from pathlib import Path

import pytest

from testing.checkout import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "bench").glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"(?:^ *\|.*\n)+", re.MULTILINE)
COLUMN = re.compile(r"(?<!\\)\|")


def headings(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    lines = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    for target, anchor in LINK.findall(FENCED.sub("", page.read_text())):
        linked = (page.parent / target).resolve() if target else page
        assert linked.exists(), target
        assert not anchor or anchor in headings(linked), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_table_has_a_head_and_rows_of_its_columns(page: Path) -> None:
    """A table that a blank line parts is shown as text from there on."""
    for table in TABLE.findall(FENCED.sub("", page.read_text())):
        columns = [len(COLUMN.findall(row)) for row in table.strip().splitlines()]
        assert re.match(r" *\|.*\n *\|[-|: ]+\|$", table, re.MULTILINE), table
        assert {*columns} == {columns[0]}, table


def test_the_cells_of_the_options_fit_a_screen() -> None:
    text = (ROOT / "docs" / "reference" / "options.md").read_text().partition("\n## Addresses\n")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(lines) > 40
    for line in lines:
        assert all(len(cell.split()) <= 20 for cell in line.split(" | ")), line
