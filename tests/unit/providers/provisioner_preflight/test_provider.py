"""The provider of the provisioner preflight: its create, update, refresh and delete."""

import gzip
import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from base.errors import PreflightError
from boot_media.base_image import base_path
from boot_media.tools import COREOS_INSTALLER_VERSION
from payload.reading import payload_folder
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.provisioner_preflight.probe import LocalProbe
from providers.provisioner_preflight.provider import ProvisionerPreflightProvider
from testing import payloads, plans
from testing.fakes.provisioner import MANAGED, spec_with

# The first 80 bytes of what `qemu-img create -f qcow2 -o compat=0.10 x 1G` writes (QEMU 7.2.22).
QCOW2_OF_A_GIB = bytes.fromhex(
    "514649fb0000000200000000000000000000000000000010000000004000"
    "000000000000000000020000000000030000000000000001000000000001"
    "0000000000000000000000000000000000000000"
)


def created(props: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a created resource."""
    outs = ProvisionerPreflightProvider().create(props).outs
    assert outs is not None
    return outs


@pytest.fixture(autouse=True)
def _installer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An installed coreos-installer, a cache without a base ISO, and an hour at which the payload is valid."""
    tool = tmp_path / "coreos-installer"
    tool.write_text(f"#!/bin/sh\necho coreos-installer {COREOS_INSTALLER_VERSION}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(LocalProbe, "now", lambda _: payloads.NOW)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.fixture
def props(listener: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The inputs that Pulumi's engine passes: floats, no `null`; the media port is in use."""
    monkeypatch.chdir(tmp_path)
    (folder := payload_folder("lab")).mkdir(parents=True)
    digests = {}
    for name, content in payloads.payload().items():
        (folder / f"{name}.ign").write_bytes(content)
        digests[name] = hashlib.sha256(content).hexdigest()
    plan = plans.plan(phase="production", payload=digests)
    spec = ProvisionerPreflightSpec.of(plan, "lab", ["/etc/hostname"])
    wanted = spec.model_dump(mode="json") | {"payload_values": spec.payload_values.get_secret_value()}
    here = {"media_address": "127.0.0.1", "media_port": float(listener.getsockname()[1]), "disk_gib": 2.0}
    return {**wanted, **here, "base_iso_url": "https://mirror.example.com/x.iso", "urn": "a::urn::okd-preflight"}


@pytest.fixture
def free(props: dict[str, Any], listener: socket.socket) -> dict[str, Any]:
    """The same inputs with a free media port."""
    listener.close()
    return props


def test_it_is_created_on_a_good_provisioner(free: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    outs = created(free)
    (unseen,) = outs["unseen"]
    assert outs == {**free, "libvirt_version": None, "kvm": None, "warnings": [], "unseen": [unseen]}
    assert unseen.startswith("base ISO: not in the cache")
    assert capfd.readouterr().err == f"okd-preflight: ready: not probed: {unseen}\n"


def test_a_finding_refuses_the_creation_and_the_update(props: dict[str, Any]) -> None:
    provider = ProvisionerPreflightProvider()
    for act in (provider.create, lambda news: provider.update("provisioner", news, news)):
        with pytest.raises(PreflightError, match=r"1 finding; nothing was touched\n    media\.port \d+: taken"):
            act(props)


def test_a_refresh_reports_findings_and_keeps_the_state(
    props: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    state = {**props, "libvirt_version": "9.0.0", "kvm": True, "warnings": ["an old one"], "unseen": []}
    refreshed = ProvisionerPreflightProvider().read("provisioner", state)
    assert (refreshed.id, refreshed.outs) == ("provisioner", state)
    assert capfd.readouterr().err.startswith("okd-preflight: media.port ")


def test_a_payload_with_another_digest_than_the_pinned_one_is_a_fault(free: dict[str, Any]) -> None:
    path = payload_folder("lab") / "worker.ign"
    path.write_text(path.read_text() + " ")
    with pytest.raises(
        PreflightError, match=rf"1 finding; nothing was touched\n    {path}: .* the stack pins .*\. Fix: "
    ):
        ProvisionerPreflightProvider().create(free)


def test_a_deletion_probes_nothing(props: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(_: object) -> None:
        raise AssertionError("probed")

    monkeypatch.setattr("providers.provisioner_preflight.provider.LocalProbe", asked)
    ProvisionerPreflightProvider().delete("provisioner", props)
    with pytest.raises(AssertionError, match="probed"):
        ProvisionerPreflightProvider().read("provisioner", props)


@pytest.fixture
def managed(free: dict[str, Any], tmp_path: Path) -> dict[str, Any]:
    """The inputs of phase bootstrap with libvirt's test driver, and a base image by its URL."""
    image = tmp_path / "x.qcow2"
    image.write_bytes(QCOW2_OF_A_GIB)
    there = {"phase": "bootstrap", "libvirt_uri": "test:///default", "bridges": {}, "manage": True}
    digest = hashlib.sha256(image.read_bytes()).hexdigest()
    return {**free, **there, "pool_path": str(tmp_path), "image_source": image.as_uri(), "image_sha256": digest}


def test_libvirt_is_asked_in_phase_bootstrap(managed: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    outs = created(managed)
    assert tuple(map(int, outs["libvirt_version"].split("."))) >= (9, 0, 0)
    assert outs["kvm"] is False
    (warning,) = outs["warnings"]
    assert warning.startswith("bootstrap.emulated: ")
    assert f"okd-preflight: {warning}\n" in capfd.readouterr().err
    (unseen,) = outs["unseen"]
    assert unseen.startswith("base ISO: ")


def test_the_base_image_of_a_url_is_fetched_once_all_else_is_ready(managed: dict[str, Any], tmp_path: Path) -> None:
    """An upload by pulumi-libvirt that is cut off hangs `up` for ever, so the plugin gets a file."""
    with pytest.raises(PreflightError, match="1 finding; nothing was touched"):
        created({**managed, "disk_gib": 1e9})
    assert not base_path(managed["image_sha256"]).exists()
    created(managed)
    assert base_path(managed["image_sha256"]).read_bytes() == QCOW2_OF_A_GIB
    (tmp_path / "x.qcow2").unlink()
    created(managed)


def test_the_image_of_a_url_is_checked_before_anything_else_is_touched(
    managed: dict[str, Any], tmp_path: Path
) -> None:
    """N4: the release's stream links the packed image."""
    packed = gzip.compress(QCOW2_OF_A_GIB)
    (tmp_path / "x.qcow2").write_bytes(packed)
    with pytest.raises(PreflightError, match="its format is gzip, wanted qcow2"):
        created({**managed, "image_sha256": hashlib.sha256(packed).hexdigest()})


@pytest.mark.parametrize(
    ("change", "where", "fix"),
    [
        ({"pool_path": "/srv/new"}, "provisioner.pool_path: /srv/new, but ", "write /srv/okd; in production, stop "),
        ({"pool": "new"}, "bootstrap.pool: new, but ", "write default; in production, stop using them first"),
        (
            {"libvirt_uri": "qemu+ssh://root:pw@b/system"},
            "platform.baremetal.libvirtURI: changed, but ",
            "the former",
        ),
    ],
    ids=["path", "pool", "host"],
)
def test_production_moves_no_pool_that_the_stack_has_made(change: dict[str, Any], where: str, fix: str) -> None:
    """N3: in the run that begins production, and after a failed handoff, the VM still runs on its base volume."""
    old = spec_with(**MANAGED).model_dump(mode="json")
    new = {**old, "phase": "production"}
    provider = ProvisionerPreflightProvider()
    assert provider.check(old, new).failures == []
    (failure,) = provider.check(old, {**new, **change}).failures
    assert failure.reason.startswith(where)
    assert fix in failure.reason
    assert "pw" not in failure.reason
    assert provider.check(old, {**old, **change}).failures == [], "a pool that could not be made is corrected"
    assert provider.check(old, {**new, **change, "manage": False}).failures == []
    older = {name: value for name, value in old.items() if name != "pool_path"}
    assert provider.check(older, new).failures == []
