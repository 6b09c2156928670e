"""What the handoff moves, and what it is moved by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Segment(Protocol):
    """What can be seen of the cluster from the provisioner."""

    def vip_macs(self) -> tuple[frozenset[str], ...]:
        """MACs that answer each API VIP, in their order."""
        ...

    def macs_of(self, address: str) -> frozenset[str]:
        """MACs that answer an address."""
        ...

    def problem(self, address: str) -> str | None:
        """Why the API behind an address is not ready; None: it is."""
        ...

    def serves_config(self, address: str) -> bool:
        """Whether a config server answers behind an address."""
        ...


class Guest(Protocol):
    """The bootstrap VM."""

    def say(self, word: str) -> str:
        """Say `release`, `hold` or `status` on the channel; the answer."""
        ...

    def stop(self) -> None:
        """Shut the VM down, by deadline."""
        ...


class Client(Protocol):
    """A client of the VIPs; see wires.api.client."""

    def figures(self, started: float) -> dict[str, Any]:
        """What it met so far: the keys of `UNMEASURED`.

        Args:
            started: When the handoff began, by the clock of both; `gap_at_s` counts from then.
        """
        ...


UNMEASURED: Mapping[str, Any] = {
    "gap_ms": None,
    "gap_at_s": None,
    "probes_sent": 0,
    "probes_failed": 0,
    "felt": {},
}
"""Figures where no client looked."""

Signal = Callable[[str], str | None]
"""What the payload itself says is missing before its bootstrap may end, asked at an address; None: nothing."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Who may hold the API VIPs, and how long each step may take (seconds)."""

    vips: tuple[str, ...]
    """One, or one of each family: they move together."""
    bootstrap_name: str
    bootstrap_mac: str
    nodes: Mapping[str, str]
    """Address of each control-plane node, by name."""
    min_ready: int
    """How many of them must be ready before the VIPs are let go."""
    stable_s: float
    soak_s: float
    deadline_s: float
    bootstrap_s: float

    @property
    def soaks_s(self) -> float:
        """A break in the soak starts it anew; after this time the VIPs go back."""
        return 4 * self.soak_s
