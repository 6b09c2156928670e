"""Names of resources in programs of the tests."""

import pulumi


def urn(kind: str, name: str) -> str:
    """Return the URN of a resource of this program without a parent, so that its progress appears in its own row."""
    return f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}::pulumi-python:dynamic/baremetal:{kind}::{name}"
