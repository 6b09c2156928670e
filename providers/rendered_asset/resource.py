"""The class of `RenderedAsset` in the graph; its text is an input, so that a preview shows the changed lines."""

import pulumi

from assets.file import RenderedFile
from providers.base.dynamic import BaremetalResource
from providers.rendered_asset.model import RenderedAssetSpec
from providers.rendered_asset.provider import RenderedAssetProvider


class RenderedAsset(BaremetalResource, module="baremetal", name="RenderedAsset"):
    """One file as a machine will read it; the text of a secret file is a secret of the stack."""

    sha256: pulumi.Output[str]
    """SHA-256 of the text, in hex."""

    def __init__(self, name: str, file: RenderedFile, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(RenderedAssetProvider(), name, RenderedAssetSpec.of(file), opts)
