"""The base of the components; it computes the URN of a child before the Pulumi engine assigns it."""

from collections.abc import Callable

import pulumi
from pulumi.dynamic import Resource


class Component(pulumi.ComponentResource):
    """A component at the top of a stack, or inside any other one."""

    def __init__(self, module: str, name: str, opts: pulumi.ResourceOptions | None) -> None:
        super().__init__(f"baremetal:{module}:{type(self).__name__}", name, None, opts)
        self.name = name

    def urn_of(self, resource_type: type[Resource], name: str) -> pulumi.Output[str]:
        """Return the URN that a child will get. Progress needs it, and Pulumi does not pass it to `create`."""
        own = _without_dependencies(self.urn)
        return own.apply(_child_of(resource_type._resource_type_name, name))


def _child_of(kind: str, name: str) -> Callable[[str], str]:
    def urn(parent: str) -> str:
        types, _, _ = parent.rpartition("::")
        return f"{types}$pulumi-python:{kind}::{name}"

    return urn


def _without_dependencies(output: pulumi.Output[str]) -> pulumi.Output[str]:
    """Return the same value without dependencies.

    The Output of a component's URN depends on its children, so children that use it would wait for each other.
    """

    async def value() -> str:
        return await output.future(with_unknowns=True) or ""

    return pulumi.Output(set(), value(), output.is_known())
