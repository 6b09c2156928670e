"""Server of boot ISOs: serves base plus patches, supports Range, counts the bytes sent to each reader.

It speaks HTTP and, on the same port, HTTPS. What is published over TLS is found only there.

It also serves the files inside each ISO that a network boot needs. The iPXE script of a host, which names them, is
served only while the boot of the host is enabled. At other times iPXE finds none, and the host boots from its disk.

It receives a report from the live system of each host. Anybody who has the ISO could send one, so the server stores
only the last report of a host, up to a maximum length.

Each reader has a thread. Even for 1000 readers, the threads cost little beside sending the ISOs.
"""

import errno
import os
import select
import socket
import ssl
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any, Self

from assets.contract import BOOT_SCRIPT
from base.errors import ProvisioningError
from boot_media.certificate import ServerCertificate
from boot_media.connections import Connections
from boot_media.disk import LONGEST_REPORT
from boot_media.iso import Iso
from boot_media.iso9660 import Span
from boot_media.netboot import BOOT_SCRIPT_TEXT, script_name
from boot_media.published import Published, is_range, number_of, plain_path, span_of
from cluster.values.address import netloc
from wires.segment.netlink import family_of

CHUNK = 1024 * 1024  # bytes per system call
TLS_CHUNK = 64 * 1024  # bytes that are encrypted at once, and counted when they are sent
HANDSHAKE = b"\x16"  # the first byte of each TLS connection (RFC 8446 section 5.1), and of no HTTP request
IDLE_S = 120  # a BMC that reads nothing for this long has gone
READERS = 1024  # connections that may wait to be accepted: all BMCs begin to read at once
MB = 1_000_000


class MediaServer:
    """Serves published ISOs as `/<digest>/<host>.iso`, from the first publication until it is closed.

    The digest covers the host's Ignition config, so nobody can guess the path without it.

    Args:
        address: Address of this machine that BMCs reach.
        port: TCP port; 0 picks a free one.
    """

    def __init__(self, address: str, port: int) -> None:
        self.address, self.port = address, port
        self._published: dict[str, Published] = {}
        self._scripts = {f"/{BOOT_SCRIPT}": BOOT_SCRIPT_TEXT}
        self._sent = defaultdict[str, Counter[str]](Counter)
        self._reports: dict[str, str] = {}
        self._lock = threading.Lock()
        self._server: _HttpServer | None = None
        self._certificate: ServerCertificate | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def publish(self, host: str, iso: Iso, *, over_tls: bool = False) -> str:
        """Serve `iso` for `host`, over TLS only or by plain HTTP, and return its URL.

        Raises:
            ProvisioningError: The server cannot listen on the address or port.
        """
        path = f"/{iso.url_path(host)}"
        spans = iso.live.spans if iso.live else {}
        spans = {path: (0, iso.size)} | {f"/{iso.folder(host)}/{name}": span for name, span in spans.items()}
        with self._lock:
            self._published |= {each: Published(iso, span, over_tls) for each, span in spans.items()}
            return self._url(path, "https" if over_tls else "http")

    def certificate(self, url: str) -> str:
        """Return the PEM by which a BMC verifies the server of `url`; empty over plain HTTP."""
        return self._own_certificate().pem if url.startswith("https:") else ""

    def tls(self) -> ssl.SSLContext:
        """Return the context of connections over TLS."""
        return self._own_certificate().context

    def _own_certificate(self) -> ServerCertificate:
        with self._lock:
            if self._certificate is None:
                self._certificate = ServerCertificate.of(self.address)
            return self._certificate

    def withdraw(self, host: str, iso: Iso) -> None:
        """Stop serving `iso` for `host`: firmware that would fetch it again goes on to its disk."""
        with self._lock:
            self._published.pop(f"/{iso.url_path(host)}", None)

    def enable_boot(self, mac: str, script: str) -> None:
        """Serve a host's iPXE script, by the MAC of the card that it boots from."""
        with self._lock:
            self._scripts[f"/{script_name(mac)}"] = script

    def disable_boot(self, mac: str) -> None:
        """Stop serving a host's iPXE script: it boots from its disk."""
        with self._lock:
            self._scripts.pop(f"/{script_name(mac)}", None)

    def script(self, path: str) -> bytes | None:
        """Return the iPXE script at `path`, or None."""
        with self._lock:
            text = self._scripts.get(path)
        return None if text is None else text.encode()

    def report_url(self, secret: str) -> str:
        """Receive reports at a URL that cannot be guessed without the secret, and return it.

        Raises:
            ProvisioningError: The server cannot listen on the address or port.
        """
        path = f"/{secret}"
        with self._lock:
            self._reports[path] = ""
            return self._url(path)

    def received_report(self, url: str) -> str:
        """Return the last report that was sent to the URL, as one line; empty if none was."""
        with self._lock:
            return self._reports[_path(url)]

    def store_report(self, path: str, content: bytes) -> bool:
        """Store a report in place of an earlier one. Return whether reports are received at `path`."""
        text = "".join(char if char.isprintable() else " " for char in content.decode("ascii", "backslashreplace"))
        with self._lock:
            if path not in self._reports:
                return False
            self._reports[path] = " ".join(text.split())
            return True

    def sent(self, url: str) -> int:
        """Return the bytes sent of the ISO at `url`, without headers; repeated bytes count again."""
        with self._lock:
            return self._sent[_path(url)].total()

    def fetched(self, paths: Sequence[str]) -> list[str]:
        """Return the paths, without a slash before them, of which bytes were sent."""
        with self._lock:
            return [path for path in paths if f"/{path}" in self._sent]

    def progress(self, url: str) -> str:
        """Return who has read how much of the ISO at `url`: `192.0.2.9 has read 37 of 1,024 MB`; empty if nobody."""
        path = _path(url)
        with self._lock:
            return ", ".join(
                f"{reader} has read {sent / MB:,.0f} of {self._published[path].size / MB:,.0f} MB"
                for reader, sent in self._sent[path].items()
            )

    def close(self) -> None:
        """Stop serving."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def find(self, path: str, *, over_tls: bool) -> Published | None:
        """Return the ISO, or the file of one, published at `path` for such a connection, or None."""
        with self._lock:
            published = self._published.get(path)
        return None if published and published.over_tls and not over_tls else published

    def count(self, path: str, reader: str, sent: int) -> None:
        """Add `sent` bytes to those that `reader` was sent of `path`."""
        with self._lock:
            self._sent[path][reader] += sent

    def _url(self, path: str, scheme: str = "http") -> str:
        """Return the URL of a path; the server listens from now on."""
        if self._server is None:
            self._server = self._listen()
        return f"{scheme}://{netloc(self.address, self.port)}{path}"

    def _listen(self) -> "_HttpServer":
        where = f"media server {netloc(self.address, self.port)}"
        try:
            server = _HttpServer((self.address, self.port), self)
        except OSError as error:
            what, fix = str(error.strerror), ""
            if error.errno == errno.EADDRINUSE:
                what = "the port is taken"
                fix = "let the run that has it end, or set media.port to a free one (`ss -lntp` says who has which)"
            elif error.errno == errno.EADDRNOTAVAIL:
                what, fix = (
                    "no such address on this machine",
                    "set media.address to one of its own that the BMCs reach",
                )
            raise ProvisioningError(what, where=where, fix=fix) from None
        self.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        return server


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = READERS

    def __init__(self, address: tuple[str, int], media: MediaServer) -> None:
        self.media = media
        self.address_family = family_of(address[0])
        self.connections = Connections()
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that went away; the counters have what it received."""


class _Handler(BaseHTTPRequestHandler):
    server: _HttpServer
    protocol_version = "HTTP/1.1"
    server_version = "okd-baremetal"
    sys_version = ""
    timeout = IDLE_S
    disable_nagle_algorithm = True  # otherwise a small body waits for the reader's delayed ACK of the header
    over_tls = False

    def setup(self) -> None:
        """Speak TLS with a client that begins with it."""
        self.request.settimeout(self.timeout)
        self.over_tls = self.request.recv(1, socket.MSG_PEEK) == HANDSHAKE
        if self.over_tls:
            self.request = self.server.media.tls().wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        """Close a connection over TLS, which the server does not know: it closes the socket that it accepted."""
        super().finish()
        if self.over_tls:
            self.request.close()

    def __init__(self, request: socket.socket, address: Any, server: "_HttpServer") -> None:
        self.request = request
        with server.connections.opened(self):
            super().__init__(request, address, server)

    def parse_request(self) -> bool:
        """Read the request; `path` is the plain path from then on."""
        is_read = super().parse_request()
        if is_read:
            self.path = plain_path(self.path)
        return is_read

    def do_GET(self) -> None:
        """Send the ISO, or the requested part of it."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Send the headers that a GET would."""
        self._answer(with_body=False)

    def do_POST(self) -> None:
        """Receive a report."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or number_of(length) > LONGEST_REPORT:
            self.close_connection = True  # its body is still to come
            self._answer_empty(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        is_stored = self.server.media.store_report(self.path, self.rfile.read(number_of(length)))
        self._answer_empty(HTTPStatus.OK if is_stored else HTTPStatus.NOT_FOUND)

    def log_message(self, *args: Any) -> None:
        """Log nothing: standard error is the operator's screen, and the path is as good as a password."""

    def _answer(self, *, with_body: bool) -> None:
        if (script := self.server.media.script(self.path)) is not None:
            self._answer_script(script, with_body=with_body)
            return
        published = self.server.media.find(self.path, over_tls=self.over_tls)
        if published is None:
            self._answer_empty(HTTPStatus.NOT_FOUND)
            return
        etag = f'"{published.iso.sha256}"'
        requested = self.headers.get("Range") if self.headers.get("If-Range", etag) == etag else None
        span = span_of(requested, published.size)
        if span is None:
            self._answer_empty(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, f"bytes */{published.size}")
            return
        partial = is_range(requested)
        with self.server.connections.sending(self):
            self.send_response(HTTPStatus.PARTIAL_CONTENT if partial else HTTPStatus.OK)
            if partial:
                self.send_header("Content-Range", f"bytes {span[0]}-{span[1] - 1}/{published.size}")
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(span[1] - span[0]))
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("ETag", etag)
            self.end_headers()
            if with_body:
                self._send_body(published, span)

    def _send_body(self, published: Published, span: Span) -> None:
        send = self._send_encrypted if self.over_tls else self._send
        with published.iso.base.open("rb") as base, suppress(ConnectionError, TimeoutError, ssl.SSLError):
            for piece in published.pieces(span):
                send(base, piece)

    def _send(self, base: IO[bytes], piece: Span | bytes) -> None:
        """Send a piece and count every byte that was sent, even to a reader that goes away in the middle."""
        at, end = (0, len(piece)) if isinstance(piece, bytes) else piece
        writable = select.poll()
        writable.register(self.connection, select.POLLOUT)
        while at < end:
            try:
                if isinstance(piece, bytes):
                    sent = self.connection.send(piece[at:])
                else:
                    sent = os.sendfile(self.connection.fileno(), base.fileno(), at, min(CHUNK, end - at))
            except BlockingIOError:
                if not writable.poll(IDLE_S * 1000):
                    raise TimeoutError from None
                continue
            self.server.media.count(self.path, self.client_address[0], sent)
            at += sent

    def _send_encrypted(self, base: IO[bytes], piece: Span | bytes) -> None:
        """Send a piece over TLS, see `_send`."""
        at, end = (0, len(piece)) if isinstance(piece, bytes) else piece
        while at < end:
            length = min(TLS_CHUNK, end - at)
            content = piece[at : at + length] if isinstance(piece, bytes) else os.pread(base.fileno(), length, at)
            if not content:
                raise ConnectionAbortedError("the base ISO became shorter")
            self.connection.sendall(content)
            self.server.media.count(self.path, self.client_address[0], len(content))
            at += len(content)

    def _answer_script(self, script: bytes, *, with_body: bool) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(script)))
        self.end_headers()
        if with_body:
            self.wfile.write(script)
            self.server.media.count(self.path, self.client_address[0], len(script))

    def _answer_empty(self, status: HTTPStatus, content_range: str = "") -> None:
        self.send_response(status)
        if content_range:
            self.send_header("Content-Range", content_range)
        self.send_header("Content-Length", "0")
        self.end_headers()


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[3]
