"""Run the tests of all tiers beside each other: a plugin of pytest and xdist, which tests/conftest.py loads."""

import gc
from collections import Counter
from collections.abc import Generator

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

WAITING_S = {"conformance": 300, "e2e": 900, "fleet": 300, "provisioner": 300, "wire": 300}
"""Time limits of the tiers that wait more than they work, for engines and machines."""
TOGETHER = tuple(f"tests/e2e/test_{name}.py" for name in ("review", "destroy", "kept_vm"))
"""The files of those tiers whose tests share a stack, which takes some seconds to make."""
FROM_THE_END = 2
"""Workers that begin with the tests that compute, which use the cores while all other workers wait."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files that stay together first, then the tests that wait, their tiers mixed, then those that work."""
    sizes, positions = Counter(map(tier, items)), Counter[str]()
    order: dict[pytest.Item, float] = {}
    for item in items:
        name = tier(item)
        positions[name] += 1
        order[item] = (
            0 if item.nodeid.startswith(TOGETHER) else positions[name] / sizes[name] if name in WAITING_S else 2
        )
        if name in WAITING_S:
            item.add_marker(pytest.mark.timeout(WAITING_S[name]))
    items.sort(key=order.__getitem__)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect a million objects, which stay, without a search for garbage, and take them out of every later one."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> "InOrder":
    """Return the scheduler, which applies without `--dist` too."""
    config.option.loadscopereorder = False
    return InOrder(config, log)


def tier(item: pytest.Item) -> str:
    """Return the name of the test's folder below tests/; empty if it is elsewhere."""
    return item.nodeid.split("/")[1] if item.nodeid.startswith("tests/") else ""


class InOrder(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out, from both ends of the order above, single tests that wait, and whole files of the others.

    The tests of a file share fixtures. `--dist loadgroup` would keep them together, but xdist 3.8 does not group the
    node ids of pytest 9.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        if node in self.nodes[:FROM_THE_END]:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)

    def _split_scope(self, nodeid: str) -> str:
        waits = nodeid.startswith(tuple(f"tests/{name}/" for name in WAITING_S))
        return nodeid if waits and not nodeid.startswith(TOGETHER) else nodeid.partition("::")[0]
