"""Ports and passwords that a server keeps in its folder."""

import socket
from pathlib import Path

import pytest

from base.errors import ConfigError
from fleet.server.settings import FILE, SERVICES, Settings


def test_a_folder_keeps_its_ports_and_passwords(tmp_path: Path) -> None:
    first = Settings.of(tmp_path)
    assert Settings.of(tmp_path) == first
    assert first.temporal_password != first.pulumi_password


def test_only_the_owner_can_read_them(tmp_path: Path) -> None:
    Settings.of(tmp_path)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [FILE]


def test_no_outgoing_connection_can_take_a_port(tmp_path: Path) -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    settings = Settings.of(tmp_path)
    names = ["postgres", "ui", *SERVICES, *(f"{name} membership" for name in SERVICES)]
    ports = {settings.port(name) for name in names}
    assert len(ports) == len(names)
    assert max(ports) < lowest


def test_a_taken_port_is_refused(tmp_path: Path) -> None:
    port = Settings.of(tmp_path).port("frontend")
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(ConfigError, match=f"^127.0.0.1:{port}: .* another process listens there.*{FILE}$"),
    ):
        Settings.of(tmp_path)


def test_no_password_is_shown(tmp_path: Path) -> None:
    settings = Settings.of(tmp_path)
    assert settings.temporal_password.get_secret_value() not in repr(settings)
