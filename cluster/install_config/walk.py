"""The values of a file, each with the type of the field that takes it."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel

from base.shapes import Location


class Value(NamedTuple):
    """A value in a file."""

    at: Location
    annotation: Any
    """The type of its field, without its marks; `Any` below a field whose content has no schema."""
    marks: tuple[Any, ...]
    """What an `Annotated` has besides the type."""
    value: Any

    @property
    def section(self) -> type[BaseModel] | None:
        """The model of a mapping with known keys; None for every other value."""
        return _model(self.annotation) if isinstance(self.value, dict) else None


def values_of(annotation: Any, value: Any, at: Location = (), marks: tuple[Any, ...] = ()) -> Iterator[Value]:
    """Yield a value and all values below it, but those of unknown keys.

    Args:
        annotation: The type of the value: at first the model of a file.
        value: The content of the file, not all of which need be valid.
        at: The location of the value.
        marks: The marks of the field that has the value.
    """
    waiting = [Value(at, annotation, marks, value)]
    while waiting:
        own = waiting.pop()
        if get_origin(own.annotation) is Annotated:
            annotation, *more = get_args(own.annotation)
            own = own._replace(annotation=annotation, marks=(*own.marks, *more))
        yield own
        members = [Value((*own.at, key), inner, more, own.value[key]) for key, inner, more in _members(own)]
        waiting += reversed(members)


@cache
def keys_of(section: type[BaseModel]) -> Mapping[str, Any]:
    """Return the fields of a section by their keys in the file."""
    return {field.alias or name: field for name, field in section.model_fields.items()}


def _members(own: Value) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """Yield the keys of a section, mapping or list, each with the type and the marks of its value."""
    if section := own.section:
        fields = keys_of(section)
        yield from ((key, fields[key].annotation, tuple(fields[key].metadata)) for key in own.value if key in fields)
        return
    inner = _inner(own.annotation)
    if isinstance(own.value, dict) and (inner is Any or get_origin(inner) is dict):
        yield from ((key, Any if inner is Any else get_args(inner)[1], ()) for key in own.value)
    if isinstance(own.value, list) and (inner is Any or get_origin(inner) is tuple):
        yield from ((index, Any if inner is Any else get_args(inner)[0], ()) for index in range(len(own.value)))


@cache
def _model(annotation: Any) -> type[BaseModel] | None:
    models = (part for part in _parts(annotation) if isinstance(part, type) and issubclass(part, BaseModel))
    return next(models, None)


@cache
def _inner(annotation: Any) -> Any:
    """Return the mapping or list of a union; `Any` if its content has no schema; None if there is none of these."""
    return next((part for part in _parts(annotation) if get_origin(part) in (dict, tuple) or part is Any), None)


def _parts(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the one type."""
    is_single = isinstance(annotation, type) or annotation is Any or get_origin(annotation) in (dict, tuple)
    return (annotation,) if is_single else get_args(annotation)
