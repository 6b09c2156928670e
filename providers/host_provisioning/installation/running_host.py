"""What a host that was running when a run began has shown: an installed system, or a live one."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from base.clock import Clock
from wires.bmc.client import BmcClient, Power

UNSEEN_S = 60.0  # a host that fetched the ISO after power-on and is Off this much later has booted and finished


@dataclass
class RunningHost:
    """A host that boots from the network, and is On without a record.

    Args:
        is_unread: Whether nothing of its ISO was fetched in this run.
        check_missing: Returns what it lacks to be up; empty if it is up.
    """

    bmc: BmcClient
    clock: Clock
    is_unread: Callable[[], bool]
    check_missing: Callable[[], str]
    is_up: bool = False
    is_live: bool = False
    _off_since: float = math.inf

    def is_known(self) -> bool:
        """Read the host; return whether it is up, live, or has been off for `UNSEEN_S`."""
        now, is_off = self.clock.now(), self.bmc.power() is Power.OFF
        self._off_since = min(self._off_since, now) if is_off else math.inf
        self.is_up, self.is_live = not self.check_missing(), not self.is_unread()
        return self.is_up or self.is_live or now - self._off_since >= UNSEEN_S
