"""One server and its BMC in memory, with a fake clock: firmware, installer and disk.

An installer that loses its ISO never ends, like a live system that reads from its CD.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from testing.fakes.clock import FakeClock
from wires.bmc.client import BootOverride, Identity, Power, SecureBoot

T = TypeVar("T")
UUID = "c0ffee00-0000-4000-8000-000000000001"


@dataclass
class FakeBmc:
    """Implements `wires.bmc.client.BmcClient`, without a Redfish service.

    Args:
        sticky: Whether `Once` remains set, as in sushy-tools; otherwise the next power-on clears it.
        change_s: Seconds until a power request takes effect.
        wanted_mode: The boot mode that the host must have.
        secure: Its Secure Boot; None if it has no Secure Boot.
        by_job: Whether a change of boot mode or Secure Boot waits for the next power-on, as on iDRAC.
        fault: Called with the name of each request before it takes effect; may raise.
        lost: Called after each write has taken effect; may raise.
    """

    clock: FakeClock
    state: Power = Power.OFF
    image: str | None = None
    trusted: str = ""
    """The certificate by which the BMC verifies the server of its image; empty if it verifies nothing."""
    disk: str | None = None
    """The ISO from which the disk was installed."""
    override: BootOverride = field(default_factory=lambda: BootOverride("Hdd", "Continuous", "UEFI"))
    sticky: bool = True
    change_s: float = 3.0
    install_s: float = 60.0
    boot_s: float = 20.0
    shutdown_s: float = 40.0
    """Seconds that its operating system takes to shut down."""
    hears_shutdown: Callable[[], bool] = lambda: True
    """Returns whether its operating system heeds a request to shut down."""
    post_s: float = 0.0
    """Seconds from On until the firmware boots."""
    reads_at_boot: bool = False
    """Whether the BMC reads its image only when the firmware boots it."""
    answers: bool = True
    """Whether the system on the disk answers once booted."""
    machine: Identity = field(default_factory=lambda: Identity(UUID, "SN-1", "R650", "Dell", "1.2"))
    settle_s: float = 0
    boot_mode: str = ""
    wanted_mode: str = "UEFI"
    modes: tuple[str, ...] = ()
    secure: SecureBoot | None = None
    by_job: bool = False
    url: str = "https://bmc/redfish/v1/Systems/1"
    requests: int = 0
    writes: list[str] = field(default_factory=list)
    installs: int = 0
    fault: Callable[[str], None] = lambda _: None
    lost: Callable[[str], None] = lambda _: None
    targets: tuple[str, ...] = ("None", "Cd", "Hdd", "Pxe", "UefiHttp", "BiosSetup")
    """The boot overrides that it offers."""
    refuse_override: Callable[[str, str, str], None] = lambda *_: None
    """Called with target, enabled and mode of each boot override; may raise."""
    read_by_bmc: Callable[[str], None] = lambda _: None
    boot_over_network: Callable[[], str | None] = lambda: None
    """Returns the live system that iPXE, or UEFI by HTTP, boots; None: it goes on to the disk."""
    booted_from: str | None = None
    uri: str = ""
    """What firmware that boots by HTTP would fetch."""
    closed: int = 0
    _events: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    _up_at: float | None = None
    _remembered: dict[str, Any] | None = None
    """What was read since the last write; None: each read is a request."""
    _job: Callable[[], None] | None = None
    _override_at_boot: Callable[[], BootOverride] | None = None

    def remember(self) -> None:
        self._remembered = {}

    def identity(self) -> Identity:
        return self._read("identity", lambda: self.machine)

    def bmc_version(self) -> str:
        self._request("bmc_version")
        return "7.10"

    def power(self) -> Power:
        return self._read("power", lambda: self.state)

    def boot_override(self) -> BootOverride:
        return self._read("boot_override", lambda: self.override)

    def pending_override(self) -> None:
        """Return no override: each one is in effect at once."""

    def boot_modes(self) -> tuple[str, ...]:
        return self._read("boot_modes", lambda: self.modes)

    def expect_boot_method(self) -> None:
        """Accept all: this BMC offers every boot override."""

    def secure_boot(self) -> SecureBoot | None:
        return self._read("secure_boot", lambda: self.secure)

    def media(self) -> str | None:
        return self._read("media", lambda: self.image)

    def media_at_once(self) -> tuple[str | None, str]:
        return self.media(), ""

    def insert(self, url: str, certificate: str = "") -> None:
        self._request("insert")
        self.trusted = certificate
        assert self.image is None, "a BMC refuses to insert into a full drive"
        if not self.reads_at_boot:
            self.read_by_bmc(url)
        self.image = url
        self._written(f"insert {url.rsplit('/', 1)[1]}")

    def trust(self, certificate: str) -> None:
        self._request("trust")
        self.trusted = certificate

    def eject(self) -> None:
        self._request("eject")
        if self.image and self.booted_from == self.image:
            self._events = [event for event in self._events if event[1] != self._installed]
        self.image = None
        self._written("eject")

    def offers(self, target: str) -> bool:
        return target in self.targets

    def set_override(self, target: str, enabled: str, mode: str = "", uri: str = "") -> None:
        self._request("set_override")
        assert bool(uri) == (target == "UefiHttp"), "a boot by HTTP needs a URI, and only that one has it"
        self.refuse_override(target, enabled, mode)
        self.uri = uri
        kept = "Continuous" if self.sticky and enabled == "Once" else enabled
        self.override = BootOverride(target or self.override.target, kept, mode or self.override.mode)
        self._written(" ".join(filter(None, ("override", target, enabled, mode))))

    def set_boot_mode(self, mode: str) -> None:
        self._request("set_boot_mode")
        self._job = partial(self._apply_mode, mode)
        self._run_job(at_once=not self.by_job)
        self._written(f"mode {mode}")

    def set_secure_boot(self, *, enabled: bool) -> None:
        self._request("set_secure_boot")
        self._job = partial(self._apply_secure_boot, enabled=enabled)
        self._run_job(at_once=not self.by_job)
        self._written(f"secure boot {enabled}")

    def request_power(self, want: Power) -> None:
        self._request("request_power")
        change = self._switch_on if want is Power.ON else self._switch_off
        self._events.append((self.clock.now() + self.change_s, change))
        self._written(want.value)

    def request_shutdown(self) -> None:
        self._request("request_shutdown")
        if self.state is Power.ON and self.hears_shutdown():
            self._events.append((self.clock.now() + self.shutdown_s, self._switch_off))
        self._written("shut down")

    def boot_by(self, override: Callable[[], BootOverride]) -> None:
        """Have the firmware ask for the boot override right before each boot, as another BMC before it keeps that."""
        self._override_at_boot = override

    def check_task(self) -> str:
        """Return no state: this BMC starts no task."""
        return ""

    def close(self) -> None:
        self.closed, self._remembered = self.closed + 1, None

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

    def _read(self, what: str, read: Callable[[], T]) -> T:
        """Read, unless that is remembered."""
        self._settle()
        known = self._remembered
        if known is not None and what in known:
            remembered: T = known[what]
            return remembered
        self._request(what)
        self._remembered = known  # only a write forgets
        answer = read()
        if known is not None:
            known[what] = answer
        return answer

    def _request(self, what: str) -> None:
        if self._remembered is not None:
            self._remembered = {}
        self.requests += 1
        self._settle()
        self.fault(what)

    def _written(self, what: str) -> None:
        self.writes.append(what)
        self.lost(what)

    def _settle(self) -> None:
        while self._events and (due := min(self._events, key=lambda event: event[0]))[0] <= self.clock.now():
            self._events.remove(due)
            due[1]()

    def _switch_off(self) -> None:
        self.state, self._up_at, self.booted_from = Power.OFF, None, None
        self._events.clear()

    def _switch_on(self) -> None:
        if self.state is Power.ON:
            return
        self.state = Power.ON
        self._run_job(at_once=True)
        if self.secure:
            self.secure = replace(self.secure, current="Enabled" if self.secure.enabled else "Disabled")
        self._events.append((self.clock.now() + self.post_s, self._boot))
        self._settle()

    def _boot(self) -> None:
        if self._override_at_boot:
            self.override = self._override_at_boot()
        setup = self.override.target == "BiosSetup"
        target = self.override.target if self.override.enabled != "Disabled" else ""
        live = self.image if target == "Cd" else self.boot_over_network() if target in ("Pxe", "UefiHttp") else None
        if not self.sticky:
            self.override = BootOverride("None", "Disabled", self.override.mode)
        if self.reads_at_boot and live and live == self.image:
            self.read_by_bmc(live)
        self.booted_from = live or ("setup" if setup else "disk")
        if live:
            self._events.append((self.clock.now() + self.install_s, self._installed))
        elif self.disk and not setup:
            self._up_at = self.clock.now() + self.boot_s

    def _run_job(self, *, at_once: bool) -> None:
        if at_once and self._job:
            self._job()
            self._job = None

    def _apply_mode(self, mode: str) -> None:
        self.override = replace(self.override, mode=mode)

    def _apply_secure_boot(self, *, enabled: bool) -> None:
        assert self.secure, "a BMC without Secure Boot has nothing to write"
        self.secure = replace(self.secure, enabled=enabled)

    def _installed(self) -> None:
        self.disk, self.installs = self.booted_from, self.installs + 1
        self._switch_off()
