"""The log of Pulumi's engine: which lines reach it, and in which row."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

from providers.base.plugin import notes, row, rows, warnings

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
    monkeypatch.setattr("sys.argv", ["plugin", f"127.0.0.1:{port}"])
    yield servicer
    server.stop(None).wait()


def test_progress_is_ephemeral_in_its_row_and_warnings_and_notes_stay(engine: Engine) -> None:
    row(URN)("working")
    warnings(URN)("mind this")
    notes(URN)("to be known")
    seen = [(each.severity, each.message, each.urn, each.ephemeral) for each in engine.log]
    assert seen == [
        (engine_pb2.INFO, "working", URN, True),
        (engine_pb2.WARNING, "mind this", URN, False),
        (engine_pb2.INFO, "to be known", URN, False),
    ]


def test_progress_of_a_host_goes_into_its_own_row_or_by_name_into_that_of_the_role(engine: Engine) -> None:
    for name in ("w0", "w1"):
        rows(URN, {"w0": OTHER}, name)("working")
    assert [(each.message, each.urn, each.ephemeral) for each in engine.log] == [
        ("working", OTHER, True),
        ("w1: working", URN, True),
    ]


def test_work_goes_on_without_the_engines_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["plugin", "127.0.0.1:1"])
    row(URN)("working")


def test_without_an_engine_progress_is_printed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["pytest"])
    warnings(URN)("mind this")
    assert capfd.readouterr().err == "name: mind this\n"
