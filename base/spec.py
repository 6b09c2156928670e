"""Base models of a resource's inputs and outputs, and marks of their fields."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, SecretStr


class Model(BaseModel):
    """Base of all models: frozen, and its errors leave out the values, which may be secret."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    def changed(self, **fields: Any) -> Self:
        """Return a copy with other values of some fields, validated as a whole.

        Raises:
            TypeError: The model has no such field.
            ValidationError: A value does not fit.
        """
        if unknown := fields.keys() - type(self).model_fields.keys():
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        # Only fields that are set: a validator may ask which ones are.
        own = {name: getattr(self, name) for name in self.model_fields_set}
        return self.model_validate(own | fields, by_alias=False, by_name=True)


class Spec(Model):
    """Inputs of a resource.

    A field that a later release adds has a default, because an older state must still be readable. A field that may
    hold a secret is a `SecretStr`. A field that was renamed has its name in the state as its alias.
    """

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    urn: str = ""
    """URN of the resource itself, in whose row its progress is shown."""


class Outs(Model):
    """Outputs of a resource beside its inputs. Each has a default, because an older state may lack it."""

    model_config = ConfigDict(extra="ignore")

    def props(self) -> dict[str, Any]:
        """Return the outputs in the form of the state."""
        return self.model_dump(mode="json")


@dataclass(frozen=True)
class Mark:
    """A property of a field, declared in the field's annotation: `Annotated[str, REPLACES]`."""

    meaning: str


REPLACES = Mark("an input whose change replaces the resource")
INPUT_ONLY = Mark("an input that the outputs do not repeat: a large secret, which nothing reads back")
MACHINE = Mark("the input that names the resource's host or VM, for the log; at most one of a spec")
SECRET_OUTPUT = Mark("an output that is secret; an input is secret if it is a `SecretStr`")


def state_names(model: type[BaseModel]) -> dict[str, str]:
    """Return the name in Pulumi's state of each field."""
    return {name: field.alias or name for name, field in model.model_fields.items()}


def marked_fields(model: type[BaseModel], mark: Mark) -> tuple[str, ...]:
    """Return the fields with a mark."""
    return tuple(name for name, field in model.model_fields.items() if mark in field.metadata)


def marked(model: type[BaseModel], mark: Mark) -> tuple[str, ...]:
    """Return the names in Pulumi's state of the fields with a mark."""
    names = state_names(model)
    return tuple(names[name] for name in marked_fields(model, mark))


def secret_inputs(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the names in Pulumi's state of the fields that may hold a `SecretStr`, at any depth."""
    names = state_names(model)
    return tuple(names[name] for name, field in model.model_fields.items() if SecretStr in _types(field.annotation))


def _types(annotation: Any) -> Iterator[Any]:
    yield annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        parts = [field.annotation for field in annotation.model_fields.values()]
    else:
        parts = [*get_args(annotation)]
    for part in parts:
        yield from _types(part)
