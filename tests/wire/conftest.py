"""Fixtures of the wire tests; the figures that they measure are printed at the end of the run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from testing.certificates import authority

MEASURED = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Path of a key, a certificate for both of the API's names, and `test-ca`, which signed it."""
    path: Path = tmp_path_factory.mktemp("tls") / "api.pem"
    ca = authority("test-ca")
    pair = ca.issue(["api.okd.lab.test", "api-int.okd.lab.test"])
    path.write_text(pair.key + pair.certificate + ca.pem)
    return str(path)


@pytest.fixture
def measured(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Record a line of figures."""
    return lambda line: record_property("measured", line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures of the tests that passed."""
    for report in terminalreporter.getreports("passed"):
        for name, line in report.user_properties:
            if name == "measured" and report.when == "call":
                terminalreporter.write_line(f"measured: {line}")
