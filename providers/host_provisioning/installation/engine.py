"""Brings one host from Off to an installed system that answers.

The engine decides from what the BMC shows, and remembers nothing of earlier runs:

| power, virtual CD | meaning | action |
|---|---|---|
| Off, any | `BmcHost` left it so, or a run ended before or after the installation | install, perhaps again |
| On, a boot ISO of this program | a run ended during the installation | ForceOff, then as Off |
| On, empty | the host runs from its disk | adopt it as soon as it answers; send only reads |
| On, empty, to be reinstalled | the operator asked for a reinstallation | ForceOff, then as Off |
| On, another image | unknown | fail; change nothing |

A host that boots from the network has no virtual CD. If it is On, it may also be one whose installation was left by a
run that ended: then its live system shows by what it fetches or sends that it goes on.

The engine ejects whatever is in the drive, even the right boot ISO: a BMC may name an image that it has dropped.
It ejects the media before the host first boots from disk: a host that is On with an empty drive runs from its disk.
"""

import math
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial

from base.clock import Clock
from base.errors import BmcIdentityError, BmcRefusedError, BmcTimeoutError, ProvisioningError
from base.progress import Progress, Report
from boot_media.disk import CHOSEN, REFUSED
from boot_media.iso import names_boot_iso
from providers.host_provisioning.installation.boot_procedures import BootMedia, BootWay
from wires.redfish.bmc import HDD, BmcClient, Power
from wires.redfish.boot.mode import BootMode, Proof
from wires.redfish.client.masking import shown
from wires.redfish.steps import Steps, Waits

HEARTBEAT_S = 10.0
UNREAD_S = 900.0  # firmware takes up to 10 minutes before it first reads a virtual CD or the network
UNSEEN_S = 60.0  # a host that fetched the ISO after power-on and is Off this much later has booted and finished
ADOPTED = ""
ADOPTING = "adopting: it runs from its disk"
INSTALLED, WAS_UP = "installed", "adopted"
"""The last step of a host that was installed, and of one that ran already."""


@dataclass(frozen=True)
class Target:
    """One host to install.

    Args:
        name: Name in the install-config.
        uuid: Identity that the BMC must report, a UUID or serial; if empty, any machine is accepted.
        address: Address at which the installed system answers.
        anew: Reinstall the host even if it runs from its disk.
    """

    name: str
    uuid: str
    address: str
    anew: bool = False


Missing = Callable[[Target], str | None]
"""Returns what the installed system lacks to be up; None if it is up."""


@dataclass(frozen=True)
class World:
    """Everything outside the engine that an installation uses.

    Args:
        way: How the server gets to its boot ISO.
        guard: Lock on the server, held during the whole installation.
    """

    bmc: BmcClient
    clock: Clock
    media: BootMedia
    way: BootWay
    missing: Missing
    report: Report
    guard: AbstractContextManager[None]


@dataclass
class Installation:
    """The installation of one host. After `run` has ended, `iso_sha256`, `disk` and `seconds` describe it."""

    host: Target
    world: World
    deadline_s: float
    heartbeat_s: float = HEARTBEAT_S
    """Seconds between two lines of progress."""
    expected_s: float | None = None
    """Seconds that an earlier installation took; None if none is known."""
    iso_sha256: str = ADOPTED
    """Digest of the boot ISO; empty if the host was adopted."""
    disk: str = ""
    """The disk that the live system chose; empty if the host was adopted, or could not send it."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Seconds spent in each step, rounded to 0.1."""
    _step: str = "BMC"
    _step_at: float = 0.0
    _reported_at: float = 0.0
    _until: float = 0.0
    _url: str = ""
    """URL of the ISO that is being read; empty if none."""
    _missed: str = ""
    """What the installed system lacked last."""

    def run(self) -> Waits:
        """Install the host, or adopt it.

        Raises:
            OkdBaremetalError: The host was not installed; the message names its BMC.
        """
        clock = self.world.clock
        self._until = clock.now() + self.deadline_s
        self._step_at = clock.now()
        with self.world.guard:
            try:
                for seconds in self._way(Steps(self.world.bmc, clock, self._until)):
                    self._heartbeat()
                    yield seconds
            except BmcTimeoutError as error:
                raise self._too_late(error.fault.what) from None
            finally:
                self.world.way.withdraw()
                self.world.bmc.close()
        self._enter(INSTALLED if self.iso_sha256 else WAS_UP)

    def _way(self, steps: Steps) -> Waits:
        yield from self._expect_the_machine(steps)
        power, media = yield from steps.value("power and virtual CD", self._look)
        if power is Power.ON and media is None and not self.host.anew:
            self._enter(ADOPTING)
            if self.world.way.leaves_a_sign or not (yield from self._is_installing(steps)):
                yield from self._wait_until_up(steps)
                return
        else:
            yield from self._install(steps, power, media)
        yield from self._boot_from_disk(steps)
        self._enter("booting from disk")
        yield from self._wait_until_up(steps)

    def _is_installing(self, steps: Steps) -> Generator[float, None, bool]:
        """Return whether a host that runs is being installed over the network, once it has been; False if it is up.

        Its live system fetches from this run, or sends its verdict, as from the run that started it. One that has
        done both already switches the host off when it is done. Then nobody knows whether it was: install it again.
        """
        url = yield from self._publish(steps)
        media, clock, off_since = self.world.media, self.world.clock, math.inf
        is_up = live = False

        def is_known() -> bool:
            nonlocal is_up, live, off_since
            is_off = self.world.bmc.power() is Power.OFF
            off_since = min(off_since, clock.now()) if is_off else math.inf
            is_up, live = not self._misses(), not self.world.way.is_unread(url)
            return is_up or live or clock.now() - off_since >= UNSEEN_S

        yield from steps.wait_until(f"an answer of {self.host.address}", is_known, within_s=math.inf)
        if is_up:
            return False
        self.iso_sha256 = media.digest(self.host.name)
        if not live or not (yield from self._finish(steps, url)):
            yield from self._install(steps, Power.ON, None)
        return True

    def _look(self) -> tuple[Power, str | None] | None:
        power = self.world.bmc.power()
        return None if power is Power.CHANGING else (power, self.world.bmc.media())

    def _expect_the_machine(self, steps: Steps) -> Waits:
        seen = yield from steps.value("an answer of the BMC", self.world.bmc.identity)
        if self.host.uuid and not seen.answers_to(self.host.uuid):
            what = f"the BMC is that of UUID {seen.uuid}, wanted {self.host.uuid}; nothing was changed"
            fix = "run `pulumi up --refresh`: the server was replaced"
            raise BmcIdentityError(what, where=self.world.bmc.url, fix=fix)

    def _install(self, steps: Steps, power: Power, media: str | None) -> Waits:
        """Boot the installer, and wait until it has switched the server off."""
        ours = media is None or names_boot_iso(media, self.host.name)
        if power is Power.ON and not ours:
            what = f"it runs with {shown(media or '')} in its virtual CD drive"
            fix = "eject that, or switch the server off, then run `pulumi up` again"
            raise BmcRefusedError(what, where=self.world.bmc.url, fix=fix)
        if power is Power.ON:
            self._enter("stopping the running system" if media is None else "stopping an interrupted installation")
            yield from steps.power(Power.OFF)
        self._enter("media")
        url = yield from self._publish(steps)
        self.iso_sha256 = self.world.media.digest(self.host.name)
        yield from self.world.way.prepare(steps, url)
        yield from BootMode(steps, self._enter).set_up()
        # The last On of a killed run may take effect only now; it must not count as this run's.
        yield from steps.power(Power.OFF)
        while not (yield from self._boot_the_installer(steps, url)):
            self._enter("starting over: its live system was not fetched to the end")
            yield from steps.power(Power.OFF)

    def _boot_the_installer(self, steps: Steps, url: str) -> Generator[float, None, bool]:
        """Boot the installer on a host that is off; see `_finish`."""
        yield from self.world.way.arm(steps, url)
        self._enter("starting the installer")
        yield from self._start(steps, url)
        return (yield from self._finish(steps, url))

    def _publish(self, steps: Steps) -> Generator[float, None, str]:
        publish = partial(self.world.media.publish, self.host.name)
        return (yield from steps.value("the boot ISO", publish, within_s=math.inf))

    def _finish(self, steps: Steps, url: str) -> Generator[float, None, bool]:
        """Wait until the installer has switched the server off, and read which disk it chose. False: it is stuck."""
        self._enter(self.world.way.doing)
        what = "power Off (the sign that the installation is done)"
        self._url = url
        yield from steps.wait_until(what, self._is_done(url), within_s=math.inf)
        self._url = ""
        if self.world.way.is_stuck(url):
            return False
        word, text = self._verdict()
        if word == REFUSED:
            yield from self._stop(steps, text)
        self.disk = text if word == CHOSEN else ""
        return True

    def _verdict(self) -> tuple[str, str]:
        """Return the first word and the rest of what the live system says of its disk."""
        word, _, text = self.world.media.verdict(self.host.name).partition(" ")
        return word, text

    def _stop(self, steps: Steps, why: str) -> Waits:
        """Switch a live system off that found no disk to install to, and say why."""
        self._enter("stopping the installer, which found no disk")
        yield from steps.power(Power.OFF)
        yield from self.world.way.disarm(steps)
        fix = "correct the host's rootDeviceHints, or its disks, then run `pulumi up` again"
        raise ProvisioningError(f"nothing was wiped: {why}", where=self.world.bmc.url, fix=fix)

    def _start(self, steps: Steps, url: str) -> Waits:
        """Switch on, and wait until the host is on or has been: it may finish while its BMC is unreachable."""
        clock, media, bmc = self.world.clock, self.world.media, self.world.bmc
        asked, before = math.inf, 0

        def switch_on() -> None:
            nonlocal asked, before
            asked, before = clock.now(), media.sent(url) or 0
            bmc.request_power(Power.ON)

        def has_started() -> bool:
            was_on = clock.now() - asked >= UNSEEN_S and (media.sent(url) or 0) > before
            return was_on or bmc.power() is Power.ON

        yield from steps.ensure("power On", has_started, switch_on)

    def _is_done(self, url: str) -> Callable[[], bool]:
        started, proof = self.world.clock.now(), Proof(self.world.bmc, self.world.clock)

        def is_done() -> bool:
            way, is_off = self.world.way, self.world.bmc.power() is Power.OFF
            spent = self.world.clock.now() - started
            if (is_off or spent >= UNREAD_S) and way.is_unread(url):
                power, seen = "off" if is_off else "on", self.world.bmc.boot_override()
                why = f"the server is {power}, and its boot override reads {seen.target} {seen.enabled}"
                raise way.never_fetched(url, spent, why)
            if self._verdict()[0] == REFUSED or way.is_stuck(url):
                return True
            proof.look(last=is_off)
            return is_off

        return is_done

    def _boot_from_disk(self, steps: Steps) -> Waits:
        self._enter("withdrawing the boot ISO")
        yield from self.world.way.disarm(steps)
        # Hdd, Once leaves the permanent boot order to the operator. It matters where a BMC keeps Cd, Once after the
        # boot (sushy-tools): without it, the host would boot the CD again.
        yield from steps.override(HDD)
        self._enter("starting from disk")
        yield from steps.power(Power.ON)

    def _wait_until_up(self, steps: Steps) -> Waits:
        what = f"an answer of {self.host.address}"
        yield from steps.wait_until(what, lambda: not self._misses(), within_s=math.inf)

    def _misses(self) -> str:
        """Return what the installed system lacks."""
        self._missed = self.world.missing(self.host) or ""
        return self._missed

    def _too_late(self, what: str) -> BmcTimeoutError:
        spent = self.world.clock.now() - self._step_at
        what = f"{self._missed}; {what}" if self._missed else what
        text = f"step '{self._step}': {what}; {spent:,.0f} s in it, {self.deadline_s:,.0f} s allowed for the host"
        fix = "look at the server's console, then run `pulumi up` again"
        if self._step == ADOPTING:
            fix = "if it does not run this cluster, switch it off, then run `pulumi up` again, which installs it"
        return BmcTimeoutError(text, where=self.world.bmc.url, fix=fix)

    def _enter(self, step: str) -> None:
        now = self.world.clock.now()
        if step != self._step:
            self.seconds[self._step] = round(now - self._step_at, 1)
            self._step, self._step_at, self._missed = step, now, ""
        self._report(now)

    def _heartbeat(self) -> None:
        now = self.world.clock.now()
        if now - self._reported_at >= self.heartbeat_s:
            self._report(now)

    def _report(self, now: float) -> None:
        self._reported_at = now
        spent = self.deadline_s - (self._until - now)
        seen = self.world.media.progress(self._url) if self._url else self._missed
        is_last = self._step in (INSTALLED, WAS_UP)
        time = f"{spent:,.0f} s spent{'' if is_last else self._left(spent)}"
        detail = f"{seen}; {time}" if seen else time
        self.world.report(Progress(self._step, detail, took_s=round(spent, 1) if is_last else None))

    def _left(self, spent: float) -> str:
        limit = f"{max(0, self.deadline_s - spent):,.0f} s"
        if self.expected_s is None or self.expected_s > self.deadline_s:
            return f", at most {limit} left"
        if spent > self.expected_s:
            return f", longer than the {self.expected_s:,.0f} s of the time before, at most {limit} left"
        return f", about {self.expected_s - spent:,.0f} s left, at most {limit}"
