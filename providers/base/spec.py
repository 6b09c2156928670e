"""What a resource is asked for and what it answers, as frozen models: a provider parses both and indexes neither."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """The base of all models: frozen, and what does not fit is reported without its value, which may be a secret."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)


class Spec(Model):
    """Inputs of a resource.

    A field that comes later has a default: a state of before it must still be read. What may hold a secret is a
    `SecretStr`.
    """

    model_config = ConfigDict(extra="ignore")

    urn: str = ""
    """Of the resource itself, so that its progress reaches its row."""


class Outs(Model):
    """Outputs of a resource beside its inputs, with a default each: an older state may lack any of them."""

    model_config = ConfigDict(extra="ignore")

    def props(self) -> dict[str, Any]:
        """As the state has them."""
        return self.model_dump(mode="json")
