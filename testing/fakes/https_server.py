"""A real HTTPS server on loopback with an answer that the test chooses."""

import re
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"


class HttpsServer:
    """Answers every request with the same pieces; if there are none, keeps the connection open without an answer."""

    def __init__(self, listener: socket.socket, context: ssl.SSLContext, answer: Iterable[bytes]) -> None:
        self.port: int = listener.getsockname()[1]
        self.requests: list[bytes] = []
        self.names: list[str] = []
        self._listener, self._context, self._answer = listener, context, answer
        self._connections: list[ssl.SSLSocket] = []
        context.sni_callback = lambda _socket, name, _context: self.names.append(name or "")

    def serve(self) -> None:
        """Serve until the listener is closed."""
        while True:
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            try:
                wire = self._context.wrap_socket(plain, server_side=True)
                self.requests.append(_request(wire))
                self._connections.append(wire)
                for piece in self._answer:
                    wire.sendall(piece)
                if self._answer:
                    wire.close()
            except OSError:
                plain.close()  # the client refused the certificate, or wants no more of the answer

    def close(self) -> None:
        """Close the listener and all connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for wire in self._connections:
            wire.close()


@contextmanager
def https_server(
    certificate: str, answer: bytes | Iterable[bytes] = OK, address: str = "127.0.0.1", client_ca: str = ""
) -> Iterator[HttpsServer]:
    """Serve on a free port of a loopback address; with `client_ca` (PEM), only to clients with its certificates.

    Without a certificate of its own, it ends each handshake with an alert.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if certificate:
        context.load_cert_chain(certificate)
    if client_ca:
        context.load_verify_locations(cadata=client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as listener:
        pieces = [answer] * bool(answer) if isinstance(answer, bytes) else answer
        server = HttpsServer(listener, context, pieces)
        thread = threading.Thread(target=server.serve)
        thread.start()
        try:
            yield server
        finally:
            server.close()
            thread.join()


def _request(wire: ssl.SSLSocket) -> bytes:
    """Return a request, with as much of its content as it announces: a server that closes early resets the answer."""
    request = wire.recv(1000)
    announced = re.search(rb"Content-Length: (\d+)", request)
    while announced and len(request.partition(b"\r\n\r\n")[2]) < int(announced[1]):
        request += wire.recv(1000)
    return request
