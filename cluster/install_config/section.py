"""The base of all sections of an install-config: keys, plain text, secrets."""

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, SecretStr, StrictInt
from pydantic.alias_generators import to_camel

from base.spec import Model


def as_text(value: Any) -> Any:
    """Return a plain number or boolean as text, as the installer's YAML reader does for a field of text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"  # the installer writes 32 bits, of which six digits are certain
    return str(value) if isinstance(value, int) else value


CIDR, TIME = "a network", "a time"
"""Marks of a field that the installer decodes as more than text; see `decoding`."""
Text = Annotated[str, BeforeValidator(as_text)]
Cidr = Annotated[Text, CIDR]
Time = Annotated[str, TIME]
Secret = Annotated[SecretStr, BeforeValidator(as_text)]
Int32 = Annotated[StrictInt, Field(ge=-(2**31), le=2**31 - 1)]
EMPTY = SecretStr("")
OLD: dict[str, Any] = {"deprecated": True}
"""Mark of an old spelling in the JSON schema; see `old_spellings`."""


class Section(Model):
    """One mapping of the file: camelCase keys, unknown ones refused."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)
