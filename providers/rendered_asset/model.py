"""One rendered file, and what is known of it."""

from pydantic import Field, SecretStr

from assets.file import Reader
from providers.base.spec import Outs, Spec


class RenderedAssetSpec(Spec):
    """One rendered file."""

    path: str
    mode: str
    """In octal."""
    reader: Reader
    text: str | SecretStr = Field(repr=False)
    """From a state it comes as `str`, secret or not."""

    @property
    def plain(self) -> str:
        """The text, secret or not."""
        return self.text.get_secret_value() if isinstance(self.text, SecretStr) else self.text


class RenderedAssetOuts(Outs):
    """What is known of it."""

    sha256: str = ""
