"""The plugin process that providers run in: the engine that started it, and lines into the engine's log."""

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

from providers.base.clock import engine_address
from providers.base.progress import Report


def row(urn: str) -> Report:
    """A reporter into the Info column of the resource `urn`."""
    return _reporter(urn, "INFO", ephemeral=True)


def rows(urn: str, urns: Mapping[str, str], name: str) -> Report:
    """A reporter into the row that `urns` has for `name`; else lines with that name in the row of `urn`."""
    if own := urns.get(name):
        return row(own)
    report = row(urn)
    return lambda line: report(f"{name}: {line}")


def notes(urn: str) -> Report:
    """A reporter of lines that stay below the resources when the run has ended, in a `preview --diff` too."""
    return _reporter(urn, "INFO", ephemeral=False)


def warnings(urn: str) -> Report:
    """A reporter of warnings that stay below the resources when the run has ended."""
    return _reporter(urn, "WARNING", ephemeral=False)


def _reporter(urn: str, severity: str, *, ephemeral: bool) -> Report:
    """Into the engine's log; where no engine listens (tests, other hosts) the line goes to standard error."""
    name = urn.rsplit("::", 1)[-1]
    address = engine_address()
    if address is None:
        return lambda line: print(f"{name}: {line}", file=sys.stderr, flush=True)
    stub = _engine(address)
    level = engine_pb2.LogSeverity.Value(severity)

    def report(line: str) -> None:
        request = engine_pb2.LogRequest(severity=level, message=line, urn=urn, ephemeral=ephemeral)
        try:
            stub.Log(request, timeout=2)
        except grpc.RpcError:
            # Progress is a courtesy: work goes on without it.
            return

    return report


@cache
def _engine(address: tuple[str, int]) -> Any:
    """The engine's log; all resources of a plugin share one connection."""
    return engine_pb2_grpc.EngineStub(grpc.insecure_channel(f"{address[0]}:{address[1]}"))
