"""A server of the world: the kit's BMC in memory, with a disk that remembers what was done to it, and with faults."""

from collections.abc import Callable
from dataclasses import dataclass, field

from base.errors import BmcRefusedError, BmcTransientError
from boot_media.disk import CHOSEN
from testing.fakes.bmc import FakeBmc
from tests.simulation.clock import SimClock
from wires.bmc.client import BootOverride, Identity, Power

SITE_IMAGE = "http://site/rescue.iso"
REQUEST_S = 0.1
UNSURE_S = 50.0
"""Seconds in which a change takes effect, though its answer was lost: longer than any `change_s`."""


@dataclass(eq=False)
class System:
    """A system on a disk, from the moment of the wipe."""

    host: str
    machine: Identity
    generation: int | None = None
    """The bootstrap VM's disk from which it got its config at its first boot; None: it has not booted."""
    has_joined: bool = False
    """Whether the cluster has had it as a node."""
    taken_out: bool = False
    """Whether an administrator has taken it out of the cluster."""
    is_nobodys: bool = False
    """Whether a `destroy` has taken its record from the state, or has found none."""
    wiped_in: int = 0
    """Number of the run that wiped the disk for it."""
    is_seen: bool = False
    """Whether that run has seen its installer run. A killed run may have switched it on late, and unseen."""
    is_stopped: bool = False
    """Whether the program has asked for power Off while its installer ran. It cannot know then how that has ended."""
    has_ended: bool = False
    """Whether it has seen its installation end, too: it has written to the BMC since."""
    unmarked_in: int | None = None
    """Number of the run in which its mark was first removed, or after which the cache was lost."""

    def unmark(self, run: int) -> None:
        self.unmarked_in = run if self.unmarked_in is None else self.unmarked_in


@dataclass
class Strike:
    """A fault of a BMC: what happens to some of its requests in one run.

    Args:
        kind: `refused` before it has an effect, `lost` after it, `busy`: 503, `down`: no answer for a while.
        run: Number of the run.
        skip: Requests (or writes, if `lost`) that pass first.
        times: Requests that it strikes; of `down`, seconds.
    """

    kind: str
    run: int
    skip: int
    times: int


@dataclass
class Server(FakeBmc):
    """A server and its BMC."""

    name: str = ""
    system: System | None = None
    strikes: list[Strike] = field(default_factory=list)
    down_until: float = 0.0
    forgets: bool = False
    """Whether a restart of its BMC drops media and boot override."""
    run: Callable[[], int] = lambda: 0
    """Returns the number of the present run."""
    about_to_write: Callable[[str], None] = lambda _: None
    told: Callable[[str], None] = lambda _: None
    wiped: Callable[["Server"], None] = lambda _: None
    forced_off: Callable[["Server"], None] = lambda _: None
    shut_down: Callable[["Server"], None] = lambda _: None
    switched_on: Callable[["Server"], None] = lambda _: None
    """Called before the program switches it on."""
    asked_again: Callable[["Server", str], None] = lambda _server, _write: None
    """Called if a write whose answer was lost is made again while it may still take effect."""
    serves: Callable[[str], bool] = lambda _: True
    """Returns whether the media server still serves an image."""
    posted: Callable[[str, str], None] = lambda _host, _text: None
    off_by_person: bool = False
    """Whether a person has switched it off, and it has not been on since."""
    is_on_by_program: bool = False
    """Whether the program has switched it on last, not a person or a crash."""
    way: int = 0
    """Number of the address and the login of its BMC; see `site.way`."""
    replaced: int = 0
    """How many machines it was before."""
    _failing: Strike | None = None
    _unsure: tuple[str, int, float] = ("", 0, 0.0)
    """The last write whose answer was lost, its run, and when."""

    def __post_init__(self) -> None:
        self.fault, self.lost = self._before, self._after

    # What a person and the world do.
    def press(self) -> None:
        """A person presses the power button, or switches the server on."""
        self._settle()
        self.told(f"a person switches {self.name} {'off' if self.state is Power.ON else 'on'}")
        self.off_by_person, self.is_on_by_program = self.state is Power.ON, False
        (self._switch_off if self.off_by_person else self._switch_on)()

    def reboot(self) -> None:
        self._settle()
        if self.state is Power.ON:
            self.told(f"{self.name} crashes, and boots again")
            self.is_on_by_program = False
            self._switch_off()
            self._switch_on()

    def restart_bmc(self, seconds: float) -> None:
        self.told(f"the BMC of {self.name} restarts, {seconds:.0f} s")
        self.down_until = self.clock.now() + seconds
        if self.forgets:
            self.image, self.override = None, BootOverride("None", "Disabled", self.override.mode)

    def replace(self, machine: Identity) -> None:
        """Another machine takes this one's place and BMC address."""
        self.told(f"{self.name} is another machine from now on: {machine.serial}")
        self._switch_off()
        self.machine, self.disk, self.system, self.image = machine, None, None, None
        self.replaced += 1

    @property
    def waits(self) -> bool:
        """Whether a change waits for the next power-on."""
        return self._job is not None

    def settle(self) -> None:
        self._settle()

    def lose_media(self) -> None:
        """Nobody serves its boot ISO any more: a live system that reads from it goes no further."""
        if self.reads_at_boot and self.booted_from == self.image:
            self._events = [event for event in self._events if event[1] != self._installed]

    def runs(self) -> System | None:
        """Return the system that runs from the disk."""
        return self.system if self.is_up() and self.booted_from == "disk" else None

    # The firmware.
    def insert(self, url: str, certificate: str = "") -> None:
        if self.image is not None:
            self._request("insert")
            raise BmcRefusedError("cannot insert the boot ISO: HTTP 409", where=self.url)
        super().insert(url, certificate)

    def set_override(self, target: str, enabled: str, mode: str = "", uri: str = "") -> None:
        super().set_override(target, enabled, mode or self.boot_mode, uri)

    def power(self) -> Power:
        state = super().power()
        if state is Power.ON and self.system and self.system.wiped_in == self.run():
            self.system.is_seen = True
        return state

    def request_power(self, want: Power) -> None:
        if want is Power.OFF and self.state is Power.ON:
            self.forced_off(self)
            if self.system and not self.disk:
                self.system.is_stopped = True
        if want is Power.ON and self.state is Power.OFF:
            self.is_on_by_program = True
            self.switched_on(self)
        super().request_power(want)

    def request_shutdown(self) -> None:
        if self.state is Power.ON:
            self.shut_down(self)
        super().request_shutdown()

    def _boot(self) -> None:
        super()._boot()
        live = self.booted_from
        if live in ("disk", "setup", None) or live == SITE_IMAGE:
            return
        if not self.serves(str(live)):
            self.told(f"{self.name} cannot read its boot ISO, which nobody serves")
            self._events = [event for event in self._events if event[1] != self._installed]
            return
        self.posted(self.name, f"{CHOSEN} /dev/sda")
        self.wiped(self)
        self.disk, self.system = None, System(self.name, self.machine, wiped_in=self.run())

    def _installed(self) -> None:
        self.told(f"{self.name} is installed")
        super()._installed()

    # The wire.
    def _before(self, request: str) -> None:
        clock = self.clock
        assert isinstance(clock, SimClock)
        clock.check()
        clock.sleep(REQUEST_S)
        is_write = request in WRITES
        if is_write:
            if self.system and self.disk and self.system.wiped_in == self.run():
                self.system.has_ended = self.system.is_seen and not self.system.is_stopped
            self.about_to_write(request)
        if clock.now() < self.down_until:
            raise BmcTransientError(f"cannot {request}: no connection", where=self.url, undone=True)
        self._failing = self._strike(is_write=is_write)
        match self._failing and self._failing.kind:
            case "refused":
                raise BmcTransientError(f"cannot {request}: connection refused", where=self.url, undone=True)
            case "busy":
                raise BmcTransientError(f"cannot {request}: HTTP 503", where=self.url, undone=True, refused=True)
            case "down":
                self.down_until = clock.now() + (self._failing.times if self._failing else 0)
                raise BmcTransientError(f"cannot {request}: no connection", where=self.url, undone=True)

    def _after(self, write: str) -> None:
        lost, run, at = self._unsure
        if (lost, run) == (write, self.run()) and self.clock.now() - at < UNSURE_S:
            self.asked_again(self, write)
        self._unsure = ("", 0, 0.0)
        if self._failing and self._failing.kind == "lost":
            self._unsure = (write, self.run(), self.clock.now())
            raise BmcTransientError("no complete answer within 30 s", where=self.url)

    def _strike(self, *, is_write: bool) -> Strike | None:
        for strike in self.strikes:
            if strike.run != self.run() or strike.times <= 0 or (strike.kind == "lost" and not is_write):
                continue
            if strike.skip > 0:
                strike.skip -= 1
                continue
            found = Strike(strike.kind, strike.run, 0, strike.times)
            strike.times = 0 if strike.kind == "down" else strike.times - 1
            self.told(f"the BMC of {self.name}: {strike.kind}")
            return found
        return None


WRITES = ("insert", "eject", "set_override", "set_boot_mode", "set_secure_boot", "request_power", "request_shutdown")
