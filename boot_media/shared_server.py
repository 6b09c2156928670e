"""The media server that installations of one process share: two roles may be installed at once, at one port."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from boot_media.media_server import MediaServer

_users: dict[tuple[str, int], tuple[MediaServer, int]] = {}
"""By address and port: the server, and how many use it."""
_lock = threading.Lock()


@contextmanager
def shared_media_server(address: str, port: int) -> Iterator[MediaServer]:
    """Yield the server of an address and a port; its last user closes it."""
    at = address, port
    with _lock:
        server, users = _users.get(at, (MediaServer(address, port), 0))
        _users[at] = server, users + 1
    try:
        yield server
    finally:
        with _lock:
            _, users = _users.pop(at)
            if users > 1:
                _users[at] = server, users - 1
            else:
                server.close()
