"""A server of the standard library that serves while a block runs."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

POLL_S = 0.05
"""How soon it notices its end."""


@contextmanager
def serving(server: socketserver.TCPServer) -> Iterator[None]:
    """Serve in a thread, and close the server at the end."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(POLL_S,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
