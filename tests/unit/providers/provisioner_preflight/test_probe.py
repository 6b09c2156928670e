"""The probes of the provisioner, on real sockets, files, interfaces and tools."""

import errno
import hashlib
import os
import shutil
import socket
import threading
from pathlib import Path

import pytest

from base.errors import HypervisorError
from boot_media.base_image import base_path
from boot_media.tools import cache_dir
from providers.provisioner_preflight.model import Bridge, Tool
from providers.provisioner_preflight.probe import LocalProbe
from testing.live_iso import kernel, live_iso
from testing.progress import into

CONTENT = b"an image" * 1000
AT_WORK = Bridge(is_bridge=True, up=True, linked=True)
NO_LINK = Bridge(is_bridge=True, up=True, linked=False)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def reported() -> list[str]:
    return []


@pytest.fixture
def probe(reported: list[str], tmp_path: Path) -> LocalProbe:
    return LocalProbe(into(reported), interfaces=tmp_path / "net", libvirt_s=0.3)


class TestDigest:
    """The digest of a file is cached for as long as the file is unchanged."""

    @pytest.fixture
    def image(self, tmp_path: Path) -> Path:
        path = tmp_path / "image"
        path.write_bytes(CONTENT)
        return path

    def test_a_file_is_read_once(self, probe: LocalProbe, reported: list[str], image: Path) -> None:
        assert [probe.sha256(image), probe.sha256(image)] == [SHA256] * 2
        assert reported == [f"computing a digest: {image}, 0 MiB"]
        assert len(list((cache_dir() / "digests").iterdir())) == 1

    @pytest.mark.parametrize("same", ["size", "time"])
    def test_a_changed_file_is_read_again(self, probe: LocalProbe, image: Path, same: str) -> None:
        before = image.stat()
        probe.sha256(image)
        image.write_bytes(CONTENT[::-1] if same == "size" else CONTENT * 2)
        later = before.st_mtime_ns + (same == "size")
        os.utime(image, ns=(later, later))
        assert probe.sha256(image) == hashlib.sha256(image.read_bytes()).hexdigest() != SHA256

    def test_another_file_of_the_same_size_and_time_is_read_again(self, probe: LocalProbe, image: Path) -> None:
        probe.sha256(image)
        other = image.with_name("other")
        other.write_bytes(CONTENT[::-1])
        time_ns = image.stat().st_mtime_ns
        os.utime(other, ns=(time_ns, time_ns))
        other.replace(image)
        assert probe.sha256(image) != SHA256

    def test_a_cache_that_cannot_be_written_costs_only_time(
        self, probe: LocalProbe, image: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(image))
        assert probe.sha256(image) == SHA256

    def test_a_missing_file_is_an_error_even_if_its_digest_is_cached(self, probe: LocalProbe, image: Path) -> None:
        probe.sha256(image)
        image.unlink()
        for ask in (probe.sha256, probe.read):
            with pytest.raises(FileNotFoundError):
                ask(image)

    def test_a_live_iso_names_its_architecture(self, probe: LocalProbe, image: Path) -> None:
        image.write_bytes(live_iso(kernel(0xAA64)))
        assert probe.architecture(image) == "arm64"

    def test_the_base_iso_is_found_in_the_download_cache(self, probe: LocalProbe) -> None:
        assert probe.cached(SHA256) == base_path(SHA256) == cache_dir() / "images" / SHA256


class TestFree:
    """The room for a folder that libvirt will make."""

    def test_free_space_is_that_of_the_nearest_folder_that_exists(self, probe: LocalProbe, tmp_path: Path) -> None:
        free = probe.free(tmp_path / "pools" / "okd")
        assert abs(free - shutil.disk_usage(tmp_path).free) < 2**30, "other processes write, too"
        assert not (tmp_path / "pools").exists()

    def test_a_file_where_a_folder_is_wanted_is_named(self, probe: LocalProbe, tmp_path: Path) -> None:
        (tmp_path / "pools").write_text("a file")
        with pytest.raises(NotADirectoryError) as caught:
            probe.free(tmp_path / "pools" / "okd")
        assert caught.value.filename == str(tmp_path / "pools")


class TestMediaPort:
    """The port is bound for a moment, as the media server binds it later."""

    def test_a_free_port_can_be_probed_repeatedly(self, probe: LocalProbe) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        for _ in range(3):
            probe.listen("127.0.0.1", port)

    @pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])  # noqa: S104
    def test_a_port_in_use_is_an_error(self, probe: LocalProbe, address: str) -> None:
        with socket.create_server((address, 0)) as server, pytest.raises(OSError) as caught:  # noqa: PT011
            probe.listen("127.0.0.1", server.getsockname()[1])
        assert caught.value.errno == errno.EADDRINUSE

    def test_an_address_of_another_machine_is_an_error(self, probe: LocalProbe) -> None:
        with pytest.raises(OSError) as caught:  # noqa: PT011
            probe.listen("192.0.2.1", 0)
        assert caught.value.errno == errno.EADDRNOTAVAIL

    def test_a_port_that_was_just_closed_is_free(self, probe: LocalProbe) -> None:
        """The server's own end of a closed connection waits for a minute."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            client = socket.create_connection(("127.0.0.1", port))
            server.accept()[0].close()
            assert client.recv(1) == b""
            client.close()
        probe.listen("127.0.0.1", port)


class TestBridge:
    """An interface, as /sys/class/net shows it."""

    @pytest.mark.parametrize(
        ("flags", "ports", "bridge"),
        [
            pytest.param("0x1003", {"eth0": "0", "eth1": "1"}, AT_WORK, id="at-work"),
            pytest.param("0x1003", {}, NO_LINK, id="without-a-port"),
            pytest.param(
                "0x1003",
                {"eth0": "0", "eth1": None},
                NO_LINK,
                id="without-a-link",
            ),
            pytest.param("0x1002", {"eth0": "1"}, Bridge(is_bridge=True, up=False, linked=True), id="down"),
            pytest.param("0x1003", None, Bridge(is_bridge=False, up=True, linked=False), id="no-bridge"),
        ],
    )
    def test_a_bridge_is_reported_as_its_folder_shows_it(
        self, probe: LocalProbe, flags: str, ports: dict[str, str | None] | None, bridge: Bridge
    ) -> None:
        folder = probe.interfaces / "br0"
        folder.mkdir(parents=True)
        (folder / "flags").write_text(f"{flags}\n")
        if ports is not None:
            (folder / "bridge").mkdir()
        for port, carrier in (ports or {}).items():
            (folder / "brif" / port).mkdir(parents=True)
            (probe.interfaces / port).mkdir()
            if carrier is not None:  # the carrier of an interface that is down cannot be read
                (probe.interfaces / port / "carrier").write_text(f"{carrier}\n")
        assert probe.bridge("br0") == bridge
        assert probe.bridge("br1") is None

    def test_the_loopback_of_this_machine_is_no_bridge(self) -> None:
        assert LocalProbe(print).bridge("lo") == Bridge(is_bridge=False, up=True, linked=False)


class TestCoreosInstaller:
    """coreos-installer, with the version that it prints."""

    @pytest.mark.parametrize(
        ("script", "version"),
        [("echo coreos-installer 0.26.1", "0.26.1"), ("exit 1", ""), ("kill -9 $$", "")],
        ids=["works", "fails", "crashes"],
    )
    def test_its_version_is_reported(
        self, probe: LocalProbe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, version: str
    ) -> None:
        tool = tmp_path / "coreos-installer"
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert probe.coreos_installer() == Tool(path=tool, version=version)

    def test_a_missing_tool_is_reported(
        self, probe: LocalProbe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert probe.coreos_installer() is None


class TestHypervisor:
    """libvirt, which may not answer."""

    def test_a_reachable_libvirt_is_reported(self, probe: LocalProbe) -> None:
        facts = probe.hypervisor("test:///default", "default-pool", frozenset())
        assert facts.pool is not None

    def test_an_unreachable_libvirt_is_an_error(self, probe: LocalProbe, tmp_path: Path) -> None:
        with pytest.raises(HypervisorError, match="Failed to connect socket"):
            probe.hypervisor(f"qemu+unix:///system?socket={tmp_path}/none", "default", frozenset())

    def test_a_libvirt_that_hangs_is_given_up(self, probe: LocalProbe, tmp_path: Path) -> None:
        path = tmp_path / "socket"
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(str(path))
            silent.listen()
            end = threading.Timer(5, silent.close)  # of a wait without a limit
            end.start()
            with pytest.raises(HypervisorError, match=r"libvirt is not reachable: no answer within 0\.3 s"):
                probe.hypervisor(f"qemu+unix:///system?socket={path}", "default", frozenset())
            end.cancel()
