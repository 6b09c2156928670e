"""The errors of a BMC: no handler depends on its place among the others."""

import ast
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from base.errors import BmcError
from testing.checkout import ROOMS, ROOT

KINDS = BmcError.__subclasses__()
NAMED = {"BmcError": BmcError} | {kind.__name__: kind for kind in KINDS}
MODULES = sorted(module for room in ROOMS for module in (ROOT / room).rglob("*.py"))


def tries_in(source: str) -> Iterator[set[str]]:
    """Yield, of each `try`, the names of the errors that it handles."""
    for statement in ast.walk(ast.parse(source)):
        if isinstance(statement, ast.Try):
            types = [handler.type for handler in statement.handlers if handler.type]
            yield {name.id for kind in types for name in ast.walk(kind) if isinstance(name, ast.Name)}


def depending_on_order(source: str) -> list[tuple[str, str]]:
    """Return the pairs of handled errors of a BMC of which one contains the other."""
    known = [[NAMED[name] for name in names if name in NAMED] for names in tries_in(source)]
    pairs = [pair for handled in known for pair in permutations(handled, 2)]
    return [(one.__name__, other.__name__) for one, other in pairs if issubclass(one, other)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(Path(module).relative_to(ROOT)))
def test_no_two_handlers_of_a_try_take_the_same_error(module: Path) -> None:
    assert depending_on_order(module.read_text()) == []


def test_a_handler_of_an_error_beside_one_of_its_base_is_noticed() -> None:
    source = "try:\n    act()\nexcept (BmcAuthError, KeyError):\n    raise\nexcept BmcError:\n    pass\n"
    assert depending_on_order(source) == [("BmcAuthError", "BmcError")]


def test_no_kind_of_bmc_error_contains_another() -> None:
    assert len(KINDS) == 5
    assert [kind for kind in KINDS if kind.__subclasses__()] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(Path(module).relative_to(ROOT)))
def test_every_bmc_error_that_is_made_says_its_kind(module: Path) -> None:
    calls = (node.func for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Call))
    assert "BmcError" not in {call.id for call in calls if isinstance(call, ast.Name)}
