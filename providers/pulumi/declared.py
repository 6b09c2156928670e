"""What the providers of a run know of its program: the resources that it declares, and those that a change replaces.

Who deletes another one that it declares was asked to, by an option or a mark in the state that Pulumi tells no
provider: `up --replace`, or `pulumi state taint`.
"""

DECLARED: set[str] = set()
"""URNs of the resources that the program has declared. A `destroy` has none, even if it runs the program."""

REPLACED: set[str] = set()
"""URNs of the resources that a change of their inputs replaces."""


def stays(urn: str) -> bool:
    """Whether the program declares a resource as it is, so that its deletion could only begin it anew."""
    return urn != "" and urn in DECLARED - REPLACED
