"""A link to a server that a test can cut, like a router that drops packets: no end of a connection notices."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread


class Link:
    """Passes connections to a port of loopback on to a server.

    Args:
        target: HOST:PORT of the server.
    """

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._is_whole = Event()
        self._ends = list[socket.socket]()
        self._passing = list[Thread]()
        self.restore()

    def cut(self) -> None:
        """Pass nothing on."""
        self._is_whole.clear()

    def restore(self) -> None:
        """Pass everything on, beginning with the data sent meanwhile."""
        self._is_whole.set()

    def serve(self) -> None:
        """Accept connections until `stop`."""
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._ends.append(near)
                far = socket.create_connection(self._target)
                self._ends.append(far)
                for ends in ((near, far), (far, near)):
                    self._passing.append(Thread(target=self._pass_on, args=ends))
                    self._passing[-1].start()

    def stop(self) -> None:
        """Accept no more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.restore()

    def close(self) -> None:
        """End all connections, once `serve` has ended."""
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._passing:
            thread.join()
        for end in self._ends:
            end.close()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while content := source.recv(1 << 16):
                self._is_whole.wait()
                sink.sendall(content)
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def link_to(target: str) -> Iterator[Link]:
    """Run a link to a server."""
    link = Link(target)
    thread = Thread(target=link.serve)
    thread.start()
    try:
        yield link
    finally:
        link.stop()
        thread.join()
        link.close()
