"""RPC shell of `RenderedAsset`."""

import hashlib

from assets.render import Reader, RenderedFile
from providers.base.dynamic import Props, Provider
from providers.rendered_asset.lint import lint


class AssetProvider(Provider):
    """Judges a file by its real reader where that is installed; owns no file."""

    def _create(self, props: Props) -> tuple[str, Props]:
        return props["path"], self._update(props["path"], {}, props)

    def _update(self, id_: str, olds: Props, news: Props) -> Props:
        lint(RenderedFile(news["path"], news["text"], Reader(news["reader"])))
        return {"sha256": hashlib.sha256(news["text"].encode()).hexdigest()}
