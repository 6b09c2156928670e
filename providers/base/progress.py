"""What is told of a resource while it is worked on: live progress in its row, and warnings that stay."""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

Report = Callable[[str], None]
"""Takes one line: what is done now, with time spent and left."""


def row(urn: str) -> Report:
    """A reporter into the Info column of the resource `urn`."""
    return _reporter(urn, "INFO", ephemeral=True)


def notes(urn: str) -> Report:
    """A reporter of lines that still stand below the resources when the run has ended, in a `preview --diff` too."""
    return _reporter(urn, "INFO", ephemeral=False)


def warnings(urn: str) -> Report:
    """A reporter of warnings that still stand below the resources when the run has ended."""
    return _reporter(urn, "WARNING", ephemeral=False)


def _reporter(urn: str, severity: str, *, ephemeral: bool) -> Report:
    """Into the engine's log.

    The engine listens at the address that is the plugin's last argument; where there is none (tests, other hosts)
    the line goes to standard error.
    """
    name = urn.rsplit("::", 1)[-1]
    address = sys.argv[-1]
    if not address.rpartition(":")[2].isdigit():
        return lambda line: print(f"{name}: {line}", file=sys.stderr, flush=True)

    import grpc  # noqa: PLC0415  (engine classes import this module, and must not need grpc)
    from pulumi.runtime.proto import engine_pb2  # noqa: PLC0415

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
def _engine(address: str) -> Any:
    """The engine's log; a fleet shares one connection."""
    import grpc  # noqa: PLC0415
    from pulumi.runtime.proto import engine_pb2_grpc  # noqa: PLC0415

    return engine_pb2_grpc.EngineStub(grpc.insecure_channel(address))
