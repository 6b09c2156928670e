"""Run the tests of all tiers beside each other: a plugin of pytest and xdist, which tests/conftest.py loads."""

from collections import Counter

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

WAITING_S = {"e2e": 900, "wire": 300}
"""Time limits of the tiers that wait more than they work, for engines and machines."""
TOGETHER = ("test_review.py",)
"""Files whose tests share a fixture that takes long to set up."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that wait first, their tiers mixed. The others run while these wait."""
    sizes, places = Counter(map(tier, items)), Counter[str]()
    order: dict[pytest.Item, float] = {}
    for item in items:
        name = tier(item)
        places[name] += 1
        order[item] = places[name] / sizes[name] if name in WAITING_S else 2
        if name in WAITING_S:
            item.add_marker(pytest.mark.timeout(WAITING_S[name]))
    items.sort(key=order.__getitem__)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> "OneByOne":
    """Return the scheduler, which applies without `--dist` too."""
    return OneByOne(config, log)


def tier(item: pytest.Item) -> str:
    """Return the name of the test's folder below tests/; empty if it is elsewhere."""
    return item.nodeid.split("/")[1] if item.nodeid.startswith("tests/") else ""


class OneByOne(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out single tests, but those of `TOGETHER` to one worker: `--dist loadgroup` has no effect on pytest 9."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, _ = nodeid.partition("::")
        return file if file.endswith(TOGETHER) else nodeid
