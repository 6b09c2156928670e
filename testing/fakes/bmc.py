"""One server and its BMC in memory, with a fake clock: firmware, installer and disk.

An installer that loses its ISO never ends, as a live system does not that reads from its CD.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from testing.fakes.clock import FakeClock
from wires.redfish.bmc import BootOverride, Identity, Power

UUID = "c0ffee00-0000-4000-8000-000000000001"


@dataclass
class FakeBmc:
    """Implements `wires.redfish.bmc.BmcClient`, without a Redfish service.

    Args:
        sticky: Whether `Once` remains set, as in sushy-tools; otherwise the next power-on clears it.
        change_s: Seconds until a power request takes effect.
        fault: Called with the name of each request before it takes effect; may raise.
        lost: Called after each write has taken effect; may raise.
    """

    clock: FakeClock
    state: Power = Power.OFF
    image: str | None = None
    disk: str | None = None
    """The ISO from which the disk was installed."""
    override: BootOverride = field(default_factory=lambda: BootOverride("Hdd", "Continuous", "UEFI"))
    sticky: bool = True
    change_s: float = 3.0
    install_s: float = 60.0
    boot_s: float = 20.0
    answers: bool = True
    """Whether the system on the disk answers once booted."""
    machine: Identity = field(default_factory=lambda: Identity(UUID, "SN-1", "R650", "Dell", "1.2"))
    settle_s: float = 0
    boot_mode: str = ""
    url: str = "https://bmc/redfish/v1/Systems/1"
    requests: int = 0
    writes: list[str] = field(default_factory=list)
    installs: int = 0
    fault: Callable[[str], None] = lambda _: None
    lost: Callable[[str], None] = lambda _: None
    read_by_bmc: Callable[[str], None] = lambda _: None
    booted_from: str | None = None
    closed: int = 0
    _events: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    _up_at: float | None = None

    def identity(self) -> Identity:
        self._request("identity")
        return self.machine

    def bmc_version(self) -> str:
        self._request("bmc_version")
        return "7.10"

    def power(self) -> Power:
        self._request("power")
        return self.state

    def boot_override(self) -> BootOverride:
        self._request("boot_override")
        return self.override

    def pending_override(self) -> None:
        """Nothing waits: an override is in effect at once."""

    def media(self) -> str | None:
        self._request("media")
        return self.image

    def insert(self, url: str) -> None:
        self._request("insert")
        assert self.image is None, "a BMC refuses to insert into a full drive"
        self.read_by_bmc(url)
        self.image = url
        self._written(f"insert {url.rsplit('/', 1)[1]}")

    def eject(self) -> None:
        self._request("eject")
        if self.image and self.booted_from == self.image:
            self._events = [event for event in self._events if event[1] != self._installed]
        self.image = None
        self._written("eject")

    def set_override(self, target: str, enabled: str) -> None:
        self._request("set_override")
        self.override = BootOverride(target, "Continuous" if self.sticky else enabled, self.override.mode)
        self._written(f"override {target} {enabled}")

    def request_power(self, want: Power) -> None:
        self._request("request_power")
        change = self._switch_on if want is Power.ON else self._switch_off
        self._events.append((self.clock.now() + self.change_s, change))
        self._written(want.value)

    def close(self) -> None:
        self.closed += 1

    def is_up(self) -> bool:
        """Whether the installed system answers; not counted as a request to the BMC."""
        self._settle()
        return self.answers and self._up_at is not None and self.clock.now() >= self._up_at

    def missing(self, _: object) -> str | None:
        """Return what the installed system lacks to be up."""
        return None if self.is_up() else "no answer yet"

    def run_from_disk(self, disk: str = "installed before") -> "FakeBmc":
        """Make the server run from its disk."""
        self.state, self.disk, self._up_at = Power.ON, disk, self.clock.now()
        return self

    def run_from_media(self, url: str) -> "FakeBmc":
        """Put the server into the middle of an installation."""
        self.image, self.override = url, BootOverride("Cd", "Continuous", "UEFI")
        self._switch_on()
        return self

    def _request(self, what: str) -> None:
        self.requests += 1
        self._settle()
        self.fault(what)

    def _written(self, what: str) -> None:
        self.writes.append(what)
        self.lost(what)

    def _settle(self) -> None:
        while due := sorted((e for e in self._events if e[0] <= self.clock.now()), key=lambda e: e[0]):
            self._events.remove(due[0])
            due[0][1]()

    def _switch_off(self) -> None:
        self.state, self._up_at, self.booted_from = Power.OFF, None, None
        self._events.clear()

    def _switch_on(self) -> None:
        if self.state is Power.ON:
            return
        self.state = Power.ON
        from_cd = self.override.target == "Cd" and self.override.enabled != "Disabled" and self.image is not None
        if not self.sticky:
            self.override = BootOverride("None", "Disabled", self.override.mode)
        self.booted_from = self.image if from_cd else "disk"
        if from_cd:
            self._events.append((self.clock.now() + self.install_s, self._installed))
        elif self.disk:
            self._up_at = self.clock.now() + self.boot_s

    def _installed(self) -> None:
        self.disk, self.installs = self.booted_from, self.installs + 1
        self._switch_off()
