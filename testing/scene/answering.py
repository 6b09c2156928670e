"""A segment with machines that only answer for addresses, with real kernels."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from testing.namespaces import ip, neighbour


@contextmanager
def answering(answers: Mapping[str, Sequence[str]]) -> Iterator[None]:
    """Make a bridge with one machine per MAC, each of which answers for its addresses of 192.0.2.0/24."""
    ip("link add baremetal type bridge")
    ip("link set baremetal up")
    ip("address add 192.0.2.1/24 dev baremetal")
    with ExitStack() as machines:
        for number, (mac, addresses) in enumerate(answers.items()):
            machines.enter_context(
                neighbour("baremetal", f"p{number}", mac, *(f"{address}/24" for address in addresses))
            )
        yield
