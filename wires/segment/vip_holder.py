"""The rule for which machine holds a VIP, which the proofs of a phase, the handoff and a refresh share."""

from collections.abc import Callable, Mapping, Sequence

AnsweringMacs = Sequence[frozenset[str]]
"""MACs that answer each VIP."""
NOBODY, NO_ONE_MACHINE = "nobody", "no one machine"
"""Names in place of a holder: no machine answers the VIPs; several machines or a stranger do."""
CONTROL_PLANE = "control plane"
"""Name in place of a holder: with a balancer of the site, all nodes are behind it."""


def vip_holder(
    answering: AnsweringMacs, nodes: Mapping[str, str], macs_of: Callable[[str], frozenset[str]]
) -> str | None:
    """Return the name of the only machine that answers all VIPs. None: none, several or an unknown one answers.

    Args:
        answering: MACs that answer each VIP.
        nodes: Address of each machine that may hold them, by name.
        macs_of: Finds the MACs that answer an address.
    """
    macs = answering[0]
    if len(macs) != 1 or set(answering) != {macs}:
        return None
    return next((name for name, address in nodes.items() if macs_of(address) == macs), None)
