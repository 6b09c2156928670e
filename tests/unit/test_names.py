"""The names of the tests are short enough to read in a line of pytest's report."""

import re

from testing.checkout import ROOT

LONGEST = 70
"""Characters of a test function's name, with `test_`."""
TEST = re.compile(r"^ *(?:async +)?def +(test_\w+)", re.M)


def test_no_test_function_has_a_name_longer_than_the_limit() -> None:
    names = [
        (path.relative_to(ROOT), name)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for name in TEST.findall(path.read_text())
    ]
    assert names
    too_long = [f"{path}: {name}: {len(name)} characters" for path, name in names if len(name) > LONGEST]
    assert too_long == []
