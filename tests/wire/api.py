"""Stands in for the API server and the config server of one machine: 200 on /readyz and /healthz, by TLS.

USAGE: api.py CERTIFICATE [ANSWER_MS]
"""

import http.server
import socket
import ssl
import sys
import threading
import time

PATHS = {6443: "/readyz", 22623: "/healthz"}
ANSWER_S = float(sys.argv[2]) / 1000 if sys.argv[2:] else 0


class DualStackServer(http.server.ThreadingHTTPServer):
    """On all addresses of both families."""

    address_family = socket.AF_INET6
    request_queue_size = 128


class Api(http.server.BaseHTTPRequestHandler):
    """Answers."""

    def do_GET(self) -> None:
        """200 on the port's path, after as long as a server of this kind takes."""
        time.sleep(ANSWER_S)
        port = self.connection.getsockname()[1]
        self.send_response(200 if self.path == PATHS[port] else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words: object) -> None:
        """Say nothing."""


def serve(port: int) -> None:
    """For good."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    server = DualStackServer(("::", port), Api)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()


for each in PATHS:
    threading.Thread(target=serve, args=(each,)).start()
