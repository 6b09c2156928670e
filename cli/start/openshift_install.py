"""openshift-install on PATH: what it knows of its release."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, ValidationError

from base.spec import Model
from cluster.option_types import BY_DIGEST
from cluster.values.architecture import Architecture

NAME = "openshift-install"
OVERRIDE = "OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE"
"""The release image in the environment that `create` takes, and `version` does not print."""
VERSION_S = 60
STREAM_NAMES = {Architecture.AMD64: "x86_64", Architecture.ARM64: "aarch64"}
"""The architectures by CoreOS' words, which are the kernel's."""
_IMAGE = re.compile(r"^release image (\S+)$", re.MULTILINE)
_ARCHITECTURE = re.compile(r"^release architecture (\S+)$", re.MULTILINE)
_PACKED = ("qcow2.gz", "qcow2.xz")


@dataclass(frozen=True)
class Image:
    """An image of CoreOS."""

    url: str
    sha256: str
    """Digest of the ISO, or of the unpacked qcow2."""


@dataclass(frozen=True)
class Version:
    """The release of which openshift-install makes payloads. A part that it does not print is empty."""

    image: str = ""
    """The release image of a payload, by its digest."""
    architecture: str = ""
    """That of the release; `multi` or `unknown` is none in particular."""
    is_overridden: bool = False
    """Whether the environment names the image."""

    def runs_on(self, architecture: str) -> bool:
        """Return whether servers of an architecture can run the release, as far as it is known."""
        return self.architecture not in {*Architecture} or self.architecture == architecture


@dataclass(frozen=True)
class Release(Version):
    """A release with its images of CoreOS."""

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


def print_stream(os_image_stream: str) -> tuple[str, ...]:
    """Return the command, without the program, that prints the images of a stream of CoreOS. Empty: the release's."""
    return ("coreos", "print-stream-json", *(("--stream", os_image_stream) if os_image_stream else ()))


def version(tool: Path) -> Version:
    """Return the release of an openshift-install, in this environment."""
    printed = _printed(tool, "version")
    image, architecture = _IMAGE.search(printed), _ARCHITECTURE.search(printed)
    override = os.environ.get(OVERRIDE, "")
    named = override or (image[1] if image else "")
    return Version(
        named if re.fullmatch(BY_DIGEST, named) else "",
        architecture[1] if architecture and not override else "",  # that of the program's own release
        bool(override),
    )


def release(os_image_stream: str = "") -> Release | None:
    """Return what openshift-install knows of its release; None if it is not on PATH.

    Args:
        os_image_stream: `osImageStream` of the install-config, which decides the images of CoreOS.
    """
    if (tool := openshift_install()) is None:
        return None
    try:
        stream = _Stream.model_validate_json(_printed(tool, *print_stream(os_image_stream)))
    except ValidationError:
        stream = _Stream()
    isos = {key: Image(disk.location, disk.sha256) for key, disk in _disks(stream, "metal", "iso")}
    volumes = {key: Image(disk.location, disk.unpacked) for key, disk in _disks(stream, "qemu", *_PACKED)}
    return Release(**vars(version(tool)), isos=isos, base_volumes=volumes)


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
