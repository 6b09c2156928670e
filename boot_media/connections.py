"""The open connections of a server: bounded, so that none of this process's other work lacks files or memory."""

import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

MOST_CONNECTIONS = 4096
"""For a thousand BMCs and what they forget to close. Idle ones cost 30 kB each (measured 2026-11, Python 3.11)."""
FILES = 4
"""Open files of this process per connection: its socket, the ISO that it reads, and as many for all other work."""


class Connection(Protocol):
    """A connection, by its socket; over TLS another one than was accepted."""

    request: socket.socket


class Connections:
    """Ends the longest idle connection for a new one that is too many. Threads share it.

    A connection is idle while nothing is sent to it: also while its request, or the next one, is awaited.
    """

    def __init__(self) -> None:
        self.most = min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // FILES)
        self._idle = dict[Connection, None]()  # the longest idle one first
        self._busy = set[Connection]()
        self._lock = threading.Lock()

    @contextmanager
    def opened(self, connection: Connection) -> Iterator[None]:
        """Count a connection as open in the block."""
        with self._lock:
            self._idle[connection] = None
            if len(self._idle) + len(self._busy) > self.most:
                self._end(next(iter(self._idle)))
        try:
            yield
        finally:
            with self._lock:
                self._idle.pop(connection, None)

    @contextmanager
    def sending(self, connection: Connection) -> Iterator[None]:
        """Spare a connection in the block."""
        with self._lock:
            self._idle.pop(connection, None)
            self._busy.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._busy.remove(connection)
                self._idle[connection] = None

    def _end(self, connection: Connection) -> None:
        """Have the connection's thread read the end of its input."""
        del self._idle[connection]
        with suppress(OSError):  # it has just ended, or is about to speak TLS
            # Not the method of a TLS socket, which its thread is reading from.
            socket.socket.shutdown(connection.request, socket.SHUT_RDWR)
