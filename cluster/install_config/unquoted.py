"""Numbers and booleans without quotes in fields of text, where the installer reads another text than is written."""

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel, SecretStr

from base.errors import Fault
from base.shapes import Location, dotted
from cluster.install_config.section import as_text

FIX = "put it in quotes"


def misread_texts(model: type[BaseModel], content: dict[str, Any], written: dict[str, Any]) -> Iterator[Fault]:
    """Yield each value in a field of text, such as a serial number 0123, which Go reads as 83.

    Args:
        model: The model of the content.
        content: The content of a file, of which not every value need be valid.
        written: The same with all numbers and booleans as text, as they are written.
    """
    for location, text in _misread(model, content, written, ()):
        what = "is a number or a boolean without quotes, of which the installer makes another text"
        yield Fault(dotted(location), f"{text} {what}" if text else what, FIX)


def _misread(annotation: Any, value: Any, written: Any, at: Location) -> Iterator[tuple[Location, str]]:
    """Yield the location of each, and what is written there; nothing of a secret."""
    if annotation in (str, SecretStr):
        if isinstance(value, bool | int | float) and as_text(value) != written:
            yield at, "" if annotation is SecretStr else written
    elif members := _members(annotation, value):
        for key, inner in members:
            yield from _misread(inner, value[key], written[key], (*at, key))
    elif get_origin(annotation) not in (dict, tuple):
        for part in get_args(annotation):
            yield from _misread(part, value, written, at)


def _members(annotation: Any, value: Any) -> list[tuple[Any, Any]]:
    """Return the keys of a section, mapping or list, each with its annotation."""
    if isinstance(value, dict) and isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = {field.alias or name: field.annotation for name, field in annotation.model_fields.items()}
        return [(key, fields[key]) for key in value if key in fields]
    if isinstance(value, dict) and get_origin(annotation) is dict:
        return [(key, get_args(annotation)[1]) for key in value]
    if isinstance(value, list) and get_origin(annotation) is tuple:
        return [(index, get_args(annotation)[0]) for index in range(len(value))]
    return []
