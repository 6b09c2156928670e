"""The names of the tests are short enough to read in a line of pytest's report."""

import ast

from testing.checkout import ROOT

LONGEST = 70
"""Characters of a test function's name, with `test_`."""


def test_no_test_function_has_a_name_longer_than_the_limit() -> None:
    names = [
        (path.relative_to(ROOT), node.name)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    assert names
    too_long = [f"{path}: {name}: {len(name)} characters" for path, name in names if len(name) > LONGEST]
    assert too_long == []
