"""The part of HTTP/1.1 that the program's clients need."""

import asyncio
import json
import socket
import struct
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol

REASONS = {status.value: status.phrase for status in HTTPStatus}


@dataclass(slots=True)
class Request:
    """One request; its names of headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def line(self) -> str:
        """`METHOD path`, by which requests are counted and matched."""
        return f"{self.method} {self.path}"

    @property
    def document(self) -> Any:
        """The body as JSON; None if it is empty or not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass(slots=True)
class Answer:
    """One answer; without a document it has no body. A document of bytes is not JSON."""

    status: int
    document: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    def body(self) -> bytes:
        """Return the document, as JSON unless it is of bytes."""
        if isinstance(self.document, bytes):
            return self.document
        return b"" if self.document is None else json.dumps(self.document).encode()


class Receiver(Protocol):
    """Receives the requests of a connection."""

    def opened(self, connection: "Connection") -> None:
        """Handle a new connection."""
        ...

    def closed(self, connection: "Connection") -> None:
        """Handle the end of a connection."""
        ...

    def receive(self, connection: "Connection", request: Request) -> None:
        """Answer a request, now or later."""
        ...


class Connection(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, receiver: Receiver) -> None:
        self.transport: asyncio.Transport
        self.unanswered = self.answered = 0
        self._receiver = receiver
        self._buffer = b""
        self._last = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._receiver.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._receiver.closed(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            after = end + 4 + int(headers.get("content-length", "0"))
            if len(self._buffer) < after:
                return
            body, self._buffer = self._buffer[end + 4 : after], self._buffer[after:]
            method, path, _ = first.split(" ")
            self._last = headers.get("connection", "").lower() == "close"
            self.unanswered += 1
            self._receiver.receive(self, Request(method, path.rstrip("/"), headers, body))

    def answer(self, answer: Answer) -> None:
        """Send an answer."""
        self.send(answer.status, answer.body(), answer.headers)

    def send(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int | None = None
    ) -> None:
        """Send an answer; `length` as in `encoded`."""
        if not self.transport.is_closing():
            self.transport.write(self.encoded(status, body, headers, length))
            self.finish()

    def encoded(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int | None = None
    ) -> bytes:
        """Return the bytes of an answer.

        Args:
            length: Value of Content-Length; None for the true length.
        """
        size = len(body) if length is None else length
        own = {"Content-Length": size, "OData-Version": "4.0"}
        if size:
            own["Content-Type"] = "application/json"
        if self._last:
            own["Connection"] = "close"
        lines = [f"{name}: {value}" for name, value in (own | (headers or {})).items()]
        return "\r\n".join([f"HTTP/1.1 {status} {REASONS.get(status, '')}", *lines, "\r\n"]).encode() + body

    def hide_end(self) -> None:
        """Do not announce that the next answer is the last one, and keep the connection open."""
        self._last = False

    def finish(self) -> None:
        """Count a complete answer, and close the connection after the last one."""
        self.unanswered -= 1
        self.answered += 1
        if self._last:
            self.transport.close()

    def reset(self) -> None:
        """End the connection with an RST."""
        wire = self.transport.get_extra_info("socket")
        if wire is not None:  # None: TLS of a client that has gone
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()
