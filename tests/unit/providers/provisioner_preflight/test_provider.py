"""The shell of the preflight: what is created, refused, kept and told."""

import hashlib
import socket
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from components.preflight import wanted_of

from boot_media.iso import INSTALLER_VERSION
from lab.inventory import load_site
from lab.payload import write_payload
from payload.checks import payload_folder
from providers.base.errors import PreflightError
from providers.provisioner_preflight.provider import PreflightProvider
from testing import plans


def created(props: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a resource that was created."""
    outs = PreflightProvider().create(props).outs
    assert outs is not None
    return outs


@pytest.fixture(autouse=True)
def _installer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that is there, and a cache without a base ISO."""
    tool = tmp_path / "coreos-installer"
    tool.write_text(f"#!/bin/sh\necho coreos-installer {INSTALLER_VERSION}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.fixture
def props(listener: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the engine hands in: numbers are floats, and `null` is left out; somebody has the media port."""
    monkeypatch.chdir(tmp_path)
    write_payload(load_site(), folder := payload_folder("lab"))
    digests = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    wanted = asdict(wanted_of(plans.plan(phase="production", payload=digests), "lab"))
    here = {"media_address": "127.0.0.1", "media_port": float(listener.getsockname()[1]), "disk_gib": 2.0}
    return {**wanted, **here, "base_iso_url": "https://mirror.example.com/x.iso", "urn": "a::urn::okd-preflight"}


@pytest.fixture
def free(props: dict[str, Any], listener: socket.socket) -> dict[str, Any]:
    """The same, once the port is free."""
    listener.close()
    return props


def test_it_is_created_where_all_is_well(free: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    outs = created(free)
    (unseen,) = outs["unseen"]
    assert outs == {**free, "libvirt_version": None, "kvm": None, "warnings": [], "unseen": [unseen]}
    assert unseen.startswith("base ISO: not in the cache")
    assert capfd.readouterr().err == f"okd-preflight: ready; not looked at: {unseen}\n"


def test_a_finding_refuses_the_creation_and_the_update(props: dict[str, Any]) -> None:
    for act in (PreflightProvider().create, lambda news: PreflightProvider().update("provisioner", {}, news)):
        with pytest.raises(PreflightError, match=r"1 finding; nothing was touched\n    media\.port \d+: taken"):
            act(props)


def test_a_refresh_tells_findings_and_keeps_what_was_known(
    props: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    state = {**props, "warnings": ["an old one"], "unseen": []}
    seen = PreflightProvider().read("provisioner", state)
    assert (seen.id, seen.outs) == ("provisioner", state)
    assert capfd.readouterr().err.startswith("okd-preflight: media.port ")


def test_a_payload_that_is_not_the_pinned_one_is_a_finding(free: dict[str, Any]) -> None:
    path = payload_folder("lab") / "worker.ign"
    path.write_text(path.read_text() + " ")
    with pytest.raises(
        PreflightError, match=rf"1 finding; nothing was touched\n    {path}: .* the stack pins .*; mend: "
    ):
        PreflightProvider().create(free)


def test_a_deletion_touches_nothing(props: dict[str, Any]) -> None:
    PreflightProvider().delete("provisioner", props)


def test_libvirt_is_asked_in_phase_bootstrap(free: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    there = {"phase": "bootstrap", "libvirt_uri": "test:///default", "bridges": {}, "manage": True}
    image = {"image_source": "https://mirror.example.com/x.qcow2"}
    outs = created({**free, **there, **image})
    assert tuple(map(int, outs["libvirt_version"].split("."))) >= (9, 0, 0)
    assert outs["kvm"] is False
    (warning,) = outs["warnings"]
    assert warning.startswith("bootstrap.emulated: ")
    assert f"okd-preflight: {warning}\n" in capfd.readouterr().err
    assert len(outs["unseen"]) == 3
