"""The class of `RenderedAsset` in the graph; its text is an input, so that a preview shows the changed lines."""

from providers.pulumi.dynamic import BaremetalResource
from providers.rendered_asset.model import RenderedAssetSpec
from providers.rendered_asset.provider import RenderedAssetProvider


class RenderedAsset(BaremetalResource[RenderedAssetSpec], provider=RenderedAssetProvider):
    """One file as a machine will read it; the text of a secret file is a secret of the stack."""
