"""What cannot begin while a cluster sleeps, and the one way out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from base.errors import Fault

WAKE = "wake the cluster first: `pulumi config set power on && pulumi up`; or take the change back"


@dataclass
class Stack:
    """What this process knows of its stack, as of the last `up`: a refresh runs no program."""

    sleeps: bool = False


STACK = Stack()


class _Spec(Protocol):
    @property
    def asleep(self) -> bool: ...


def first_faults(option: str, old: object | None, new: _Spec) -> Iterator[Fault]:
    """Yield a fault if an option, which has the API asked until its deadline, is set first while nothing can answer.

    Args:
        option: Its name.
        old: Inputs in the state; one that has some keeps them while the cluster sleeps.
        new: Inputs of this run.
    """
    if old is None and new.asleep:
        yield Fault(option, "set for the first time with `power` off, so nothing can answer it", WAKE)
