"""Translates pydantic's errors into faults."""

import difflib
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from base.errors import Fault

Location = tuple[int | str, ...]
_WORDS = dict[str, str]()
"""What a text of a field with a pattern is, by the pattern."""
WANTED = {
    "string_type": ("text is wanted", "write one value in quotes, no list and no mapping"),
    "int_type": ("a whole number is wanted, without quotes", "write digits only"),
    "bool_type": ("true or false is wanted, without quotes", "write one of them"),
    "tuple_type": ("a list is wanted", "put a hyphen before each element"),
    "dict_type": ("a mapping is wanted", "write `key: value` below it"),
    "model_type": ("a mapping is wanted", "write `key: value` below it"),
    "missing": ("missing", "add it"),
}
"""`what` and `fix` of a fault by pydantic's type of error; for other types, pydantic's own message is clear."""
KEY = ".[key]"
"""The end of a location that pydantic gives to a fault of a mapping's key."""
FIX = "fix"
"""Key of the fix in the context of a `PydanticCustomError` that one of this program's validators raises."""


def in_words(pattern: str, words: str) -> str:
    """Return a field's pattern, and have a fault say what a text of it is, in place of the pattern."""
    _WORDS[pattern] = words
    return pattern


def dotted(location: Location) -> str:
    """Return `("hosts", 0, "name")` as `hosts[0].name`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")


def values_at(pattern: str, value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path of each value at a pattern such as `networking.machineNetwork[].cidr`, and the value.

    Args:
        pattern: What is left of it.
        value: The document, or the part of it at `path`.
        path: Empty for the document.
    """
    if not pattern:
        yield path, value
        return
    head, _, rest = pattern.partition(".")
    key = head.removesuffix("[]")
    if not isinstance(value, dict) or key not in value:
        return
    inner, path = value[key], f"{path}.{key}".removeprefix(".")
    if head == key:
        yield from values_at(rest, inner, path)
    elif isinstance(inner, list | tuple):
        for index, element in enumerate(inner):
            yield from values_at(rest, element, f"{path}[{index}]")


def below(path: str, parent: str) -> bool:
    """Return whether a dotted path is `parent`, or a part of it."""
    return path == parent or path.startswith((f"{parent}.", f"{parent}["))


def shape_faults(error: ValidationError, model: type[BaseModel]) -> list[Fault]:
    """Return pydantic's errors as faults, without the values, which may be secret."""
    faults = []
    for detail in error.errors(include_input=False, include_url=False):
        message = str(detail["msg"]).removeprefix("Value error, ")
        what, fix = WANTED.get(detail["type"], (message, ""))
        if detail["type"] == "extra_forbidden":
            what, fix = "unknown key", _fix_of_unknown(model, detail["loc"])
        if detail["type"] == "missing" and (names := _names_below(model, detail["loc"])):
            fix = f"{fix}, with {names}"
        if words := _WORDS.get(detail.get("ctx", {}).get("pattern", "")):
            what, fix = f"{words} is wanted", "write it so"
        if own_fix := detail.get("ctx", {}).get(FIX):
            what, fix = message, own_fix
        faults.append(Fault(dotted(detail["loc"]).removesuffix(KEY), what, fix))
    return faults


def meant(model: type[BaseModel], location: Location) -> Location | None:
    """Return the location of the known key that an unknown key of the same section resembles, or None."""
    key = _closest(str(location[-1]), _keys(_section(model, location)))
    return (*location[:-1], key) if key else None


def _fix_of_unknown(model: type[BaseModel], location: Location) -> str:
    if near := meant(model, location):
        return f"write {near[-1]}, or remove it"
    known = {key.lower(): key for section in _all_sections(model) for key in _keys(section)}
    elsewhere = known.get(str(location[-1]).lower())
    return f"write {elsewhere} in the section that has it, or remove it" if elsewhere else "remove it"


def _names_below(model: type[BaseModel], location: Location) -> str:
    """Return the names that a missing section must have, or if none, all that it may have; empty for a value."""
    section = _section(model, (*location, ""))
    if section is _section(model, location):
        return ""
    required = [field.alias or name for name, field in section.model_fields.items() if field.is_required()]
    return ", ".join(required) or f"some of {', '.join(sorted(_keys(section)))}"


def _closest(word: str, known: set[str]) -> str:
    spelled = {key.lower(): key for key in sorted(known)}
    close = difflib.get_close_matches(word.lower(), spelled, n=1)
    return spelled[close[0]] if close else ""


def _keys(section: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in section.model_fields.items()}


def _section(model: type[BaseModel], location: Location) -> type[BaseModel]:
    """Return the innermost model around a location."""
    for part in location[:-1]:
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        if part in fields:
            model = (_models(fields[str(part)].annotation) or [model])[0]
    return model


def _all_sections(model: type[BaseModel]) -> list[type[BaseModel]]:
    sections = [model]
    for section in sections:  # grows while it is read
        for field in section.model_fields.values():
            sections += [inner for inner in _models(field.annotation) if inner not in sections]
    return sections


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _models(part)]
