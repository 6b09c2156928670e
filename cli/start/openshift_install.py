"""openshift-install on PATH: what it knows of its release."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, ValidationError

from base.spec import Model
from cluster.options import BY_DIGEST
from cluster.values.architecture import Architecture

NAME = "openshift-install"
VERSION_S = 60
STREAM_NAMES = {Architecture.AMD64: "x86_64", Architecture.ARM64: "aarch64"}
"""The architectures by CoreOS' words, which are the kernel's."""
_IMAGE = re.compile(r"^release image (\S+)$", re.MULTILINE)
_PACKED = ("qcow2.gz", "qcow2.xz")


@dataclass(frozen=True)
class Image:
    """An image of CoreOS."""

    url: str
    sha256: str
    """Digest of the ISO, or of the unpacked qcow2."""


@dataclass(frozen=True)
class Release:
    """What openshift-install knows of its release. A part is empty if it did not tell."""

    image: str = ""
    """The release image by its digest."""
    isos: dict[Architecture, Image] = field(default_factory=dict)
    base_volumes: dict[Architecture, Image] = field(default_factory=dict)


class _Disk(Model):
    location: str
    sha256: str
    unpacked: str = Field("", alias="uncompressed-sha256")


class _Format(Model):
    disk: _Disk | None = None


class _Formats(Model):
    formats: dict[str, _Format] = {}


class _Artifacts(Model):
    artifacts: dict[str, _Formats] = {}


class _Stream(Model):
    """The part of CoreOS' stream metadata that names images of disks."""

    architectures: dict[str, _Artifacts] = {}


def openshift_install() -> Path | None:
    """Return the path of openshift-install; None if it is not on PATH."""
    path = shutil.which(NAME)
    return Path(path) if path else None


def release() -> Release | None:
    """Return what openshift-install knows of its release; None if it is not on PATH."""
    if (tool := openshift_install()) is None:
        return None
    image = _IMAGE.search(_printed(tool, "version"))
    try:
        stream = _Stream.model_validate_json(_printed(tool, "coreos", "print-stream-json"))
    except ValidationError:
        stream = _Stream()
    isos = {key: Image(disk.location, disk.sha256) for key, disk in _disks(stream, "metal", "iso")}
    volumes = {key: Image(disk.location, disk.unpacked) for key, disk in _disks(stream, "qemu", *_PACKED)}
    return Release(image[1] if image and re.fullmatch(BY_DIGEST, image[1]) else "", isos, volumes)


def _printed(tool: Path, *words: str) -> str:
    """Return what a command prints; nothing if it fails."""
    try:
        done = subprocess.run(  # noqa: S603
            [tool, *words], capture_output=True, text=True, check=True, timeout=VERSION_S
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def _disks(stream: _Stream, artifact: str, *formats: str) -> Iterator[tuple[Architecture, _Disk]]:
    """Yield the disk of each architecture that the stream has in one of the formats."""
    for architecture, name in STREAM_NAMES.items():
        known = stream.architectures.get(name, _Artifacts()).artifacts.get(artifact, _Formats()).formats
        for name_of_format in formats:
            if name_of_format in known and (disk := known[name_of_format].disk):
                yield architecture, disk
