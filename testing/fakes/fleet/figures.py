"""What a test sets and sees of a server: its pace, the requests that its BMC got, and its state."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

Range = tuple[float, float]


@dataclass(frozen=True)
class Pace:
    """Durations, each a range from which a host draws with its own seed.

    Args:
        by_requests: Whether time is the number of requests to this BMC or its server's API: a change that takes N
            shows in the answer after the next N. Otherwise time is in seconds.
        power: From a Reset to its effect.
        install: From the fetched medium to the power-off that ends an installation.
        boot: From power on to an API that is ready.
        latency_s: From the turn of a request to its answer, in seconds in any case.
    """

    by_requests: bool = True
    power: Range = (1, 1)
    install: Range = (2, 2)
    boot: Range = (1, 1)
    latency_s: Range = (0, 0)


@dataclass(slots=True)
class Received:
    """One received request, whatever the answer."""

    line: str
    """`METHOD path`."""
    body: Any = None
    """Its JSON document; None if it has none."""
    token: str = ""
    """The token of its session; empty if it has none."""


@dataclass
class Figures:
    """The counters of one BMC."""

    received: list[Received] = field(default_factory=list)
    """Every request, in order."""
    resets: Counter[str] = field(default_factory=Counter)
    """Resets carried out, by type."""
    inserts: list[str] = field(default_factory=list)
    """URLs that were inserted through the BMC."""
    ejects: int = 0
    booted: list[str] = field(default_factory=list)
    """By power-on: the URL of the image, `setup` (of the firmware), `disk`, or `nothing`."""
    installs: int = 0
    fetched: int = 0
    """Bytes of media that were read."""
    connections: int = 0
    peak: int = 0
    """Largest number of requests open at once."""

    @property
    def lines(self) -> list[str]:
        """Every request as `METHOD path`, in order."""
        return [request.line for request in self.received]

    @property
    def requests(self) -> Counter[str]:
        """The number of requests by `METHOD path`."""
        return Counter(self.lines)

    @property
    def writes(self) -> list[str]:
        """Requests other than GET, each as `METHOD path`, in order."""
        return [line for line in self.lines if not line.startswith("GET ")]

    @property
    def bodies(self) -> list[Any]:
        """JSON documents of the requests that have one, in order."""
        return [request.body for request in self.received if request.body is not None]


@dataclass
class State:
    """The state of one server."""

    power: str = "Off"
    """On, Off, PoweringOn or PoweringOff."""
    image: str = ""
    """URL of the inserted image."""
    disk: str = ""
    """URL of the image from which its disk was installed."""
    running: bool = False
    """Whether its API is ready."""
    target: str = "None"
    enabled: str = "Disabled"
    sessions: int = 0
    secure: bool = False
    """Whether Secure Boot is on, from the next boot."""
    mode: str = ""
    """The boot mode; empty if the BMC reports none."""
    verifies: bool = False
    """Whether the drive that boots verifies the server of its image."""
    certificates: list[str] = field(default_factory=list)
    """PEM of those by which it verifies."""
