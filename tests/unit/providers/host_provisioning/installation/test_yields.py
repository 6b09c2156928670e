"""What the steps of an installation must not hold while they wait."""

import ast
import inspect
from collections.abc import Iterator
from types import ModuleType

import pytest

from providers.host_provisioning.installation import boot_procedures, engine
from wires.bmc import boot_mode, steps

ALLOWED = {"self.adapters.guard", "suppress(BmcRefusedError)"}
"""A lock of the process, whichever thread holds it; and what holds nothing."""


def held_over_yields(source: str) -> Iterator[str]:
    """Yield each context that a generator enters and does not leave before it yields."""
    for block in ast.walk(ast.parse(source)):
        if isinstance(block, ast.With) and any(map(waits, block.body)):
            yield from (ast.unparse(item.context_expr) for item in block.items)


def waits(node: ast.AST) -> bool:
    if isinstance(node, ast.Yield | ast.YieldFrom):
        return True
    is_another_function = isinstance(node, ast.FunctionDef | ast.Lambda)
    return not is_another_function and any(map(waits, ast.iter_child_nodes(node)))


@pytest.mark.parametrize("module", [steps, boot_mode, engine, boot_procedures], ids=lambda module: module.__name__)
def test_no_step_holds_a_lock_or_time_limit_of_its_thread_over_a_yield(module: ModuleType) -> None:
    """A step may continue on another thread than the one on which it yielded, see `install_all`."""
    assert {*held_over_yields(inspect.getsource(module))} <= ALLOWED


@pytest.mark.parametrize(
    ("body", "held"),
    [
        pytest.param("with lock:\n  yield 1", ["lock"], id="yield"),
        pytest.param("with a, time_limit(5):\n  if x:\n   yield from steps", ["a", "time_limit(5)"], id="nested"),
        pytest.param("with lock:\n  read()\n yield 1", [], id="left-before"),
        pytest.param("with lock:\n  def inner(): yield 1", [], id="another-generator"),
    ],
)
def test_a_context_over_a_yield_is_noticed(body: str, held: list[str]) -> None:
    assert [*held_over_yields(f"def step():\n {body}")] == held
