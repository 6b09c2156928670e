"""The media server over loopback: ranges of base plus patches."""

import asyncio
import http.client
import os
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from base.errors import ProvisioningError
from boot_media import media_server as media
from boot_media.connections import Connections
from boot_media.iso import Iso
from boot_media.iso9660 import Span
from boot_media.media_server import MediaServer
from boot_media.netboot import BOOT_SCRIPT_TEXT, LiveFiles
from boot_media.published import pieces, span_of
from providers.host_provisioning.installation.scheduler import allow_open_files
from testing.live_disks import Device, run_script
from tests.unit.boot_media.reader import ask

SIZE = 10_000_000
DIGEST = "ab" * 32


@pytest.fixture(scope="module")
def iso(tmp_path_factory: pytest.TempPathFactory) -> Iso:
    base = tmp_path_factory.mktemp("media") / "base.iso"
    base.write_bytes(bytes(range(250)) * (SIZE // 250))
    return Iso(base, SIZE + 5, ((100, b"A" * 50), (150, b"B" * 10), (SIZE - 5, b"C" * 10)), DIGEST)


@pytest.fixture(scope="module")
def content(iso: Iso) -> bytes:
    whole = bytearray(iso.base.read_bytes()) + bytes(5)
    for offset, patch in iso.patches:
        whole[offset : offset + len(patch)] = patch
    return bytes(whole)


@pytest.fixture
def server() -> Iterator[MediaServer]:
    with MediaServer("127.0.0.1", 0) as server:
        yield server


@contextmanager
def reading(url: str) -> Iterator[socket.socket]:
    """Open a connection that has requested the URL and reads little at a time."""
    parts = urlsplit(url)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((parts.hostname, parts.port))
        connection.sendall(f"GET {parts.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        yield connection


def wait_until_idle() -> None:
    """Wait until the server has dropped every reader."""
    for thread in threading.enumerate():
        if "process_request" in thread.name:
            thread.join(10)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    ("header", "span"),
    [
        (None, (0, 100)),
        ("bytes=0-9", (0, 10)),
        ("Bytes=0-9", (0, 10)),
        ("BYTES = 90-", (90, 100)),
        (f"bytes=0-{'9' * 5000}", (0, 100)),
        (f"bytes={'0' * 5000}90-{'0' * 5000}99", (90, 100)),
        (f"bytes={'9' * 5000}-", None),
        (f"bytes=-{'9' * 5000}", (0, 100)),
        (f"bytes=-{'0' * 5000}", None),
        ("bytes=90-", (90, 100)),
        ("bytes=-10", (90, 100)),
        ("bytes=-1000", (0, 100)),
        ("bytes=90-1000", (90, 100)),
        ("bytes=100-", None),
        ("bytes=-0", None),
        ("bytes=9-5", None),
        ("bytes=-", (0, 100)),
        ("bytes=0-1,3-4", (0, 100)),
        ("lines=1-2", (0, 100)),
    ],
    ids=lambda value: str(value)[:20],
)
def test_the_span_that_a_range_header_requests(header: str | None, span: Span | None) -> None:
    assert span_of(header, 100) == span


@pytest.mark.parametrize("start", [0, 99, 100, 149, 150, 155, 160, 161, SIZE - 6, SIZE, SIZE + 4])
@pytest.mark.parametrize("length", [1, 2, 55, 200])
def test_pieces_cover_the_span_exactly(iso: Iso, content: bytes, start: int, length: int) -> None:
    end = min(start + length, iso.size)
    base = iso.base.read_bytes()
    got = b"".join(piece if isinstance(piece, bytes) else base[slice(*piece)] for piece in pieces(iso, (start, end)))
    assert got == content[start:end]


def test_the_whole_iso_is_served_and_counted(server: MediaServer, iso: Iso, content: bytes) -> None:
    url = server.publish("h0", iso)
    answer, body = ask(url)
    assert (answer.status, body) == (200, content)
    assert answer.getheader("Accept-Ranges") == "bytes"
    assert server.sent(url) == iso.size


def test_each_reader_is_counted_separately(server: MediaServer, iso: Iso) -> None:
    url, other = server.publish("h0", iso), server.publish("h1", iso)
    assert (server.sent(url), server.progress(url)) == (0, "")
    ask(url, Range="bytes=0-3999999", reader="127.0.0.2")
    ask(url, Range="bytes=0-999999", reader="127.0.0.3")
    ask(url, Range="bytes=3000000-5999999", reader="127.0.0.2")
    assert (server.sent(url), server.sent(other)) == (8_000_000, 0)
    assert server.progress(url) == "127.0.0.2 has read 7 of 10 MB, 127.0.0.3 has read 1 of 10 MB"


def test_the_bytes_of_a_reader_that_vanishes_are_counted(server: MediaServer, iso: Iso) -> None:
    url = server.publish("h0", iso)
    with reading(url) as rude:
        got = 0
        while got < 10_000:
            got += len(rude.recv(1000))
    wait_until_idle()
    assert 9000 < server.sent(url) < iso.size


def test_a_slow_reader_gets_all_of_it_beside_a_fast_one(server: MediaServer, iso: Iso, content: bytes) -> None:
    url = server.publish("h0", iso)
    with reading(url) as slow:
        first = slow.recv(1)
        assert ask(server.publish("h1", iso))[1] == content
        with slow.makefile("rb") as rest:
            assert (first + rest.read()).partition(b"\r\n\r\n")[2] == content


def test_a_reader_that_reads_nothing_is_dropped(
    server: MediaServer, iso: Iso, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boot_media.media_server.IDLE_S", 0.01)
    with reading(server.publish("h0", iso)) as still:
        still.recv(1)
        wait_until_idle()


def test_a_connection_times_out_after_120_s_without_a_request(
    server: MediaServer, iso: Iso, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = list[float | None]()
    answer = media._Handler.do_HEAD

    def noting(self: media._Handler) -> None:
        waits.append(self.connection.gettimeout())
        answer(self)

    monkeypatch.setattr(media._Handler, "do_HEAD", noting)
    ask(server.publish("h0", iso), "HEAD")
    assert set(waits) == {120}


def test_a_thousand_readers_at_once_each_get_their_own_iso(server: MediaServer, tmp_path: Path) -> None:
    allow_open_files()
    base = tmp_path / "base.iso"
    base.write_bytes(os.urandom(600_000))
    names = [f"h{number}" for number in range(1000)]
    isos = [Iso(base, 600_000, ((300_000, name.encode() * 1000),), DIGEST) for name in names]
    urls = [server.publish(name, iso) for name, iso in zip(names, isos, strict=True)]
    content = base.read_bytes()

    async def read(url: str, patch: bytes) -> bool:
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        await connected.wait()
        writer.write(f"GET {parts.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        _, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
        writer.close()
        return body == content[:300_000] + patch + content[300_000 + len(patch) :]

    async def read_all() -> list[bool]:
        return await asyncio.gather(*(read(url, iso.patches[0][1]) for url, iso in zip(urls, isos, strict=True)))

    connected = asyncio.Barrier(len(urls))
    assert all(asyncio.run(read_all()))
    assert sum(map(server.sent, urls)) == 1000 * 600_000


def test_a_range_is_served(server: MediaServer, iso: Iso, content: bytes) -> None:
    answer, body = ask(server.publish("h0", iso), Range="bytes=90-209")
    assert (answer.status, body) == (206, content[90:210])
    assert answer.getheader("Content-Range") == f"bytes 90-209/{iso.size}"


def test_a_range_that_covers_the_whole_iso_is_still_partial_content(server: MediaServer, iso: Iso) -> None:
    assert ask(server.publish("h0", iso), Range="bytes=0-")[0].status == 206


def test_head_has_the_size_and_sends_nothing(server: MediaServer, iso: Iso) -> None:
    url = server.publish("h0", iso)
    answer, body = ask(url, "HEAD")
    assert (answer.status, answer.getheader("Content-Length"), body) == (200, str(iso.size), b"")
    assert server.sent(url) == 0


@pytest.mark.parametrize(("first", "status"), [("9", 416), ("0", 206)])
def test_a_range_of_thousands_of_digits_is_answered(server: MediaServer, iso: Iso, first: str, status: int) -> None:
    """S15: over 4,300 digits, the connection was dropped."""
    assert ask(server.publish("h0", iso), "HEAD", Range=f"bytes={first * 5000}-")[0].status == status


def test_an_unsatisfiable_range_and_an_unknown_path_are_refused(server: MediaServer, iso: Iso) -> None:
    url = server.publish("h0", iso)
    answer, _ = ask(url, Range=f"bytes={iso.size}-")
    assert (answer.status, answer.getheader("Content-Range")) == (416, f"bytes */{iso.size}")
    assert ask(url.replace("h0", "h1"))[0].status == 404
    assert ask(url.replace(DIGEST, "../../etc"))[0].status == 404


def spelled(url: str) -> dict[str, str]:
    """Return ways to name the path of a URL in a request line, all of them equal by RFC 9112 and RFC 3986."""
    path = urlsplit(url).path
    return {
        "absolute form": url,
        "absolute form, another name of the server": f"HTTP://Media.Example:80{path}",
        "encoded": path.replace(".", "%2E").replace("-", "%2d"),
        "absolute and encoded": url.replace(".iso", "%2eiso"),
    }


def test_each_spelling_of_a_path_is_served_and_counted(server: MediaServer, iso: Iso, content: bytes) -> None:
    """HTTP-ABS."""
    url = server.publish("h-0", iso)
    for count, (name, target) in enumerate(spelled(url).items(), 1):
        answer, body = ask(url, target=target, Range="Bytes=0-99")
        assert (answer.status, body) == (206, content[:100]), name
        assert server.sent(url) == count * 100


def test_each_spelling_of_a_path_receives_the_report(server: MediaServer) -> None:
    """HTTP-ABS."""
    url = server.report_url("cd" * 32)
    assert post(url, b"chosen", target=url) == 200
    assert server.received_report(url) == "chosen"


@pytest.mark.parametrize(
    "target", ["/../base.iso", "/%2e%2e/base.iso", "http://x/..%2fbase.iso", "http://x", "//base.iso"]
)
def test_no_spelling_of_a_path_leads_to_a_file(server: MediaServer, iso: Iso, target: str) -> None:
    assert ask(server.publish("h0", iso), target=target)[0].status == 404


def test_a_range_of_an_older_iso_gets_the_changed_iso_in_full(server: MediaServer, iso: Iso) -> None:
    answer, _ = ask(server.publish("h0", iso), **{"Range": "bytes=0-9", "If-Range": '"old"'})
    assert answer.status == 200


@contextmanager
def opened(url: str, number: int, begin: bytes = b"") -> Iterator[list[socket.socket]]:
    """Open connections, one after the other, that send the beginning of a request and then nothing."""
    with ExitStack() as stack:
        connections = list[socket.socket]()
        for _ in range(number):
            connections.append(
                stack.enter_context(socket.create_connection((urlsplit(url).hostname, urlsplit(url).port)))
            )
            connections[-1].settimeout(10)
            connections[-1].sendall(begin)
        yield connections


def open_after(connections: list[socket.socket], number: int) -> list[socket.socket]:
    """Wait until that many connections have ended, and return the others."""
    left = list(connections)
    while len(connections) - len(left) < number:
        readable, _, _ = select.select(left, [], [], 10)
        assert readable
        assert [connection.recv(1) for connection in readable] == [b""] * len(readable)
        left = [connection for connection in left if connection not in readable]
    return left


@pytest.mark.parametrize("begin", [b"", b"GET /", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nx"], ids=ascii)
@pytest.mark.parametrize("stage", ["headers", "body"])
def test_idle_connections_beyond_the_limit_end_and_no_transfer_does(
    iso: Iso, content: bytes, begin: bytes, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S15. One whose headers were sent, and whose body was about to begin, was ended as idle."""
    monkeypatch.setattr("boot_media.connections.MOST_CONNECTIONS", 6)
    flooded, end_headers = threading.Event(), media._Handler.end_headers
    if stage == "headers":
        monkeypatch.setattr(media._Handler, "end_headers", lambda it: (end_headers(it), flooded.wait(10)))
    with MediaServer("127.0.0.1", 0) as server:
        url = server.publish("h0", iso)
        with reading(url) as slow:
            first = slow.recv(1)
            while stage == "body" and not first.partition(b"\r\n\r\n")[2]:
                first += slow.recv(1)
            with opened(url, 20, begin) as idle:
                left = open_after(idle, 15)
                flooded.set()
                assert ask(url)[1] == content, "a new reader is served"
                with slow.makefile("rb") as rest:
                    assert (first + rest.read()).partition(b"\r\n\r\n")[2] == content
                ended, _, _ = select.select(left, [], [], 0)
                assert (len(left), len(ended)) == (5, 1), "the new reader's"


def test_connections_leave_most_files_to_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """S15."""
    monkeypatch.setattr("resource.getrlimit", lambda _: (1024, 1 << 20))
    assert Connections().most == 256


def test_a_client_that_goes_away_leaves_the_server_serving(server: MediaServer, iso: Iso, content: bytes) -> None:
    url = server.publish("h0", iso)
    parts = urlsplit(url)
    rude = http.client.HTTPConnection(parts.netloc, timeout=10)
    rude.request("GET", parts.path)
    rude.sock.close()
    assert ask(url)[1] == content


def post(url: str, body: bytes, target: str = "", **headers: str) -> int:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    connection.request("POST", target or parts.path, body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_last_report_of_a_host_is_one_printable_line(server: MediaServer) -> None:
    report_url, other = server.report_url("cd" * 32), server.report_url("ef" * 32)
    assert server.received_report(report_url) == ""
    assert post(report_url, b"refused earlier") == 200
    assert post(report_url, b" chosen\n/dev/sda\x1b[31m \xc3\xa4\0\r\n") == 200
    assert server.received_report(report_url) == r"chosen /dev/sda [31m \xc3\xa4"
    assert server.received_report(other) == ""


def test_only_a_short_report_is_received_and_only_at_its_url(server: MediaServer, iso: Iso) -> None:
    report_url, url = server.report_url("cd" * 32), server.publish("h0", iso)
    assert post(report_url, b"x" * 16_000) == 200
    assert post(report_url, b"y" * 16_001) == 413
    assert server.received_report(report_url) == "x" * 16_000
    assert post(url, b"chosen") == 404
    assert post(report_url.replace("cd", "ce"), b"chosen") == 404
    assert ask(report_url)[0].status == 404, "nobody reads it"


@pytest.mark.parametrize("length", ["", "-1", "x", "1e3", str(10**30), "9" * 5000, "\xb2"], ids=ascii)
def test_a_report_without_its_length_is_refused(server: MediaServer, length: str) -> None:
    """S15: over 4,300 digits, the connection was dropped."""
    assert post(server.report_url("cd" * 32), b"", **{"Content-Length": length}) == 413


def test_the_script_of_a_boot_iso_sends_its_report(server: MediaServer, tmp_path: Path) -> None:
    report_url = server.report_url("cd" * 32)
    disk = Device((8, 0), "sda", 2**40, hctl="0:0:0:0")
    for number, (hints, text) in enumerate(
        (
            (
                {"hctl": "0:0:0:0"},
                "chosen deviceName: /dev/sda, minSizeGigabytes: 1024, rotational: false, hctl: 0:0:0:0",
            ),
            (
                {"hctl": "0:0:0:1"},
                "refused no disk fits hctl: 0:0:0:1. Disks found: "
                "deviceName: /dev/sda, minSizeGigabytes: 1024, rotational: false, hctl: 0:0:0:0",
            ),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        run_script(folder, (disk,), hints, url=report_url)
        assert server.received_report(report_url) == text


def test_an_ipv6_address_is_in_brackets_in_the_url(iso: Iso, content: bytes) -> None:
    with MediaServer("::1", 0) as server:
        url = server.publish("h0", iso)
        assert url.startswith(f"http://[::1]:{server.port}/")
        assert ask(url, reader="::1")[1] == content
        assert server.progress(url) == "::1 has read 10 of 10 MB"


def test_nothing_listens_before_the_first_iso(iso: Iso) -> None:
    with MediaServer("127.0.0.1", 0) as server:
        assert server.port == 0
        url = server.publish("h0", iso)
    with pytest.raises(ConnectionRefusedError):
        ask(url)


@pytest.mark.parametrize(
    ("address", "message"),
    [("127.0.0.1", r"the port is taken.*media\.port"), ("192.0.2.1", r"no such address.*media\.address")],
    ids=["port-taken", "not-here"],
)
def test_an_address_that_cannot_be_bound_is_one_line(
    server: MediaServer, iso: Iso, address: str, message: str
) -> None:
    server.publish("h0", iso)
    with pytest.raises(ProvisioningError, match=message):
        MediaServer(address, server.port).publish("h0", iso)


LIVE = LiveFiles({"vmlinuz": (0, 120), "rootfs.img": (200, 9_000_000), "ignition.img": (9_000_000, SIZE)}, "quiet")


def status_and_body(url: str) -> tuple[int, bytes]:
    answer, body = ask(url)
    return answer.status, body


def test_the_files_of_an_iso_are_served_with_its_patches(server: MediaServer, iso: Iso, content: bytes) -> None:
    server.publish("host", replace(iso, live=LIVE))
    for name, (start, end) in LIVE.spans.items():
        answer, body = ask(f"http://127.0.0.1:{server.port}/{DIGEST}/host/{name}")
        assert (answer.status, body, answer.getheader("Content-Length")) == (
            200,
            content[start:end],
            str(end - start),
        )


def test_a_range_of_a_file_is_one_of_the_file(server: MediaServer, iso: Iso, content: bytes) -> None:
    server.publish("host", replace(iso, live=LIVE))
    url = f"http://127.0.0.1:{server.port}/{DIGEST}/host/rootfs.img"
    answer, body = ask(url, Range="bytes=5-9")
    assert (answer.status, body, answer.getheader("Content-Range")) == (206, content[205:210], "bytes 5-9/8999800")


def test_the_script_of_a_host_is_served_only_while_its_boot_is_enabled(server: MediaServer, iso: Iso) -> None:
    server.publish("host", iso)
    url = f"http://127.0.0.1:{server.port}/hosts/52-54-00-00-00-01.ipxe"
    answers = [status_and_body(url)]
    server.enable_boot("52:54:00:00:00:01", "#!ipxe\nboot\n")
    answers.append(status_and_body(url))
    server.disable_boot("52:54:00:00:00:01")
    server.disable_boot("52:54:00:00:00:01")
    answers.append(status_and_body(url))
    assert answers == [(404, b""), (200, b"#!ipxe\nboot\n"), (404, b"")]
    assert status_and_body(f"http://127.0.0.1:{server.port}/boot.ipxe") == (200, BOOT_SCRIPT_TEXT.encode())


def test_an_iso_is_withdrawn_and_served_again(server: MediaServer, iso: Iso, content: bytes) -> None:
    url = server.publish("w0", iso)
    server.withdraw("w0", iso)
    server.withdraw("w0", iso)
    assert ask(url)[0].status == 404
    assert server.publish("w0", iso) == url
    assert ask(url)[1] == content
    assert server.sent(url) == len(content)


def test_what_was_fetched_is_known_by_its_path(server: MediaServer, iso: Iso) -> None:
    server.publish("host", replace(iso, live=LIVE))
    status_and_body(f"http://127.0.0.1:{server.port}/{DIGEST}/host/vmlinuz")
    status_and_body(f"http://127.0.0.1:{server.port}/boot.ipxe")
    asked = ["boot.ipxe", f"{DIGEST}/host/vmlinuz", f"{DIGEST}/host/rootfs.img"]
    assert server.fetched(asked) == ["boot.ipxe", f"{DIGEST}/host/vmlinuz"]
