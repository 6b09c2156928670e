"""Every rendered file as a resource: a preview shows its lines, and `up` has its reader check it."""

from dataclasses import dataclass

import pulumi

from assets.file import Folders
from components.component import Component
from providers.rendered_asset.model import RenderedAssetSpec
from providers.rendered_asset.resource import RenderedAsset


@dataclass(frozen=True)
class FilesArgs:
    """Inputs of `Files`."""

    folders: Folders


class Files(Component):
    """One `RenderedAsset` per file, named after its folder."""

    def __init__(self, name: str, args: FilesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("files", name, opts)
        child = pulumi.ResourceOptions(parent=self)
        for folder, files in args.folders.items():
            for file in files:
                spec = RenderedAssetSpec.of(file)
                RenderedAsset(f"{name}-{folder.replace('/', '-')}-{file.name}", spec, child)
        self.register_outputs({})
