"""The log of Pulumi's engine: which lines reach it, and in which row."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

from base.clock import SYSTEM_CLOCK
from base.progress import Progress
from providers.pulumi import plugin
from providers.pulumi.plugin import engine_address, notes, row, rows, warnings
from providers.rendered_asset.provider import RenderedAssetProvider

URN = "urn:pulumi:stack::project::kind::name"
OTHER = "urn:pulumi:stack::project::kind::other"


class Engine(engine_pb2_grpc.EngineServicer):
    """Records the log."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    def Log(self, request: Any, context: Any) -> Empty:  # noqa: N802
        self.log.append(request)
        return Empty()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A listening engine, at the address that the plugin was given."""
    servicer = Engine()
    server = grpc.server(ThreadPoolExecutor(1))
    engine_pb2_grpc.add_EngineServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    monkeypatch.setattr(SYSTEM_CLOCK, "engine", ("127.0.0.1", port))
    yield servicer
    server.stop(None).wait()


@pytest.mark.parametrize(
    ("last", "address"),
    [
        pytest.param("127.0.0.1:40123", ("127.0.0.1", 40123), id="engine"),
        pytest.param("", None, id="none"),
        pytest.param("-q", None, id="option"),
        pytest.param("/tmp/x", None, id="path"),  # noqa: S108
        pytest.param(":40123", None, id="no-host"),
        pytest.param("tests/test_x.py::test_y", None, id="test"),
    ],
)
def test_a_provider_process_works_for_the_engine_of_its_last_argument(
    monkeypatch: pytest.MonkeyPatch, last: str, address: tuple[str, int] | None
) -> None:
    assert engine_address(["plugin", last]) == address
    monkeypatch.setattr(SYSTEM_CLOCK, "engine", None)
    monkeypatch.setattr("sys.argv", ["plugin", last])
    RenderedAssetProvider().configure(Mock())
    assert SYSTEM_CLOCK.engine == address


def test_progress_is_ephemeral_in_its_row_and_warnings_and_notes_stay(engine: Engine) -> None:
    row(URN)(Progress("working"))
    warnings(URN)("mind this")
    notes(URN)("to be known")
    shown = [(line.severity, line.message, line.urn, line.ephemeral) for line in engine.log]
    assert shown == [
        (engine_pb2.INFO, "working", URN, True),
        (engine_pb2.WARNING, "mind this", URN, False),
        (engine_pb2.INFO, "to be known", URN, False),
    ]


def test_a_hosts_progress_is_in_its_own_row_or_by_name_in_the_roles(engine: Engine) -> None:
    for name in ("w0", "w1"):
        rows(URN, {"w0": OTHER}, name)(Progress("working"))
    assert [(line.message, line.urn, line.ephemeral) for line in engine.log] == [
        ("working", OTHER, True),
        ("w1: working", URN, True),
    ]


def test_work_goes_on_without_the_engines_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SYSTEM_CLOCK, "engine", ("127.0.0.1", 1))
    row(URN)(Progress("working"))


def test_without_an_engine_progress_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    warnings(URN)("mind this")
    assert capfd.readouterr().err == "name: mind this\n"


def test_an_engine_that_does_not_answer_holds_up_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = list[float | None]()

    class Stub:
        def Log(self, request: Any, timeout: float | None = None) -> None:  # noqa: N802
            limits.append(timeout)

    monkeypatch.setattr(SYSTEM_CLOCK, "engine", ("127.0.0.1", 1))
    monkeypatch.setattr(plugin, "_engine", lambda _: Stub())
    row(URN)(Progress("working"))
    assert limits == [2]
