"""Rendered files as resources."""

from collections.abc import Iterable

import pulumi

from assets.render import RenderedFile
from providers.rendered_asset.resource import RenderedAsset, RenderedAssetArgs


def rendered(prefix: str, files: Iterable[RenderedFile], opts: pulumi.ResourceOptions) -> list[RenderedAsset]:
    """One resource per file, named `<prefix>-<file name>`."""
    return [RenderedAsset(f"{prefix}-{file.name}", RenderedAssetArgs(file=file), opts) for file in files]
