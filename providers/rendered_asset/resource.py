"""`RenderedAsset`: its text is an input, so that a preview shows the lines that change."""

from dataclasses import dataclass

import pulumi
from pulumi.dynamic import Resource

from assets.render import RenderedFile
from providers.rendered_asset.provider import AssetProvider


@dataclass(frozen=True, kw_only=True)
class RenderedAssetArgs:
    """Inputs of `RenderedAsset`."""

    file: RenderedFile


class RenderedAsset(Resource, module="baremetal", name="RenderedAsset"):
    """One file as a machine will see it; what is secret is so here."""

    sha256: pulumi.Output[str]
    """SHA-256 of the text, in hex."""

    def __init__(self, name: str, args: RenderedAssetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        file = args.file
        text = pulumi.Output.secret(file.text) if file.secret else file.text
        props = {"path": file.path, "mode": f"{file.mode:04o}", "reader": file.reader.value, "text": text}
        super().__init__(AssetProvider(), name, {**props, "sha256": None}, opts)
