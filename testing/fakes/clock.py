"""A clock that tests move."""

from dataclasses import dataclass, field


@dataclass
class FakeClock:
    """Time passes only in `sleep`."""

    seconds: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        """Seconds."""
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)
        self.seconds += seconds
