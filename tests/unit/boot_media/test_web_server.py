"""Boot ISOs on the operator's web server: they are compared over loopback."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from base.errors import ProvisioningError
from boot_media.iso import Iso
from boot_media.media_server import MediaServer
from boot_media.web_server import WebServer

DIGEST = "ab" * 32
COMMAND = "run `okd-baremetal isos prod --out <directory>`, and upload that directory to"


@pytest.fixture
def iso(tmp_path: Path) -> Iso:
    base = tmp_path / "base.iso"
    base.write_bytes(bytes(5000))
    return Iso(base, 5000, ((4, b"patch"),), DIGEST)


@pytest.fixture
def uploaded(iso: Iso) -> Iterator[str]:
    """The URL of a server that has the ISO of h0."""
    with MediaServer("127.0.0.1", 0) as server:
        yield server.publish("h0", iso)


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """Serve one answer, and yield the URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)


def folder(url: str) -> str:
    return url.removesuffix(f"/{DIGEST}/h0.iso")


def test_an_uploaded_iso_is_accepted(uploaded: str, iso: Iso) -> None:
    assert WebServer(folder(uploaded), "prod").publish("h0", iso) == uploaded


def test_a_missing_iso_is_an_error_with_the_command_that_makes_it(uploaded: str, iso: Iso) -> None:
    with pytest.raises(ProvisioningError) as caught:
        WebServer(folder(uploaded), "prod").publish("h1", iso)
    place = folder(uploaded)
    wanted = f"{place}/…/h1.iso: HTTP 404 instead of the boot ISO of h1. Fix: {COMMAND} {place}/"
    assert str(caught.value) == wanted


def test_an_iso_of_another_length_is_an_error(uploaded: str, iso: Iso) -> None:
    with pytest.raises(ProvisioningError, match=rf"5000 bytes, the boot ISO of h0 has 5001\. Fix: {COMMAND} "):
        WebServer(folder(uploaded), "prod").publish("h0", replace(iso, size=5001))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", "an unknown number of bytes, the boot ISO of h0 has", id="none"),
        pytest.param(b"HTTP/1.1 500 Oh\r\n\r\n", "HTTP 500 instead of the boot ISO of h0", id="500"),
        pytest.param(b"what?\r\n\r\n", "cannot be asked for the boot ISO of h0", id="no-http"),
        pytest.param(b"", "cannot be asked for the boot ISO of h0", id="hangs-up"),
    ],
)
def test_an_answer_without_a_length_is_one_line(iso: Iso, answer: bytes, message: str) -> None:
    with answering(answer) as url, pytest.raises(ProvisioningError, match=message) as caught:
        WebServer(url, "prod").publish("h0", iso)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "why"), [("http://127.0.0.1:1", ".*refused"), ("http://127.0.0.1:99999", ""), ("http://[1.2]", "")]
)
def test_an_unreachable_server_is_one_line(iso: Iso, url: str, why: str) -> None:
    with pytest.raises(
        ProvisioningError, match=rf"cannot be asked for the boot ISO of h0 \({why}.*Fix: correct media\.url, or have"
    ):
        WebServer(url, "prod").publish("h0", iso)


def test_what_a_web_server_sent_is_unknown() -> None:
    server = WebServer("https://web.example.com/isos/", "prod")
    url = f"https://web.example.com/isos/{DIGEST}/h0.iso"
    assert (server.sent(url), server.progress(url)) == (None, "")


def test_the_secret_path_of_an_iso_is_in_no_error(iso: Iso) -> None:
    with pytest.raises(ProvisioningError) as caught:
        WebServer("http://127.0.0.1:1/isos", "prod").publish("h0", iso)
    assert str(caught.value).startswith("http://127.0.0.1:1/isos/…/h0.iso: cannot be asked")
    assert DIGEST not in str(caught.value)


def test_a_web_server_that_does_not_answer_is_given_up(iso: Iso, timeouts: list[float | None]) -> None:
    with pytest.raises(ProvisioningError):
        WebServer("http://127.0.0.1:1/isos", "prod").publish("h0", iso)
    assert timeouts == [30]
