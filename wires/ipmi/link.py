"""The datagrams to one BMC and back: a protocol, and its implementation by a UDP socket."""

import socket
import time
from typing import Protocol

LONGEST = 4096


class Link(Protocol):
    """Datagrams to one BMC, and from it. Any may be lost."""

    def send(self, datagram: bytes) -> None:
        """Send a datagram."""
        ...

    def receive(self, within_s: float) -> bytes | None:
        """Return the next datagram of the BMC; None if none comes within so many seconds."""
        ...

    def close(self) -> None:
        """Receive nothing any more."""
        ...


class UdpLink:
    """Implements `Link`.

    Raises:
        OSError: The host's name is not known, or there is no route to it.
    """

    def __init__(self, host: str, port: int) -> None:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        self._socket = socket.socket(family, kind, protocol)
        try:
            self._socket.connect(address)  # so that only the BMC's datagrams are received
        except OSError:
            self._socket.close()
            raise

    def send(self, datagram: bytes) -> None:
        """Send a datagram. That its port was closed a moment ago does not count: the BMC may restart."""
        try:
            self._socket.send(datagram)
        except ConnectionRefusedError:
            self._socket.send(datagram)

    def receive(self, within_s: float) -> bytes | None:
        """Return the next datagram of the BMC; None if none comes within so many seconds."""
        until = time.monotonic() + within_s
        while (left_s := until - time.monotonic()) > 0:
            self._socket.settimeout(left_s)
            try:
                return self._socket.recv(LONGEST)
            except TimeoutError:
                break
            except ConnectionRefusedError:
                time.sleep(max(0.0, until - time.monotonic()))
        return None

    def close(self) -> None:
        """Receive nothing any more."""
        self._socket.close()
