"""What our components share: they know the URNs of their children before the engine tells."""

import pulumi
from pulumi.dynamic import Resource


class Component(pulumi.ComponentResource):
    """A component at the top of the stack, or inside another one."""

    def __init__(self, kind: str, name: str, opts: pulumi.ResourceOptions | None) -> None:
        super().__init__(kind, name, None, opts)
        self.name = name
        parent = opts.parent if opts else None
        self._types: str = f"{parent._types}${kind}" if isinstance(parent, Component) else kind

    def urn_of(self, resource_type: type[Resource], name: str) -> str:
        """The URN that a child gets, as text: a provider's `create` is not told, and progress needs it.

        The Output that a resource gives of its own URN, or of its parent's, would depend on all its siblings.
        """
        kind = f"{self._types}$pulumi-python:{resource_type._resource_type_name}"
        return f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}::{kind}::{name}"
