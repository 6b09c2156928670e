"""A JSON text nested a thousand times raises RecursionError, which is no ValueError: whoever reads one bears it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from testing.checkout import ROOMS, ROOT

OWN = {
    "cli/runs/after_run.py": "Pulumi's history",
    "cli/runs/report.py": "an output as Pulumi prints it",
    "cli/shared/stack_options.py": "options and backend as Pulumi prints them",
    "cluster/installed.py": "a value that this program has put into the state",
    "fleet/site/updates.py": "a note that the same worker has written",
    "providers/provisioner_preflight/model.py": "a value that this program has put into the state",
    "providers/server_objects/comparison.py": "an annotation of the manifest that this program makes",
}
"""Files that read only what this program or Pulumi has made, and why."""


def guarded(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield what each try statement and `suppress` catches, with the calls inside it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            caught = " ".join(ast.unparse(each.type) for each in node.handlers if each.type)
            bodies = node.body
        elif isinstance(node, ast.With):
            caught, bodies = " ".join(ast.unparse(each.context_expr) for each in node.items), node.body
        else:
            continue
        if "RecursionError" in caught or "MISSHAPEN" in caught:
            yield from (call for body in bodies for call in readers(body))


def readers(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the calls that read JSON."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("json.loads", "json.load"):
            yield node


def unguarded(text: str) -> list[int]:
    """Return the lines of a program that read JSON and do not bear a deep one."""
    if "json.load" not in text:  # to parse the whole program takes a second
        return []
    tree = ast.parse(text)
    borne = {call.lineno for call in guarded(tree)}
    return [call.lineno for call in readers(tree) if call.lineno not in borne]


def test_whoever_reads_json_bears_a_deep_one() -> None:
    files = {str(file.relative_to(ROOT)): file for room in ROOMS for file in sorted(Path(ROOT, room).rglob("*.py"))}
    found = {name for name, file in files.items() if unguarded(file.read_text())}
    assert found == {*OWN}


def test_a_reader_without_a_guard_is_found() -> None:
    assert unguarded("try:\n    json.loads(x)\nexcept ValueError:\n    pass") == [2]
    assert unguarded("try:\n    json.loads(x)\nexcept MISSHAPEN:\n    pass") == []
    assert unguarded("with suppress(ValueError, RecursionError):\n    json.loads(x)") == []
