"""Attack S9: the media server over TLS, on the port of its plain HTTP."""

import os
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from boot_media.iso import Iso
from boot_media.media_server import TLS_CHUNK, MediaServer
from boot_media.netboot import FILES, LiveFiles
from tests.unit.boot_media.reader import ask

SIZE = 300_000
PATCH = b"secret of the switch"
PATCH_AT = 70_000  # beyond the first piece that is encrypted at once
SPAN = (PATCH_AT - 10, PATCH_AT + 30)
"""The bytes of each of the files inside the ISO."""


@pytest.fixture
def iso(tmp_path: Path) -> Iso:
    base = tmp_path / "base.iso"
    base.write_bytes(os.urandom(SIZE))
    return Iso(base, SIZE, ((PATCH_AT, PATCH),), "ab" * 32, LiveFiles(dict.fromkeys(FILES, SPAN), ""))


@pytest.fixture
def content(iso: Iso) -> bytes:
    base = iso.base.read_bytes()
    return base[:PATCH_AT] + PATCH + base[PATCH_AT + len(PATCH) :]


@pytest.fixture
def server() -> Iterator[MediaServer]:
    with MediaServer("127.0.0.1", 0) as running:
        yield running


def test_an_iso_over_tls_is_served_whole_and_counted(server: MediaServer, iso: Iso, content: bytes) -> None:
    url = server.publish("h0", iso, over_tls=True)
    assert url.startswith(f"https://127.0.0.1:{server.port}/")
    answer, body = ask(url, trusts=server.certificate(url))
    assert (answer.status, body == content, server.sent(url)) == (200, True, SIZE)
    assert server.progress(url) == "127.0.0.1 has read 0 of 0 MB"


@pytest.mark.parametrize(
    "span", [(0, 10), (65_000, 70_010), (PATCH_AT + 5, PATCH_AT + 9), (PATCH_AT - 1, SIZE), (SIZE - 1, SIZE)]
)
def test_a_range_over_tls_is_the_one_of_the_iso(
    server: MediaServer, iso: Iso, content: bytes, span: tuple[int, int]
) -> None:
    url = server.publish("h0", iso, over_tls=True)
    answer, body = ask(url, trusts=server.certificate(url), Range=f"bytes={span[0]}-{span[1] - 1}")
    assert (answer.status, body) == (206, content[slice(*span)])


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_is_published_over_tls_is_nowhere_else(server: MediaServer, iso: Iso, method: str) -> None:
    """The ISO, and the files inside it."""
    url = server.publish("h0", iso, over_tls=True)
    paths = (iso.url_path("h0"), *(f"{iso.folder('h0')}/{name}" for name in FILES))
    for path in paths:
        answer, body = ask(f"http://127.0.0.1:{server.port}/{path}", method)
        assert (answer.status, body, answer.headers["Content-Length"]) == (404, b"", "0")
        assert ask(f"https://127.0.0.1:{server.port}/{path}", "HEAD", trusts=server.certificate(url))[0].status == 200
    assert server.sent(url) == 0


def test_one_port_serves_both_kinds_at_once(server: MediaServer, iso: Iso, content: bytes) -> None:
    plain, over_tls = server.publish("h0", iso), server.publish("h1", iso, over_tls=True)
    assert plain.split("/")[2] == over_tls.split("/")[2]
    for _ in range(2):
        assert ask(plain)[1] == content
        assert ask(over_tls, trusts=server.certificate(over_tls))[1] == content
    assert server.certificate(plain) == ""


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_the_certificate_is_that_of_the_address_and_of_this_run(iso: Iso, address: str) -> None:
    with MediaServer(address, 0) as server, MediaServer(address, 0) as other:
        url, elsewhere = server.publish("h0", iso, over_tls=True), other.publish("h0", iso, over_tls=True)
        assert ask(url, trusts=server.certificate(url), reader=address)[0].status == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            ask(url, trusts=other.certificate(elsewhere), reader=address)


def test_the_key_is_in_no_file_and_no_text(server: MediaServer, iso: Iso, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = list[str]()
    monkeypatch.setattr("tempfile.NamedTemporaryFile", lambda *_, **__: opened.append("a temporary file"))
    url = server.publish("h0", iso, over_tls=True)
    pem = server.certificate(url)
    assert "PRIVATE" not in pem
    assert "PRIVATE" not in f"{server.__dict__!r}"
    names = [
        os.readlink(f"/proc/self/fd/{each}")
        for each in os.listdir("/proc/self/fd")
        if Path(f"/proc/self/fd/{each}").is_symlink()
    ]
    assert not [name for name in names if "memfd:certificate" in name], "the key in memory is closed"
    assert opened == []


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x16", id="the-first-byte"),
        pytest.param(b"\x16\x03\x01\x00\x05hello", id="no-handshake"),
        pytest.param(b"\x16\x03\x01\xff\xff" + b"\0" * 70_000, id="a-large-one"),
        pytest.param(b"\x80\x2e\x01\x00\x02", id="ssl2"),
    ],
)
def test_a_broken_handshake_leaves_the_server_serving(
    server: MediaServer, iso: Iso, content: bytes, sent: bytes
) -> None:
    url = server.publish("h0", iso, over_tls=True)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        client.sendall(sent)
        assert ask(url, trusts=server.certificate(url))[1] == content, "beside the one that waits"
    assert ask(url, trusts=server.certificate(url))[1] == content


def test_a_reader_over_tls_that_goes_away_is_counted_for_what_it_was_sent(
    server: MediaServer, tmp_path: Path
) -> None:
    large = Iso(tmp_path / "large.iso", 1 << 28, (), "cd" * 32)
    large.base.touch()
    os.truncate(large.base, large.size)
    url = server.publish("h0", large, over_tls=True)
    context = ssl.create_default_context(cadata=server.certificate(url))
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as client,
    ):
        client.sendall(f"GET /{url.split('/', 3)[3]} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        received = 0
        while received < 3 * TLS_CHUNK:  # the third piece is sent after the second was counted
            received += len(client.recv(TLS_CHUNK))
    assert ask(url, "HEAD", trusts=server.certificate(url))[0].status == 200
    assert 2 * TLS_CHUNK <= server.sent(url) < large.size
