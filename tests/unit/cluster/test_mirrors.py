"""Where machines fetch an image from, by the mirrors of an install-config."""

from typing import Any

import pytest

from cluster.mirrors import places_of
from cluster.values.image_reference import ImageReference
from testing.payloads import config_of

DIGEST = f"sha256:{'a' * 64}"
SOURCES = [
    {"source": "quay.io", "mirrors": ["all.test:5000"]},
    {"source": "quay.io/okd/content", "mirrors": ["m.test/okd/content", "n.test/copy"]},
    {"source": "quay.io/okd/content", "mirrors": ["o.test/okd"]},
]


def places(key: str, sources: list[dict[str, Any]], name: str) -> list[tuple[str, str]]:
    image = ImageReference.of(name)
    assert image is not None
    found = places_of(config_of(lambda config: config.update({key: sources})), image)
    return [(str(place.image), place.field) for place in found]


@pytest.mark.parametrize("key", ["imageDigestSources", "imageContentSources"])
def test_the_longest_source_of_whole_parts_counts(key: str) -> None:
    own = {"m.test/okd/content": "1].mirrors[0", "n.test/copy": "1].mirrors[1", "o.test/okd": "2].mirrors[0"}
    wanted = [(f"{name}@{DIGEST}", f"{key}[{field}]") for name, field in own.items()]
    assert places(key, SOURCES, f"quay.io/okd/content@{DIGEST}") == wanted
    elsewhere = [(f"all.test:5000/okd/contents@{DIGEST}", f"{key}[0].mirrors[0]")]
    assert places(key, SOURCES, f"quay.io/okd/contents@{DIGEST}") == elsewhere


@pytest.mark.parametrize("name", ["r.test/okd@" + DIGEST, "quay.io/okd/content:4.22", "quay.io/okd/content:latest"])
def test_without_a_mirror_or_a_digest_it_is_its_own_registry(name: str) -> None:
    assert places("imageDigestSources", SOURCES, name) == [(name, "")]


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("busybox", ImageReference("docker.io/library/busybox", "latest")),
        ("localhost:5000/a:1", ImageReference("localhost:5000/a", "1")),
        (f"quay.io/a/b:1@{DIGEST}", ImageReference("quay.io/a/b", DIGEST)),
        ("a b", None),
        ("a" * 64, None),
        ("", None),
    ],
)
def test_an_image_is_named_as_docker_reads_it(text: str, image: ImageReference | None) -> None:
    assert ImageReference.of(text) == image
