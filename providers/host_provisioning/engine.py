"""Brings one host from Off to an installed system that answers.

The engine decides from what the BMC shows, and remembers nothing of earlier runs:

| power, virtual CD | meaning | action |
|---|---|---|
| Off, any | `BmcHost` left it so, or a run ended before or after the installation | install, perhaps again |
| On, a boot ISO of this program | a run ended during the installation | ForceOff, then as Off |
| On, empty | the host runs from its disk | adopt it as soon as it answers; send only reads |
| On, empty, to be reinstalled | the operator asked for a reinstallation | ForceOff, then as Off |
| On, another image | unknown | fail; change nothing |

The engine ejects whatever is in the drive, even the right boot ISO: a BMC may name an image that it has dropped.
It ejects the media before the host first boots from disk: a host that is On with an empty drive runs from its disk.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from boot_media.disk import CHOSEN, REFUSED
from boot_media.iso import names_boot_iso
from providers.base.clock import Clock
from providers.base.errors import BmcAuthError, BmcError, BmcIdentityError, BmcTimeoutError, ProvisioningError
from providers.base.progress import Report
from wires.redfish.bmc import CD, HDD, BmcClient, Power
from wires.redfish.boot_mode import BootMode, Proof
from wires.redfish.masking import shown
from wires.redfish.steps import Steps, Waits

HEARTBEAT_S = 10.0
INSERT_S = 300.0  # a BMC that downloads the whole ISO on insertion does so within its own HTTP time-out
UNREAD_S = 900.0  # firmware takes up to 10 minutes before it first reads a virtual CD
UNSEEN_S = 60.0  # a host that fetched the ISO after power-on and is Off this much later has booted and finished
ADOPTED = ""
ADOPTING = "adopting: it runs from its disk"


class BootIsos(Protocol):
    """Makes and serves boot ISOs."""

    def publish(self, host: str) -> str | None:
        """Have the host's ISO made and served; return its URL, or None while it is being made."""
        ...

    def sent(self, url: str) -> int | None:
        """Return the bytes sent of the ISO at `url`; None if unknown."""
        ...

    def progress(self, url: str) -> str:
        """Return who has read how much of the ISO at `url`; empty if nobody has, or if unknown."""
        ...

    def digest(self, host: str) -> str:
        """Return the SHA-256 of the ISO that was published for `host`."""
        ...

    def verdict(self, host: str) -> str:
        """Return what the live system of `host` says of its disk, see `boot_media.disk`; empty if nothing yet."""
        ...


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
        guard: Lock on the server, held during the whole installation.
    """

    bmc: BmcClient
    clock: Clock
    media: BootIsos
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
                self.world.bmc.close()
        self._enter("installed" if self.iso_sha256 else "adopted")

    def _way(self, steps: Steps) -> Waits:
        yield from self._expect_the_machine(steps)
        power, media = yield from steps.value("power and virtual CD", self._look)
        if power is Power.ON and media is None and not self.host.anew:
            self._enter(ADOPTING)
        else:
            yield from self._install(steps, power, media)
            yield from self._boot_from_disk(steps)
            self._enter("booting from disk")
        yield from self._wait_until_up(steps)

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
        """Boot the installer from virtual CD, and wait until it has switched the server off."""
        ours = media is None or names_boot_iso(media, self.host.name)
        if power is Power.ON and not ours:
            what = f"it runs with {shown(media or '')} in its virtual CD drive"
            fix = "eject that, or switch the server off, then run `pulumi up` again"
            raise BmcError(what, where=self.world.bmc.url, fix=fix)
        if power is Power.ON:
            self._enter("stopping the running system" if media is None else "stopping an interrupted installation")
            yield from steps.power(Power.OFF)
        self._enter("media")
        publish = partial(self.world.media.publish, self.host.name)
        url = yield from steps.value("the boot ISO", publish, within_s=math.inf)
        self.iso_sha256 = self.world.media.digest(self.host.name)
        yield from steps.no_media()
        yield from self._insert(steps, url)
        yield (yield from steps.value("the kind of BMC", lambda: self.world.bmc.settle_s))
        yield from BootMode(steps, self._enter).set_up()
        # The last On of a killed run may take effect only now; it must not count as this run's.
        yield from steps.power(Power.OFF)
        yield from steps.override(CD)
        # Insert again: a BMC that has restarted meanwhile has dropped the image.
        yield from self._insert(steps, url)
        self._enter("starting the installer")
        yield from self._start(steps, url)
        self._enter("installing from ISO")
        what = "power Off (the sign that the installation is done)"
        self._url = url
        yield from steps.wait_until(what, self._is_done(url), within_s=math.inf)
        self._url = ""
        word, text = self._verdict()
        if word == REFUSED:
            yield from self._stop(steps, text)
        self.disk = text if word == CHOSEN else ""

    def _verdict(self) -> tuple[str, str]:
        """Return the first word and the rest of what the live system says of its disk."""
        word, _, text = self.world.media.verdict(self.host.name).partition(" ")
        return word, text

    def _stop(self, steps: Steps, why: str) -> Waits:
        """Switch a live system off that found no disk to install to, and say why."""
        self._enter("stopping the installer, which found no disk")
        yield from steps.power(Power.OFF)
        yield from steps.no_media()
        fix = "correct the host's rootDeviceHints, or its disks, then run `pulumi up` again"
        raise ProvisioningError(f"nothing was wiped: {why}", where=self.world.bmc.url, fix=fix)

    def _insert(self, steps: Steps, url: str) -> Waits:
        try:
            yield from steps.media(url, within_s=INSERT_S)
        except BmcAuthError:
            raise
        except BmcTimeoutError as error:
            if self.world.media.sent(url) != 0:
                raise
            if error.refused:
                raise self._refused(url, error) from None
            raise self._never_fetched(url, INSERT_S, error.fault.what) from None
        except BmcError as error:
            if self.world.media.sent(url):
                raise
            raise self._refused(url, error) from None

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
            if self.world.media.sent(url) == 0 and self.world.clock.now() - started >= UNREAD_S:
                seen = self.world.bmc.boot_override()
                raise self._never_fetched(url, UNREAD_S, f"its boot override reads {seen.target} {seen.enabled}")
            if self._verdict()[0] == REFUSED:
                return True
            is_off = self.world.bmc.power() is Power.OFF
            proof.look(last=is_off)
            return is_off

        return is_done

    def _boot_from_disk(self, steps: Steps) -> Waits:
        self._enter("ejecting")
        yield from steps.no_media()
        # Hdd, Once leaves the permanent boot order to the operator. It matters where a BMC keeps Cd, Once after the
        # boot (sushy-tools): without it, the host would boot the CD again.
        yield from steps.override(HDD)
        self._enter("starting from disk")
        yield from steps.power(Power.ON)

    def _wait_until_up(self, steps: Steps) -> Waits:
        def is_up() -> bool:
            self._missed = self.world.missing(self.host) or ""
            return not self._missed

        yield from steps.wait_until(f"an answer of {self.host.address}", is_up, within_s=math.inf)

    def _refused(self, url: str, error: BmcError) -> ProvisioningError:
        what = f"the BMC refuses the boot ISO from {_server(url)}: {error.fault.what}"
        fix = (
            "do what the BMC says: some take an ISO over https alone (media.url) or from port 80 alone (media.port); "
            "if it cannot reach the ISO, look for a firewall or a route"
        )
        return ProvisioningError(what, where=self.world.bmc.url, fix=error.fault.fix or fix)

    def _never_fetched(self, url: str, within_s: float, why: str) -> ProvisioningError:
        server = _server(url)
        what = f"the BMC never fetched the boot ISO from {server} within {within_s:g} s: {why}"
        fix = "let it reach that address (media.address, media.port, or media.url): look for a firewall or a route"
        return ProvisioningError(what, where=self.world.bmc.url, fix=fix)

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
        doing = f"{self._step}: {seen}" if seen else self._step
        self.world.report(f"{doing}; {spent:,.0f} s spent, {max(0, self._until - now):,.0f} s left")


def _server(url: str) -> str:
    """Return the URL of a server without the path, which is as good as a password."""
    return "/".join(url.split("/")[:3])
