"""The only reasons for which a test may skip. Any other skip fails: `make test` fetches all that machines can have.

A plugin of pytest, which tests/conftest.py loads.
"""

from collections.abc import Generator
from typing import TypeVar

import pytest

NO_ROOT = "making a network namespace needs root"
NO_MULTICAST = "no interface of this machine can do multicast"
ALLOWED = {NO_ROOT, NO_MULTICAST}

R = TypeVar("R", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a skip without an allowed reason in the set-up, call or teardown of a test."""
    return _checked((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a skip of a whole file without an allowed reason."""
    return _checked((yield))


def _checked(report: R) -> R:
    if report.skipped and isinstance(report.longrepr, tuple):
        path, line, reason = report.longrepr
        if reason.removeprefix("Skipped: ") not in ALLOWED:
            report.outcome = "failed"
            report.longrepr = (
                f"{path}:{line}: {reason}, which is not a reason in testing/skips.py. Fix: have `make test` fetch "
                "what is missing, or add the reason there if a machine cannot have it"
            )
    return report
