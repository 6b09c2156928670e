"""docs/reference/install-config.md has a row for each key of the schema, and for no other."""

import re
from collections.abc import Iterator

from testing.checkout import ROOT
from testing.support import keys

REFERENCE = ROOT / "docs" / "reference" / "install-config.md"


def _rows() -> Iterator[str]:
    """Return the keys of the reference: a heading's sections, and the first column of the table below it."""
    for chapter in re.split(r"^## ", REFERENCE.read_text(), flags=re.MULTILINE)[1:]:
        heading, _, text = chapter.partition("\n")
        for section in re.findall(r"`(.*?)`", heading) or [""]:
            for columns in re.findall(r"^\|([^|]*)\|[^|]*\|[^|]*\|[^|]*\|$", text, flags=re.MULTILINE):
                yield from (f"{section}.{key}".removeprefix(".") for key in re.findall(r"`(.*?)`", columns))


def test_each_key_has_a_row_and_each_row_a_key() -> None:
    rows = list(_rows())
    assert sorted(rows) == sorted(keys())
