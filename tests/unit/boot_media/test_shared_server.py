"""Two roles that are installed at once have one port for the media of both."""

import socket
from pathlib import Path

import pytest

from boot_media.iso import Iso
from boot_media.shared_server import shared_media_server
from tests.unit.boot_media.reader import ask


def iso_of(folder: Path, name: str) -> Iso:
    base = folder / name
    base.write_bytes(name.encode())
    return Iso(base, len(name), (), "ab" * 32)


def test_what_both_publish_is_served_until_the_last_has_ended(tmp_path: Path) -> None:
    one, other = iso_of(tmp_path, "master"), iso_of(tmp_path, "arbiter")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with shared_media_server("127.0.0.1", port) as last:
        with shared_media_server("127.0.0.1", port) as first:
            urls = {"master": first.publish("m0", one), "arbiter": last.publish("a0", other)}
            assert [ask(url)[1] for url in urls.values()] == [b"master", b"arbiter"]
        assert ask(urls["master"])[0].status == 200
    with pytest.raises(ConnectionRefusedError):
        ask(urls["arbiter"])
    with shared_media_server("127.0.0.1", port) as again:
        assert ask(again.publish("m0", one))[1] == b"master"
