"""Inputs and outputs of `RenderedAsset`."""

from pydantic import Field, SecretStr

from assets.file import Reader
from providers.base.spec import Outs, Spec


class RenderedAssetSpec(Spec):
    """One rendered file."""

    path: str
    mode: str
    """Permissions, in octal."""
    reader: Reader
    text: str | SecretStr = Field(repr=False)
    """`SecretStr` if the file is secret; always `str` when read from a state."""

    @property
    def plain(self) -> str:
        """The text in plain, secret or not."""
        return self.text.get_secret_value() if isinstance(self.text, SecretStr) else self.text


class RenderedAssetOuts(Outs):
    """Outputs of a rendered file."""

    sha256: str = ""
    """SHA-256 of the text, in hex."""
