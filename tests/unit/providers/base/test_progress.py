"""What reaches the engine's log."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

from providers.base.progress import row, warnings

URN = "urn:pulumi:stack::project::kind::name"


class Engine(engine_pb2_grpc.EngineServicer):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def Log(self, request: Any, context: Any) -> Empty:  # noqa: N802
        self.told.append(request)
        return Empty()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A listening one, at the address that a plugin is given."""
    servicer = Engine()
    server = grpc.server(ThreadPoolExecutor(1))
    engine_pb2_grpc.add_EngineServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    monkeypatch.setattr("sys.argv", ["plugin", f"127.0.0.1:{port}"])
    yield servicer
    server.stop(None).wait()


def test_progress_goes_into_the_row_and_warnings_stay(engine: Engine) -> None:
    row(URN)("working")
    warnings(URN)("mind this")
    seen = [(each.severity, each.message, each.urn, each.ephemeral) for each in engine.told]
    assert seen == [(engine_pb2.INFO, "working", URN, True), (engine_pb2.WARNING, "mind this", URN, False)]


def test_an_engine_that_is_gone_ends_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["plugin", "127.0.0.1:1"])
    row(URN)("working")


def test_without_an_engine_it_is_a_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["pytest"])
    warnings(URN)("mind this")
    assert capfd.readouterr().err == "name: mind this\n"
