"""HTTP server for boot ISOs: serves base plus patches, supports Range, counts the bytes sent to each reader.

It also serves the files inside each ISO that a network boot needs. The iPXE script of a host, which names them, is
served only while the boot of the host is enabled. At other times iPXE finds none, and the host boots from its disk.

It receives a report from the live system of each host. Anybody who has the ISO could send one, so the server stores
only the last report of a host, up to a maximum length.

Each reader has a thread. Even for 1000 readers, the threads cost little beside sending the ISOs.
"""

import errno
import os
import re
import select
import socket
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any, Self
from urllib.parse import unquote

from assets.contract import BOOT_SCRIPT
from base.errors import ProvisioningError
from boot_media.connections import Connections
from boot_media.disk import LONGEST_REPORT
from boot_media.iso import Iso
from boot_media.iso9660 import Span
from boot_media.netboot import BOOT_SCRIPT_TEXT, script_name
from cluster.values.address import netloc
from wires.segment.netlink import family_of

CHUNK = 1024 * 1024  # bytes per system call
IDLE_S = 120  # a BMC that reads nothing for this long has gone
READERS = 1024  # connections that may wait to be accepted: all BMCs begin to read at once
MB = 1_000_000
RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)", re.IGNORECASE)  # RFC 9110 section 14.1: in any case
DIGITS = 19  # longer numbers are beyond any file; Python refuses to read those of over 4,300 digits
ORIGIN = re.compile(r"^https?://[^/?#]*", re.IGNORECASE)


def span_of(header: str | None, size: int) -> Span | None:
    """Return the span of `size` bytes that a Range header requests, or None if it cannot be satisfied.

    Without a header the span is everything. A header that is not a single byte range counts as none, as RFC 9110
    section 14.2 allows.
    """
    match = _range(header)
    if match is None:
        return 0, size
    first, last = match.groups()
    if not first:
        return (max(0, size - _number(last)), size) if _number(last) else None
    end = min(_number(last) + 1, size) if last else size
    return (_number(first), end) if _number(first) < end else None


def _number(digits: str) -> int:
    """Return a number, or one that is as much too large."""
    return int(digits.lstrip("0")[:DIGITS] or "0")


def _range(header: str | None) -> re.Match[str] | None:
    match = RANGE.fullmatch((header or "").replace(" ", ""))
    return match if match and any(match.groups()) else None


def plain_path(target: str) -> str:
    """Return the path that a request target names, in origin or absolute form, percent-encoded or not.

    RFC 9112 section 3.2.2: a server accepts the absolute form. RFC 3986 section 6.2.2.2: `%2E` is `.`. What is served
    is found by its whole path, so a decoded `/../` is a path of nothing.
    """
    return unquote(ORIGIN.sub("", target))


def pieces(iso: Iso, span: Span) -> Iterator[Span | bytes]:
    """Yield the pieces of a span in order: bytes of a patch, or a span of the base ISO."""
    at, end = span
    for offset, content in iso.patches:
        stop = offset + len(content)
        if stop <= at or offset >= end:
            continue
        if at < offset:
            yield at, offset
            at = offset
        yield content[at - offset : min(stop, end) - offset]
        at = min(stop, end)
    if at < end:
        yield at, end


@dataclass(frozen=True)
class Published:
    """A boot ISO, or one file inside it."""

    iso: Iso
    span: Span
    """Which bytes of the ISO it is."""

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.span[1] - self.span[0]

    def pieces(self, span: Span) -> Iterator[Span | bytes]:
        """Yield the pieces of a span of it, see `pieces`."""
        return pieces(self.iso, (self.span[0] + span[0], self.span[0] + span[1]))


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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def publish(self, host: str, iso: Iso) -> str:
        """Serve `iso` for `host`, and return its URL.

        Raises:
            ProvisioningError: The server cannot listen on the address or port.
        """
        path = f"/{iso.url_path(host)}"
        spans = iso.live.spans if iso.live else {}
        with self._lock:
            self._published[path] = Published(iso, (0, iso.size))
            self._published |= {f"/{iso.folder(host)}/{name}": Published(iso, span) for name, span in spans.items()}
            return self._url(path)

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

    def find(self, path: str) -> Published | None:
        """Return the ISO, or the file of one, published at `path`, or None."""
        with self._lock:
            return self._published.get(path)

    def count(self, path: str, reader: str, sent: int) -> None:
        """Add `sent` bytes to those that `reader` was sent of `path`."""
        with self._lock:
            self._sent[path][reader] += sent

    def _url(self, path: str) -> str:
        """Return the URL of a path; the server listens from now on."""
        if self._server is None:
            self._server = self._listen()
        return f"http://{netloc(self.address, self.port)}{path}"

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
        if not length.isdecimal() or _number(length) > LONGEST_REPORT:
            self.close_connection = True  # its body is still to come
            self._answer_empty(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        is_stored = self.server.media.store_report(self.path, self.rfile.read(_number(length)))
        self._answer_empty(HTTPStatus.OK if is_stored else HTTPStatus.NOT_FOUND)

    def log_message(self, *args: Any) -> None:
        """Log nothing: standard error is the operator's screen, and the path is as good as a password."""

    def _answer(self, *, with_body: bool) -> None:
        if (script := self.server.media.script(self.path)) is not None:
            self._answer_script(script, with_body=with_body)
            return
        published = self.server.media.find(self.path)
        if published is None:
            self._answer_empty(HTTPStatus.NOT_FOUND)
            return
        etag = f'"{published.iso.sha256}"'
        requested = self.headers.get("Range") if self.headers.get("If-Range", etag) == etag else None
        span = span_of(requested, published.size)
        if span is None:
            self._answer_empty(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, f"bytes */{published.size}")
            return
        partial = _range(requested) is not None
        self.send_response(HTTPStatus.PARTIAL_CONTENT if partial else HTTPStatus.OK)
        if partial:
            self.send_header("Content-Range", f"bytes {span[0]}-{span[1] - 1}/{published.size}")
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(span[1] - span[0]))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", etag)
        self.end_headers()
        if with_body:
            sending = self.server.connections.sending(self)
            with sending, published.iso.base.open("rb") as base, suppress(ConnectionError, TimeoutError):
                for piece in published.pieces(span):
                    self._send(base, piece)

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
