"""Which machine holds a VIP: the one rule that phase proofs, the handoff and a refresh share."""

from collections.abc import Callable, Mapping, Sequence

Seen = Sequence[frozenset[str]]
"""MACs that answer each VIP."""


def holder_of(seen: Seen, nodes: Mapping[str, str], macs_of: Callable[[str], frozenset[str]]) -> str | None:
    """Name of the machine that alone answers all VIPs; None: nobody, several, or a stranger.

    Args:
        seen: MACs that answer each VIP.
        nodes: Address of each machine that may hold them, by name.
        macs_of: MACs that answer an address.
    """
    macs = seen[0]
    if len(macs) != 1 or set(seen) != {macs}:
        return None
    return next((name for name, address in nodes.items() if macs_of(address) == macs), None)
