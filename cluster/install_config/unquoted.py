"""Numbers and booleans without quotes that Go (the installer, Pulumi) does not read as they are written."""

import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel, SecretStr

from base.errors import Fault, Stricter
from base.shapes import Location, dotted
from cluster.install_config.section import as_text

FIX = "put it in quotes"
OCTAL = re.compile("[-+]?0[0-7_]*[1-7][0-7_]*")


def misread_scalars(annotation: Any, value: Any, written: Any, at: Location = ()) -> Iterator[Fault]:
    """Yield each value in a field of text that Go reads as another text, and each octal number.

    Go reads 0123 as 83, where YAML 1.2 has 123.

    Args:
        annotation: The type of the value: at first the model of a file.
        value: The content of the file, not all of which need be valid.
        written: The same with all numbers and booleans as text, as they are written.
        at: The location of the value.
    """
    if annotation in (str, SecretStr):
        if isinstance(value, bool | int | float) and as_text(value) != written:
            what = "is a number or a boolean without quotes, and is read as another text"
            yield Stricter(dotted(at), what if annotation is SecretStr else f"{written} {what}", FIX)
    elif type(value) is int and annotation in (int, Any):
        if OCTAL.fullmatch(written):
            what = f"{written} is octal, and is read as {value}"
            yield Stricter(dotted(at), what, f"write {value}, or the number without the 0 before it")
    elif members := _members(annotation, value):
        for key, inner in members:
            yield from misread_scalars(inner, value[key], written[key], (*at, key))
    elif get_origin(annotation) not in (dict, tuple):
        for part in get_args(annotation):
            yield from misread_scalars(part, value, written, at)


def _members(annotation: Any, value: Any) -> list[tuple[Any, Any]]:
    """Return the keys of a section, mapping or list, each with its annotation."""
    if isinstance(value, dict) and isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = {field.alias or name: field.annotation for name, field in annotation.model_fields.items()}
        return [(key, fields[key]) for key in value if key in fields]
    if isinstance(value, dict) and get_origin(annotation) is dict:
        return [(key, get_args(annotation)[1]) for key in value]
    if isinstance(value, list) and get_origin(annotation) is tuple:
        return [(index, get_args(annotation)[0]) for index in range(len(value))]
    if isinstance(value, dict | list) and annotation is Any:
        return [(key, Any) for key in (value if isinstance(value, dict) else range(len(value)))]
    return []
