"""Base models of a resource's inputs and outputs."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Base of all models: frozen, and its errors leave out the values, which may be secret."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)


class Spec(Model):
    """Inputs of a resource.

    A field that a later release adds has a default, because an older state must still be readable. A field that may
    hold a secret is a `SecretStr`.
    """

    model_config = ConfigDict(extra="ignore")

    urn: str = ""
    """URN of the resource itself, in whose row its progress is shown."""


class Outs(Model):
    """Outputs of a resource beside its inputs. Each has a default, because an older state may lack it."""

    model_config = ConfigDict(extra="ignore")

    def props(self) -> dict[str, Any]:
        """Return the outputs in the form of the state."""
        return self.model_dump(mode="json")
