"""What a resource is asked for and what it answers, as frozen models: a provider parses both and indexes neither."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """Inputs of a resource.

    A field that comes later has a default: a state of before it must still be read. What may hold a secret is a
    `SecretStr`; what does not fit is reported without its value.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    urn: str = ""
    """Of the resource itself, so that its progress reaches its row."""


class Outs(BaseModel):
    """Outputs of a resource beside its inputs, with a default each: an older state may lack any of them."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    def props(self) -> dict[str, Any]:
        """As the state has them."""
        return self.model_dump(mode="json")
