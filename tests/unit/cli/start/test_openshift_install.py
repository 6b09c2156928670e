"""What openshift-install on PATH tells of its release."""

import json
from pathlib import Path

import pytest

from cli.start.openshift_install import OVERRIDE, Image, Release, Version, release, version
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
        architecture="amd64",
        isos={
            Architecture.AMD64: Image(f"{mirror}/scos-live-iso.x86_64.iso", "15" * 32),
            Architecture.ARM64: Image(f"{mirror}/scos-live-iso.aarch64.iso", "a6" * 32),
        },
        base_volumes={Architecture.AMD64: Image(f"{mirror}/scos-qemu.x86_64.qcow2.gz", "9c" * 32)},
    )


def test_the_images_are_those_of_the_stream_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", openshift_install.put_on_path(tmp_path)["PATH"])
    streams = {name: release(name) for name in ("", "rhel-10", "fcos")}
    urls = {name: found and [image.url for image in found.isos.values()] for name, found in streams.items()}
    iso = "scos-live-iso.{}.iso"
    assert urls == {
        "": [f"{openshift_install.MIRROR}/{iso.format(arch)}" for arch in ("x86_64", "aarch64")],
        "rhel-10": [f"{openshift_install.MIRROR}/rhel-10/{iso.format(arch)}" for arch in ("x86_64", "aarch64")],
        "fcos": [],
    }


@pytest.mark.parametrize(
    ("image", "known"),
    [
        pytest.param(f"registry.lab.test/okd@sha256:{'6f' * 32}", True, id="digest"),
        pytest.param("registry.ci.test/ocp/release:4.22", False, id="tag"),
    ],
)
def test_the_release_is_the_one_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: str, known: bool
) -> None:
    openshift_install.put_on_path(tmp_path)
    monkeypatch.setenv(OVERRIDE, image)
    assert version(tmp_path / "openshift-install") == Version(image if known else "", "", is_overridden=True)


@pytest.mark.parametrize(
    ("release_of", "runs_on"),
    [("amd64", ["amd64"]), ("arm64", ["arm64"]), ("multi", ["amd64", "arm64"]), ("", ["amd64", "arm64"])],
)
def test_a_release_runs_on_its_architecture(release_of: str, runs_on: list[str]) -> None:
    assert [name for name in Architecture if Version(architecture=release_of).runs_on(name)] == runs_on


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
