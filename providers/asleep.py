"""What cannot begin while a cluster sleeps, and the one way out."""

from collections.abc import Iterator
from dataclasses import dataclass

from base.errors import Fault

WAKE = "wake the cluster first: `pulumi config set power on && pulumi up`; or take the change back"


@dataclass
class Stack:
    """What a provider process knows of its stack by the options, since no input may change with that."""

    sleeps: bool = False
    """Whether the cluster is to sleep."""


STACK = Stack()


def first_faults(option: str, old: object | None) -> Iterator[Fault]:
    """Yield a fault if an option, which has the API asked until its deadline, is set first while nothing can answer.

    Args:
        option: Its name.
        old: Inputs in the state; one that has some keeps them while the cluster sleeps.
    """
    if old is None and STACK.sleeps:
        yield Fault(option, "set for the first time with `power` off, so nothing can answer it", WAKE)
