"""What is wrong with an input: where it stands, and one line for the operator."""

import difflib
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

Location = tuple[int | str, ...]
WANTED = {
    "string_type": "text is wanted",
    "int_type": "a whole number is wanted, without quotes",
    "bool_type": "true or false is wanted, without quotes",
    "tuple_type": "a list is wanted",
    "dict_type": "a mapping is wanted",
    "model_type": "a mapping is wanted",
}


class Problem(NamedTuple):
    """`path: text`. The text repeats no value that may be a secret."""

    path: str
    """`platform.baremetal.hosts[0].bmc.address`; empty for a whole file."""
    text: str
    """What was seen against what is wanted, and what to do."""

    def __str__(self) -> str:
        line = f"{self.path}: {self.text}" if self.path else self.text
        # A value may hold line breaks, or escapes for the terminal.
        return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line)


def dotted(location: Location) -> str:
    """`("hosts", 0, "name")` as `hosts[0].name`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")


def shape_problems(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """What pydantic refused, without the values."""
    found = []
    for each in error.errors(include_input=False, include_url=False):
        text = WANTED.get(each["type"], str(each["msg"]).removeprefix("Value error, "))
        if each["type"] == "extra_forbidden":
            text = f"unknown key; {_advice(model, each['loc'])}"
        found.append(Problem(dotted(each["loc"]), text))
    return found


def meant(model: type[BaseModel], location: Location) -> Location | None:
    """Where an unknown key of a section was probably meant to stand, in the same section."""
    key = _closest(str(location[-1]), _keys(_section(model, location)))
    return (*location[:-1], key) if key else None


def _advice(model: type[BaseModel], location: Location) -> str:
    if near := meant(model, location):
        return f"did you mean {near[-1]}?"
    elsewhere = _closest(str(location[-1]), {key for section in _all_sections(model) for key in _keys(section)})
    return f"{elsewhere} stands in another section" if elsewhere else "take it out"


def _closest(word: str, known: set[str]) -> str:
    spelled = {key.lower(): key for key in sorted(known)}
    close = difflib.get_close_matches(word.lower(), spelled, n=1)
    return spelled[close[0]] if close else ""


def _keys(section: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in section.model_fields.items()}


def _section(model: type[BaseModel], location: Location) -> type[BaseModel]:
    """The innermost model around a location."""
    for part in location[:-1]:
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        if part in fields:
            model = (_models(fields[str(part)].annotation) or [model])[0]
    return model


def _all_sections(model: type[BaseModel]) -> list[type[BaseModel]]:
    found = [model]
    for section in found:
        for field in section.model_fields.values():
            found += [each for each in _models(field.annotation) if each not in found]
    return found


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _models(part)]
