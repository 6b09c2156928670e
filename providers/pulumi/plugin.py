"""Lines from a provider's process to the display of the Pulumi engine, and to the log of the run."""

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

from base import log
from base.clock import SYSTEM_CLOCK
from base.errors import one_line
from base.log_entries import Event
from base.progress import Progress, Report, Say
from base.shown import short

LONGEST_LINE = 20_000
"""Characters; the names of a thousand hosts have fewer."""


def engine_address(arguments: Sequence[str]) -> tuple[str, int] | None:
    """Return the engine's address from the arguments of a provider process, the last of which it is."""
    host, _, port = arguments[-1].rpartition(":")
    return (host, int(port)) if host and port.isdigit() else None


def row(urn: str) -> Report:
    """Return a reporter that writes to the Info column of the resource `urn`."""
    return _row(urn, "")


def rows(urn: str, urns: Mapping[str, str], name: str) -> Report:
    """Return a reporter that writes to the row that `urns` has for `name`.

    Without one, it writes lines that begin with `name` to the row of `urn`.
    """
    own = urns.get(name)
    return row(own) if own else _row(urn, f"{name}: ")


def notes(urn: str) -> Say:
    """Return a reporter of lines that stay visible below the resources after the run, also in a `preview --diff`."""
    return _lines(urn, Event.INFO)


def warnings(urn: str) -> Say:
    """Return a reporter of warnings that stay visible below the resources after the run."""
    return _lines(urn, Event.WARNING)


def _row(urn: str, prefix: str) -> Report:
    show = _display(urn, "INFO", ephemeral=True)

    def report(progress: Progress) -> None:
        log.step(progress, urn)
        show(f"{prefix}{progress}")

    return report


def _lines(urn: str, event: Event) -> Say:
    show = _display(urn, event.name, ephemeral=False)

    def say(text: str) -> None:
        line = short(text, LONGEST_LINE)
        log.line(event, line, urn)
        show(line)

    return say


def _display(urn: str, severity: str, *, ephemeral: bool) -> Say:
    """Return what writes to the engine's display; without an engine (in tests), to standard error."""
    name = urn.rsplit("::", 1)[-1]
    address = SYSTEM_CLOCK.engine
    if address is None:
        return lambda line: print(one_line(f"{name}: {line}"), file=sys.stderr, flush=True)
    stub = _engine(address)
    level = engine_pb2.LogSeverity.Value(severity)

    def show(line: str) -> None:
        request = engine_pb2.LogRequest(severity=level, message=one_line(line), urn=urn, ephemeral=ephemeral)
        try:
            stub.Log(request, timeout=2)
        except grpc.RpcError:
            # Losing a line of progress must not stop the work.
            return

    return show


@cache
def _engine(address: tuple[str, int]) -> Any:
    """Return the engine's display; all resources of a plugin share one connection."""
    return engine_pb2_grpc.EngineStub(grpc.insecure_channel(f"{address[0]}:{address[1]}"))
