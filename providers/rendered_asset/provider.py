"""Pulumi's calls for `RenderedAsset`."""

import hashlib

from assets.file import RenderedFile
from providers.pulumi.dynamic import Provider
from providers.rendered_asset.model import RenderedAssetOuts, RenderedAssetSpec
from providers.rendered_asset.readers import lint


class RenderedAssetProvider(Provider[RenderedAssetSpec, RenderedAssetOuts]):
    """Has a file checked by its real reader, if that is installed; writes no file."""

    def _create(self, spec: RenderedAssetSpec) -> tuple[str, RenderedAssetOuts]:
        return spec.path, _checked(spec)

    def _update(self, old: RenderedAssetSpec, outs: RenderedAssetOuts, new: RenderedAssetSpec) -> RenderedAssetOuts:
        return _checked(new)


def _checked(spec: RenderedAssetSpec) -> RenderedAssetOuts:
    lint(RenderedFile(spec.path, spec.plain, spec.reader))
    return RenderedAssetOuts(sha256=hashlib.sha256(spec.plain.encode()).hexdigest())
