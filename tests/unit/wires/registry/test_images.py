"""The images of a release, as its last layer names them, and layers that are not what they seem."""

import gzip
import json
import tarfile
from io import BytesIO
from typing import Any

import pytest

from base.errors import PreflightError
from testing.fakes.clock import FakeClock
from wires.registry import images
from wires.registry.client import Blob, Repository
from wires.registry.images import REFERENCES, release_images

IMAGE = f"quay.io/okd/content@sha256:{'1' * 64}"
STREAM = json.dumps({"spec": {"tags": [{"name": "cli", "from": {"name": IMAGE}}]}}).encode()
SPARSE = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(1 << 60)}


class Kept(Repository):
    """A repository of one image, whose digests are not compared."""

    def __init__(self, layer: bytes) -> None:
        super().__init__("m.test", "okd/release", "", lambda _: pytest.fail("nobody is asked"), FakeClock(), 0)
        self._layer = layer

    def manifest(self, version: str) -> bytes:
        parts = [{"digest": "config", "size": 1}, {"digest": "layer", "size": len(self._layer)}]
        return json.dumps({"config": parts[0], "layers": parts[1:]}).encode()

    def blob(self, blob: Blob) -> bytes:
        return self._layer


def archive(content: bytes = STREAM, before: bytes = b"", **member: Any) -> bytes:
    """Return a layer with the file that names the images, and one before it."""
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as written:
        for name, text, more in (("before", before, {}), (REFERENCES, content, member)):
            added = tarfile.TarInfo(name)
            added.size = len(text)
            for key, value in more.items():
                setattr(added, key, value)
            written.addfile(added, BytesIO(text))
    return packed.getvalue()


@pytest.mark.parametrize(
    "layer", [archive(), gzip.compress(archive()), gzip.compress(archive()) + gzip.compress(b"")]
)
def test_a_layer_names_the_images_packed_or_not(layer: bytes) -> None:
    found = release_images(Kept(layer), "latest", ())
    assert {name: str(image) for name, image in found.by_name.items()} == {"cli": IMAGE}


@pytest.mark.parametrize(
    "layer",
    [
        pytest.param(archive(b"", type=tarfile.SYMTYPE, linkname="image-references"), id="a-link-to-itself"),
        pytest.param(archive(b"", pax_headers=SPARSE), id="a-sparse-file-of-an-exabyte"),
        pytest.param(archive(pax_headers={"GNU.sparse.map": "x"}), id="a-sparse-file-of-no-size"),
        pytest.param(gzip.compress(archive(STREAM * 99))[:-60] + b"\xff" * 60, id="broken-gzip"),
        pytest.param(archive(STREAM + b" " * images.MOST_REFERENCES), id="a-file-that-is-too-large"),
        pytest.param(b"no archive", id="no-archive"),
    ],
)
def test_a_layer_that_is_not_what_it_seems_is_no_release(layer: bytes) -> None:
    with pytest.raises(PreflightError, match=f"is no release: latest has no {REFERENCES}"):
        release_images(Kept(layer), "latest", ())


def test_a_layer_is_as_bounded_unpacked_as_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = gzip.compress(archive(before=bytes(1 << 20)))
    assert release_images(Kept(layer), "latest", ()).by_name
    monkeypatch.setattr(images, "MOST_LAYER", 1 << 20)
    assert len(layer) < images.MOST_LAYER
    with pytest.raises(PreflightError, match="is no release"):
        release_images(Kept(layer), "latest", ())
