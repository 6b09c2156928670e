"""docs/reference/install-config.md has a row for each key of the schema, and for no other."""

import re
from collections.abc import Iterator
from typing import Any

from cluster.install_config import InstallConfig
from testing.checkout import ROOT

REFERENCE = ROOT / "docs" / "reference" / "install-config.md"
SCHEMA: dict[str, Any] = InstallConfig.model_json_schema()


def _keys(section: dict[str, Any], above: str = "") -> Iterator[str]:
    """Return `platform.baremetal.hosts[].bmc.address` and every other key that holds a value, not a section."""
    for key, field in section["properties"].items():
        path = f"{above}{key}"
        if found := re.search(r"'\$ref': '#/\$defs/(\w+)'", repr(field)):
            brackets = "[]" if "'items':" in repr(field) else ""
            yield from _keys(SCHEMA["$defs"][found[1]], f"{path}{brackets}.")
        else:
            yield path


def _rows() -> Iterator[str]:
    """Return the keys of the reference: a heading's sections, and the first column of the table below it."""
    for chapter in re.split(r"^## ", REFERENCE.read_text(), flags=re.MULTILINE)[1:]:
        heading, _, text = chapter.partition("\n")
        for section in re.findall(r"`(.*?)`", heading) or [""]:
            for columns in re.findall(r"^\|([^|]*)\|[^|]*\|[^|]*\|[^|]*\|$", text, flags=re.MULTILINE):
                yield from (f"{section}.{key}".removeprefix(".") for key in re.findall(r"`(.*?)`", columns))


def test_each_key_has_a_row_and_each_row_a_key() -> None:
    rows = list(_rows())
    assert sorted(rows) == sorted(_keys(SCHEMA))
