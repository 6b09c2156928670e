"""What a repository has of an image, and the images of a release."""

import json
import tarfile
import zlib
from collections.abc import Collection, Iterator
from gzip import GzipFile
from io import BytesIO

from pydantic import Field, ValidationError

from base.errors import MISSHAPEN, PreflightError
from base.spec import Model
from cluster.install_config.releases import Release
from cluster.values.image_reference import ImageReference
from wires.registry.client import Blob, Repository

REFERENCES = "release-manifests/image-references"
"""The file of a release image that names all others: an ImageStream (openshift/oc, pkg/cli/admin/release)."""
SIGNED_SINCE = {
    "quay.io/openshift-release-dev/ocp-release": Release(4, 21),
    "quay.io/openshift-release-dev/ocp-v4.0-art-dev": Release(4, 22),
    "quay.io/openshift-release-dev/ocp-v5.0-art-dev": Release(4, 22),
}
"""The first release whose nodes start no image of a repository without a signature.

The scopes of the ClusterImagePolicy `openshift` (openshift/cluster-update-keys, manifests.rhel), which OKD's release
does not have. The bootstrap of the machine-config-operator puts it into the nodes' /etc/containers/policy.json.
"""
MOST_LAYER = 64 << 20
"""Bytes, packed and unpacked. `oc adm release new` writes the file into the last layer, of about 1 MB packed; those
below have programs."""
MOST_REFERENCES = 4 << 20
"""Bytes; the file of a release of some 200 images has about 0.1 MB."""
GZIP = b"\x1f\x8b"
"""How a packed layer begins (RFC 1952, 2.3.1)."""
COPY_AGAIN = "copy the release there again, with oc-mirror v2, which copies signatures, too"


class _Platform(Model):
    architecture: str = ""


class _Descriptor(Model):
    digest: str
    size: int = Field(ge=0)
    platform: _Platform = _Platform()

    @property
    def blob(self) -> Blob:
        return Blob(self.digest, self.size)


class _Manifest(Model):
    """A manifest of an image, or of several architectures."""

    manifests: tuple[_Descriptor, ...] = ()
    config: _Descriptor | None = None
    layers: tuple[_Descriptor, ...] = ()


class _From(Model):
    name: str = ""


class _Tag(Model):
    name: str
    image: _From = Field(_From(), alias="from")


class _Spec(Model):
    tags: tuple[_Tag, ...]


class _Metadata(Model):
    name: str = ""


class _ImageStream(Model):
    metadata: _Metadata = _Metadata()
    spec: _Spec


class ReleaseImages(Model):
    """The images of a release, without that of the release itself."""

    release: Release | None
    by_name: dict[str, ImageReference]

    def must_be_signed(self, image: ImageReference) -> bool:
        """Return whether nodes of this release start an image only with its signature.

        Args:
            image: By the name that the release has for it, whichever mirror it comes from.
        """
        since = SIGNED_SINCE.get(image.repository)
        return since is not None and self.release is not None and self.release >= since


def signature_of(image: ImageReference) -> str:
    """Return the tag of an image's signature, beside the image (containers/image, docker/docker_client.go)."""
    return f"{image.version.replace(':', '-')}.sig"


def manifests_of(
    repository: Repository, version: str, architectures: Collection[str]
) -> Iterator[tuple[str, tuple[Blob, ...]]]:
    """Yield each manifest that machines read of an image: its digest or tag, and its blobs, the lowest layer first.

    Args:
        repository: Asked for them.
        version: Digest or tag of the image.
        architectures: Of those, where the image has several.

    Raises:
        LookupError: The repository has no such manifest; it has the digest or tag, and the architecture.
        PreflightError: The registry refuses, or sends no manifest.
    """
    content = repository.manifest(version)
    if content is None:
        raise LookupError(version)
    try:
        manifest = _Manifest.model_validate_json(content)
    except ValidationError:
        what = f"has a manifest {version} that is none"
        raise PreflightError(what, where=repository.name, fix=COPY_AGAIN) from None
    own = (manifest.config, *manifest.layers)
    yield version, tuple(part.blob for part in own if part)
    by_architecture = {each.platform.architecture: each.digest for each in manifest.manifests}
    for architecture in architectures if manifest.manifests else ():
        if architecture not in by_architecture:
            raise LookupError(f"{version} for {architecture}")
        yield from manifests_of(repository, by_architecture[architecture], ())


def release_images(repository: Repository, version: str, architectures: Collection[str]) -> ReleaseImages:
    """Read which images a release has.

    Raises:
        LookupError: The repository lacks a manifest or a blob; it has its digest.
        PreflightError: The registry refuses, or the image is no release.
    """
    for _, blobs in manifests_of(repository, version, architectures):
        for blob in reversed(blobs[1:]):
            if blob.size <= MOST_LAYER:
                layer = repository.blob(blob)
                if layer is None:
                    raise LookupError(blob.digest)
                if text := _file_in(layer):
                    return _read(repository, text)
    what = f"is no release: {version} has no {REFERENCES}"
    raise PreflightError(what, where=repository.name, fix="name the image of a release in images.release")


def _file_in(layer: bytes) -> bytes | None:
    """Return the file of a layer whose digest was compared; None: it has none within the limits.

    A digest says nothing of what is unpacked: a few bytes may become terabytes, by gzip or as a sparse file.
    """
    try:
        text = GzipFile(fileobj=BytesIO(layer)).read(MOST_LAYER) if layer.startswith(GZIP) else layer
        with tarfile.open(fileobj=BytesIO(text), mode="r:") as archive:
            member = archive.getmember(REFERENCES)
            file = archive.extractfile(member) if member.isreg() and member.size <= MOST_REFERENCES else None
            return file.read() if file else None
    except (*MISSHAPEN, tarfile.TarError, OSError, EOFError, zlib.error):
        return None


def _read(repository: Repository, text: bytes) -> ReleaseImages:
    try:
        stream = _ImageStream.model_validate(json.loads(text))
    except (ValueError, RecursionError):
        what = f"has a release whose {REFERENCES} cannot be read"
        raise PreflightError(what, where=repository.name, fix=COPY_AGAIN) from None
    named = {tag.name: ImageReference.of(tag.image.name) for tag in stream.spec.tags}
    images = {name: image for name, image in named.items() if image}
    return ReleaseImages(release=Release.of(stream.metadata.name), by_name=images)
