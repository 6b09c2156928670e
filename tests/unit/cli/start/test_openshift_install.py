"""What openshift-install on PATH tells of its release."""

import json
from pathlib import Path

import pytest

from cli.start.openshift_install import Image, Release, release
from cluster.values.architecture import Architecture
from testing.fakes import openshift_install


def on_path(folder: Path, script: str, patch: pytest.MonkeyPatch) -> None:
    tool = folder / "openshift-install"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    patch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_it_names_the_release_and_its_images_of_coreos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", openshift_install.put_on_path(tmp_path)["PATH"])
    found, mirror = release(), openshift_install.MIRROR
    assert found == Release(
        image=f"quay.io/okd/scos-release@sha256:{'5e' * 32}",
        isos={
            Architecture.AMD64: Image(f"{mirror}/scos-live-iso.x86_64.iso", "15" * 32),
            Architecture.ARM64: Image(f"{mirror}/scos-live-iso.aarch64.iso", "a6" * 32),
        },
        base_volumes={Architecture.AMD64: Image(f"{mirror}/scos-qemu.x86_64.qcow2.gz", "9c" * 32)},
    )


def test_without_it_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert release() is None


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("exit 1", id="fails"),
        pytest.param("echo 'release image quay.io/okd/scos-release:4.21'", id="tag-and-no-json"),
        pytest.param('test "$1" = coreos && echo "[]"; exit 0', id="json-of-another-form"),
        pytest.param('test "$1" = coreos && echo "{}"; exit 0', id="no-architectures"),
    ],
)
def test_unreadable_output_of_openshift_install_gives_an_empty_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    on_path(tmp_path, script, monkeypatch)
    assert release() == Release()


def test_an_image_packed_by_xz_is_known_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = {"location": "https://a.test/b.qcow2.xz", "sha256": "x", "uncompressed-sha256": "9c" * 32}
    artifacts = {"qemu": {"formats": {"qcow2.xz": {"disk": disk}}}}
    stream = json.dumps({"architectures": {"x86_64": {"artifacts": artifacts}}})
    on_path(tmp_path, f"test \"$1\" = coreos && echo '{stream}'; exit 0", monkeypatch)
    found = release()
    assert found is not None
    assert found.base_volumes == {Architecture.AMD64: Image("https://a.test/b.qcow2.xz", "9c" * 32)}
