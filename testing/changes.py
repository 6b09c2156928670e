"""Copies of a model that differ from it in one value."""

from collections.abc import Iterator, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr

from base.spec import state_names
from testing.plans import HOSTS

M = TypeVar("M", bound=BaseModel)


def changes(model: M) -> Iterator[tuple[str, M]]:
    """Yield copies of a model with one other value, each with the name of that value in Pulumi's state."""
    names = state_names(type(model))
    values = {names[name]: value for name, value in dict(model).items()}
    for name, field in type(model).model_fields.items():
        others = list(_others(field.annotation, getattr(model, name)))
        assert others, f"{type(model).__name__}.{name} has no other value"
        # Without validation: another text may fit no pattern.
        yield from ((names[name], model.model_construct(**{**values, names[name]: other})) for other in others)


def _others(annotation: Any, value: Any) -> Iterator[Any]:
    """Yield values of a type that differ from `value`."""
    origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
    if annotation is Any:
        yield {"other": value}
    elif origin in (Union, UnionType):
        for member in arguments:
            kind = get_origin(member) or member
            has_value = value in get_args(member) if kind is Literal else isinstance(value, kind)
            yield from _others(member, value) if has_value else [_any(member)]
    elif origin is Literal:
        yield from (literal for literal in arguments if literal != value)
    elif origin is tuple:
        yield (*value, _any(arguments[0]))
        for index, item in enumerate(value):
            yield from ((*value[:index], other, *value[index + 1 :]) for other in _others(arguments[0], item))
    elif origin is dict:
        yield from _others_of_mapping(arguments[1], value)
    elif issubclass(origin, BaseModel):
        yield from (other for _, other in changes(value))
    else:
        yield from _other_scalars(origin, value)


def _others_of_mapping(annotation: Any, value: Mapping[str, Any]) -> Iterator[Any]:
    if not value:
        yield {HOSTS[0]: _any(annotation)}
    for key, item in value.items():
        yield {name: value[name] for name in value if name != key}
        yield from ({**value, key: other} for other in _others(annotation, item))


def _other_scalars(kind: type, value: Any) -> Iterator[Any]:
    if issubclass(kind, Enum):
        yield from (member for member in kind if member is not value)
    elif kind is SecretStr:
        yield SecretStr(f"{value.get_secret_value()}x")
    elif kind is str:
        yield f"{value}x"
    elif kind is bool:
        yield not value
    elif kind is not NoneType:
        yield value + 1


def _any(annotation: Any) -> Any:
    """Return some value of a type."""
    origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
    if origin is Literal:
        return arguments[0]
    if origin in (Union, UnionType):
        return _any(arguments[0])
    if origin is tuple:
        return (_any(arguments[0]),)
    if origin is dict:
        return {HOSTS[0]: _any(arguments[1])}
    if issubclass(origin, BaseModel):
        return origin(**{name: _any(field.annotation) for name, field in origin.model_fields.items()})
    return None if origin is NoneType else origin("7")
