"""The trace: requests and answers are written to the file that the environment names, and nowhere else."""

import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from providers.base.trace import start_trace
from providers.rendered_asset.provider import RenderedAssetProvider

LINE = r"^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} MainThread wires\.redfish\.connector GET /redfish/v1 200\n$"


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """Remove the trace from this process before and after each test."""
    logger = logging.getLogger("wires")
    assert (logger.handlers, logger.level) == ([], logging.NOTSET)
    yield
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(logging.NOTSET)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the environment names; it does not exist yet."""
    path = tmp_path / "trace.log"
    monkeypatch.setenv("OKD_BAREMETAL_TRACE", str(path))
    return path


def log() -> None:
    logging.getLogger("wires.redfish.connector").debug("GET %s 200", "/redfish/v1")
    logging.getLogger("sushy.connector").debug("Password: canary")
    logging.getLogger("urllib3.connectionpool").debug("canary")
    logging.getLogger("providers.base").debug("canary")


def test_only_requests_and_answers_are_written_to_the_file(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    start_trace()
    log()
    assert re.match(LINE, file.read_text())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("umask", [0o022, 0o000, 0o077])
def test_only_its_owner_may_read_the_file(file: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        start_trace()
    finally:
        os.umask(before)
    log()
    assert file.stat().st_mode & 0o777 == 0o600


def test_each_line_is_written_once_however_often_a_trace_is_started(file: Path) -> None:
    for _ in range(3):
        start_trace()
    log()
    assert len(file.read_text().splitlines()) == 1


def test_a_second_process_appends_to_the_file(file: Path) -> None:
    file.write_text("before\n")
    start_trace()
    log()
    assert file.read_text().startswith("before\n2")


def test_the_plugin_process_starts_the_trace(file: Path) -> None:
    RenderedAssetProvider().configure(None)  # type: ignore[arg-type]
    log()
    assert len(file.read_text().splitlines()) == 1


@pytest.mark.parametrize("value", [None, ""], ids=["unset", "empty"])
def test_without_a_file_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], value: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    if value is None:
        monkeypatch.delenv("OKD_BAREMETAL_TRACE", raising=False)
    else:
        monkeypatch.setenv("OKD_BAREMETAL_TRACE", value)
    start_trace()
    log()
    logger = logging.getLogger("wires")
    assert (logger.handlers, logger.level) == ([], logging.NOTSET)
    assert not logger.isEnabledFor(logging.DEBUG)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
