"""Inputs and outputs of `RenderedAsset`."""

from typing import Self

from pydantic import Field, SecretStr

from assets.file import Reader, RenderedFile
from base.spec import Outs, Spec


class RenderedAssetSpec(Spec):
    """One rendered file."""

    path: str
    mode: str
    """Permissions, in octal."""
    reader: Reader
    text: str | SecretStr = Field(repr=False)
    """`SecretStr` if the file is secret; always `str` when read from a state."""

    @classmethod
    def of(cls, file: RenderedFile) -> Self:
        """Build the spec of a file."""
        text = SecretStr(file.text) if file.secret else file.text
        return cls(path=file.path, mode=f"{file.mode:04o}", reader=file.reader, text=text)

    @property
    def plain(self) -> str:
        """The text in plain, secret or not."""
        return self.text.get_secret_value() if isinstance(self.text, SecretStr) else self.text


class RenderedAssetOuts(Outs):
    """Outputs of a rendered file."""

    sha256: str = ""
    """SHA-256 of the text, in hex."""
