"""Stand in for the API server and the config server of one machine: answer 200 on /readyz and /healthz, over TLS.

A client with a certificate of the CA in CERTIFICATE can also read the files below RESOURCES by their paths.

USAGE: stand_in_api.py CERTIFICATE ANSWER_MS RESOURCES
"""

import http.server
import socket
import ssl
import sys
import threading
import time
from pathlib import Path

PATHS = {6443: "/readyz", 22623: "/healthz"}
ANSWER_S = float(sys.argv[2]) / 1000
RESOURCES = Path(sys.argv[3])


class DualStackServer(http.server.ThreadingHTTPServer):
    """Listens on all addresses of both families."""

    address_family = socket.AF_INET6
    request_queue_size = 128


class Api(http.server.BaseHTTPRequestHandler):
    """Answers the requests."""

    def do_GET(self) -> None:
        """Answer after ANSWER_MS, with 200 on the port's path."""
        time.sleep(ANSWER_S)
        status, content = self._answer()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _answer(self) -> tuple[int, bytes]:
        if self.path == PATHS[self.connection.getsockname()[1]]:
            return 200, b""
        if not self.connection.getpeercert():
            return 401, b""
        resource = RESOURCES / self.path[1:]
        return (200, resource.read_bytes()) if resource.is_file() else (404, b"")

    def log_message(self, *words: object) -> None:
        """Write no log."""


def serve(port: int) -> None:
    """Serve a port until the process ends."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    context.load_verify_locations(sys.argv[1])
    context.verify_mode = ssl.CERT_OPTIONAL
    server = DualStackServer(("::", port), Api)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()


for own_port in PATHS:
    threading.Thread(target=serve, args=(own_port,)).start()
