"""Tables and commands of the documents, for tests that compare them with the code, or run them."""

import re
from pathlib import Path
from textwrap import dedent

DOCS = Path(__file__).parents[1] / "docs"


def table(document: str, first: str) -> list[dict[str, str]]:
    """Return the rows of the table whose first column has the heading `first`, with the headings as keys."""
    lines = iter((DOCS / document).read_text().splitlines())
    head = next((_cells(line) for line in lines if _cells(line)[:1] == [first]), None)
    assert head, f"{document} has no table that begins with {first}"
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append(dict(zip(head, _cells(line), strict=True)))
    return rows


def commands(document: str, contained: str) -> str:
    """Return the one block of shell commands in the document that contains a text."""
    # A block of a numbered step is indented.
    blocks = re.findall(r"^( *)```console\n(.*?)^\1```$", (DOCS / document).read_text(), re.DOTALL | re.MULTILINE)
    (block,) = (block for _, block in blocks if contained in block)
    return dedent(block)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
