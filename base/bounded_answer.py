"""An answer of a server, bounded as a whole: in time, even if it trickles in, and in length."""

import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class _Limit(threading.local):
    """The limit of a thread's reads."""

    seconds: float | None = None
    until: float | None = None


_limit = _Limit()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit all reads of this thread's bounded sockets together, from the first one on, not each on its own."""
    _limit.seconds, _limit.until = seconds, None
    try:
        yield
    finally:
        _limit.seconds = None


class _Bounded(socket.socket):
    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        if _limit.seconds is not None:
            now = time.monotonic()
            _limit.until = now + _limit.seconds if _limit.until is None else _limit.until
            if _limit.until <= now:
                raise TimeoutError("no complete answer in time")
            self.settimeout(_limit.until - now)
        return super().recv_into(*args, **kwargs)


class TlsSocket(_Bounded, ssl.SSLSocket):
    """A TLS socket that keeps the thread's `time_limit`."""


class PlainSocket(_Bounded):
    """A TCP socket that keeps the thread's `time_limit`."""

    @classmethod
    def over(cls, plain: socket.socket) -> "PlainSocket":
        """Return a bounded socket for the connection of `plain`, which is detached."""
        timeout = plain.gettimeout()
        bounded = cls(fileno=plain.detach())
        bounded.settimeout(timeout)
        return bounded


def joined(pieces: Iterable[bytes], most: int) -> bytes | None:
    """Return the pieces of an answer as one, or None: they are longer than `most` bytes."""
    whole = bytearray()
    for piece in pieces:
        whole += piece
        if len(whole) > most:
            return None
    return bytes(whole)
