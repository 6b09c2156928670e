"""What was measured is printed at the end of the run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from testing.certificates import authority

MEASURED = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Path of a key and certificate for both of the API's names, and `test-ca`, which signed it."""
    path: Path = tmp_path_factory.mktemp("tls") / "api.pem"
    ca = authority("test-ca")
    pair = ca.issue(["api.okd.lab.test", "api-int.okd.lab.test"])
    path.write_text(pair.key + pair.certificate + ca.pem)
    return str(path)


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
