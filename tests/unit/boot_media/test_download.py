"""The base ISO in the cache: downloaded once, identified by its digest."""

import hashlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from base.errors import BootMediaError
from base.files import replaced
from boot_media.base_image import DISK_SOURCE, ISO_URLS, base_path
from boot_media.download import ensure_base
from cluster.values.architecture import Architecture
from testing.progress import into

ISO_URL = ISO_URLS[Architecture.AMD64]
CONTENT = b"iso" * 1_000_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.iso"
    path.write_bytes(CONTENT)
    return path


def test_the_base_iso_is_downloaded_once(source: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    path = ensure_base(ISO_URL, SHA256, source.as_uri(), into(lines))
    source.unlink()
    assert ensure_base(ISO_URL, SHA256, source.as_uri(), into(lines)) == path
    assert path == base_path(SHA256) == tmp_path / "cache" / "okd-baremetal" / "images" / SHA256
    assert path.read_bytes() == CONTENT
    assert lines[-1] == "base ISO: 2 of 2 MiB"


def test_a_download_with_another_digest_is_refused_and_removed(source: Path, tmp_path: Path) -> None:
    with pytest.raises(BootMediaError) as caught:
        ensure_base(ISO_URL, "0" * 64, source.as_uri(), lambda _: None)
    assert str(caught.value) == (
        f"{source.as_uri()}: sha256 is {SHA256}, the stack wants {'0' * 64}. Fix: set media.base_iso.sha256 to it if "
        f"{source.as_uri()} has the right image; else correct media.base_iso.url"
    )
    assert list((tmp_path / "cache" / "okd-baremetal" / "images").iterdir()) == []


@pytest.mark.parametrize(
    ("option", "pin", "place"),
    [
        (DISK_SOURCE, "provisioner.base_image.sha256", "provisioner.base_image.source"),
        (ISO_URLS[Architecture.ARM64], "media.base_iso_arm64.sha256", "media.base_iso_arm64.url"),
    ],
)
def test_a_refusal_names_the_options_of_the_image(source: Path, option: str, pin: str, place: str) -> None:
    with pytest.raises(BootMediaError) as caught:
        ensure_base(option, "0" * 64, source.as_uri(), lambda _: None)
    assert caught.value.fault.fix == f"set {pin} to it if {source.as_uri()} has the right image; else correct {place}"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "",
            r"/images/[0-9a-f]{64}: no such base ISO\. Fix: put it there, or set media\.base_iso\.url$",
        ),
        (
            "file:///none",
            r"^file:///none: cannot be downloaded \(.*\)\. "
            r"Fix: correct media\.base_iso\.url, or save the image as .*/images/[0-9a-f]{64}$",
        ),
        ("/x", r"^/x: unknown scheme\. Fix: start media\.base_iso\.url with one of https://, http://, file://$"),
    ],
    ids=["no-url", "missing", "no-scheme"],
)
def test_a_failed_download_is_one_line(url: str, message: str) -> None:
    with pytest.raises(BootMediaError, match=message) as caught:
        ensure_base(ISO_URL, SHA256, url, lambda _: None)
    assert "\n" not in str(caught.value)


@contextmanager
def answering(*answers: bytes) -> Iterator[str]:
    """Answer one request after the other, and yield the URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(10_000)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/base.iso"
        thread.join(10)


WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(CONTENT), CONTENT)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(CONTENT), CONTENT)


@pytest.mark.parametrize("answer", [WHOLE, CHUNKED + b"0\r\n\r\n"], ids=["length", "chunked"])
def test_a_web_server_sends_the_base_iso(answer: bytes) -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: /mirror.iso\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with answering(moved, answer) as url:
        path = ensure_base(ISO_URL, SHA256, url, lambda _: None)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("answer", "received"),
    [
        pytest.param(WHOLE[: -len(CONTENT) + 1_500_000], "1,500,000 of 3,000,000", id="length"),
        pytest.param(CHUNKED, r"[\d,]+ of an unknown number of", id="between-chunks"),
        pytest.param(CHUNKED[:-1_000_000], r"[\d,]+ of an unknown number of", id="in-a-chunk"),
    ],
)
def test_a_download_that_breaks_off_is_to_be_repeated(answer: bytes, received: str, tmp_path: Path) -> None:
    wanted = rf"/base\.iso: the download broke off: received {received} bytes\. Fix: run the same command again$"
    with answering(answer) as url, pytest.raises(BootMediaError, match=wanted):
        ensure_base(ISO_URL, SHA256, url, lambda _: None)
    assert list((tmp_path / "cache" / "okd-baremetal" / "images").iterdir()) == []


def test_an_answer_without_a_length_may_be_cut_off(tmp_path: Path) -> None:
    """N6: its end looks like the image's, so the digest is not to be pinned at once."""
    with answering(b"HTTP/1.0 200 OK\r\n\r\n" + CONTENT[:-1]) as url, pytest.raises(BootMediaError) as caught:
        ensure_base(ISO_URL, SHA256, url, lambda _: None)
    assert caught.value.fault.fix.startswith(
        "the server names no length, and may have sent only the first 2,999,999 bytes: run the same command again; if"
    )


@pytest.mark.parametrize(("age_s", "stays"), [(0, True), (3600, False)], ids=["at-work", "killed"])
def test_what_a_killed_download_left_is_removed(source: Path, tmp_path: Path, age_s: int, stays: bool) -> None:
    """N8: a part of an image has gigabytes."""
    images = tmp_path / "cache/okd-baremetal/images"
    images.mkdir(parents=True)
    with replaced(images / SHA256) as part:
        os.utime(part.name, (time.time() - age_s,) * 2)
        os.link(part.name, images / f"host-iso-{age_s}")
        ensure_base(ISO_URL, SHA256, source.as_uri(), lambda _: None)
        left = {path.name for path in images.iterdir()}
        assert (Path(part.name).name in left) is stays
        assert {SHA256, f"host-iso-{age_s}"} <= left
        Path(part.name).touch()


def test_a_cache_that_cannot_be_written_is_named(source: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(
        BootMediaError, match=r"/images/[0-9a-f]{64}: cannot be written \(Not a directory\)\. Fix: `df"
    ):
        ensure_base(ISO_URL, SHA256, source.as_uri(), lambda _: None)


def test_a_full_disk_is_no_fault_of_the_source(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def full(path: Path, mode: int) -> Iterator[IO[bytes]]:
        with Path("/dev/full").open("wb", buffering=0) as file:
            yield file

    monkeypatch.setattr("boot_media.download.replaced", full)
    with pytest.raises(BootMediaError, match=r"/images/[0-9a-f]{64}: cannot be written \(No space left on device\)"):
        ensure_base(ISO_URL, SHA256, source.as_uri(), lambda _: None)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "HTTP 404", id="404"),
        pytest.param(b"what?\r\n\r\n", r"the answer is not HTTP \(.*\)", id="no-http"),
    ],
)
def test_a_server_without_the_image_is_named(answer: bytes, why: str) -> None:
    with answering(answer) as url, pytest.raises(BootMediaError, match=rf"cannot be downloaded \({why}\)\. Fix"):
        ensure_base(ISO_URL, SHA256, url, lambda _: None)


def test_a_download_that_stalls_ends(timeouts: list[float | None]) -> None:
    with pytest.raises(BootMediaError):
        ensure_base(ISO_URL, SHA256, "http://127.0.0.1:1/base.iso", lambda _: None)
    assert timeouts == [60]
