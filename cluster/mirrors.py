"""Where the machines of a cluster fetch an image from, by the mirrors that the install-config names."""

from collections.abc import Iterator
from typing import NamedTuple

from cluster.install_config import InstallConfig
from cluster.install_config.schema import ImageContentSource, ImageSource
from cluster.values.image_reference import ImageReference


class Place(NamedTuple):
    """An image at a registry."""

    image: ImageReference
    field: str = ""
    """The field of the install-config that names the mirror; empty for the image's own registry."""


def places_of(config: InstallConfig, image: ImageReference) -> list[Place]:
    """Return where machines fetch an image from: its mirrors, or if it has none, its own registry.

    As containers/image reads the registries.conf that is made of the fields (pkg/sysregistriesv2,
    FindRegistry): the longest source counts, and mirrors have only what is named by digest. Machines may also try the
    source after its mirrors; a disconnected site has none.
    """
    fitting = [(source, place) for source, place in _mirrored(config, image) if image.has_digest]
    longest = max((len(source) for source, _ in fitting), default=0)
    return [place for source, place in fitting if len(source) == longest] or [Place(image)]


def _mirrored(config: InstallConfig, image: ImageReference) -> Iterator[tuple[str, Place]]:
    by_key: dict[str, tuple[ImageSource | ImageContentSource, ...]] = {
        "imageDigestSources": config.image_digest_sources,
        "imageContentSources": config.image_content_sources,
    }
    for key, sources in by_key.items():
        for index, entry in enumerate(sources):
            if f"{image.repository}/".startswith(f"{entry.source}/"):
                for number, mirror in enumerate(entry.mirrors):
                    field = f"{key}[{index}].mirrors[{number}]"
                    yield entry.source, Place(image.at(entry.source, mirror), field)
