"""What was measured is printed at the end of the run."""

from collections.abc import Callable

import pytest

MEASURED = pytest.StashKey[list[str]]()


@pytest.fixture
def measured(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Takes a line of figures."""
    return lambda line: record_property("measured", line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The figures of the tests that passed."""
    for report in terminalreporter.getreports("passed"):
        for name, line in report.user_properties:
            if name == "measured" and report.when == "call":
                terminalreporter.write_line(f"measured: {line}")
