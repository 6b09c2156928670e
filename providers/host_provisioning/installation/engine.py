"""Brings one host from Off to an installed system that answers.

The engine decides from what the BMC shows, and from the evidence that an earlier run has installed the host:

| power, virtual CD | meaning | action |
|---|---|---|
| Off, or On with a boot ISO of this program, and evidence | a run ended after the installation | boot from disk |
| Off, any | `BmcHost` left it so, or a run ended before or during the installation | install, perhaps again |
| On, this very boot ISO, boot override still set | a run ended before the firmware booted | wait for that |
| On, a boot ISO of this program | a run ended during the installation | ForceOff, then as Off |
| On, empty | the host runs from its disk | adopt it as soon as it answers; send only reads |
| On, empty, `reinstall` | the operator asked for a reinstallation | ForceOff, then as Off |
| On, another image | unknown | fail; change nothing |

A host that boots from the network has no virtual CD. If it is On, a run that ended may also have left it in the
middle of its installation: what its live system fetches or sends then shows that the installation goes on.

The engine ejects whatever is in the drive, even the right boot ISO: a BMC may name an image that it has dropped.
It ejects the media before the host first boots from disk: a host that is On with an empty drive runs from its disk.
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from functools import partial

from base.errors import BmcIdentityError, BmcRefusedError, BmcTimeoutError, Fault, ProvisioningError
from boot_media.disk import CHOSEN, FAILED, REFUSED, STALE
from boot_media.iso import names_boot_iso
from providers.consent import naming
from providers.host_provisioning.installation.adapters import Adapters, Target
from providers.host_provisioning.installation.iso_fault import IsoFault
from providers.host_provisioning.installation.running_host import UNSEEN_S, RunningHost
from providers.host_provisioning.installation.shown_steps import HEARTBEAT_S, INSTALLED, WAS_UP, ShownSteps
from providers.mark_file import Ended
from wires.bmc.boot_mode import BootMode, SecureBootProof
from wires.bmc.client import CD, ONCE, SPELLINGS, Identity, Power
from wires.bmc.steps import STEP_S, Steps, Waits, names_image
from wires.redfish.client.masking import shown

POST_SHARE = 0.5
"""The share of a host's deadline that its firmware may take from power-on to its first read of the ISO.

Dell's best practices for the Lifecycle Controller: POST takes 10 s per GB where memory is tested, a minute per RAID
controller, 10 s per card. Half of the default is 1800 s, ironic's deploy_callback_timeout for its own live system.
"""
TOO_LATE = (
    "look at the server's console; if it was still at work, raise deadlines.host_s, in which each start of its "
    "firmware counts; then run `pulumi up` again"
)
RUNS = "if `oc get node` shows it by then, remove its line from `reinstall` first"
ADOPTED = ""
ADOPTING, FIRST_BOOT = "adopting, as it runs from its disk", "booting from disk"
TAKING_OUT = "taking it out of the cluster"


@dataclass
class _PowerOnRequest:
    """The last request to switch a host on."""

    at: float = math.inf
    bytes_before: int = 0
    """Bytes of the ISO that were read before it."""


@dataclass
class Installation:
    """The installation of one host. After `run` has ended, `iso_sha256`, `disk` and `seconds` describe it."""

    host: Target
    adapters: Adapters
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
    _shown: ShownSteps = field(init=False, repr=False, compare=False)
    _machine: Identity = field(default_factory=lambda: Identity("", ""))
    _url: str = ""
    """URL of the boot ISO; empty until it is served."""
    _read_url: str = ""
    """URL of the ISO that is being read; empty if none."""
    _missing: str = ""
    """What the installed system lacked at the last check."""

    @property
    def post_s(self) -> float:
        """Seconds that the firmware may take from power-on until it boots."""
        return self.deadline_s * POST_SHARE

    @property
    def _on_s(self) -> float:
        """Seconds until the BMC says that the server is On; some answer 503 as long as its firmware starts."""
        return max(STEP_S, self.post_s)

    def run(self) -> Waits:
        """Install the host, or adopt it.

        Raises:
            OkdBaremetalError: The host was not installed; the message names its BMC.
        """
        clock = self.adapters.clock
        deadline = clock.now() + self.deadline_s
        self._shown = ShownSteps(
            clock=clock,
            report=self.adapters.report,
            deadline_s=self.deadline_s,
            heartbeat_s=self.heartbeat_s,
            expected_s=self.expected_s,
            state=self._state,
            seconds=self.seconds,
        )
        with self.adapters.guard:  # a lock of the process; see scheduler.py for what must not be held over a yield
            bmc = self.adapters.bmc
            try:
                bmc.remember()
                for seconds in self._bring_up(Steps(bmc, clock, deadline)):
                    self._shown.beat()
                    yield seconds
                    bmc.remember()
            except BmcTimeoutError as error:
                if self._shown.step in (ADOPTING, FIRST_BOOT):
                    self.adapters.evidence.mark.remove()
                raise self._too_late(error.fault) from None
            finally:
                self.adapters.boot_procedure.withdraw()
                self.adapters.bmc.close()
        self._mark_as_up()
        self._enter(INSTALLED if self.iso_sha256 else WAS_UP)

    def _mark_as_up(self) -> None:
        """Have the bootstrap VM be kept also while this server is off: with a new one, it would be of no cluster."""
        mark = self.adapters.evidence.mark
        if ended := mark.read():
            mark.set(replace(ended, address=self.host.address))

    def _bring_up(self, steps: Steps) -> Waits:
        yield from self._verify_identity(steps)
        power, media = yield from steps.power_and_media()
        if power is Power.ON and media is None and not self.host.reinstall:
            self._enter(ADOPTING)
            if self._is_left_alone or not (yield from self._finish_interrupted(steps)):
                yield from self._wait_until_up(steps)
                return
        elif why := self.host.untouchable:
            raise ProvisioningError(f"{why.what}; nothing was changed", where=self.adapters.bmc.url, fix=why.fix)
        elif not (yield from self._is_installed(steps, power, media)):
            yield from self._install(steps, power, media)
        yield from self._boot_from_disk(steps)
        self._enter(FIRST_BOOT)
        yield from self._wait_until_up(steps)

    @property
    def _is_left_alone(self) -> bool:
        """Whether a host that is On with an empty drive is known to run from its disk, or must not be touched."""
        return self.adapters.boot_procedure.shows_on_bmc or self.host.untouchable is not None

    def _finish_interrupted(self, steps: Steps) -> Generator[float, None, bool]:
        """Finish the installation over the network that an earlier run left. False: the host is up already.

        Its live system fetches from this run, or sends its disk report, as it did to the earlier run. One that has
        done both before switches the host off when it is done. Nobody knows then whether it succeeded: install again.
        """
        url = yield from self._publish(steps)
        bmc, procedure = self.adapters.bmc, self.adapters.boot_procedure
        host = RunningHost(bmc, self.adapters.clock, partial(procedure.is_unread, url), self._check_missing)
        yield from steps.wait_until(f"an answer of {self.host.address}", host.is_known, within_s=math.inf)
        if host.is_up:
            return False
        if not host.is_live and (yield from self._is_installed(steps, Power.OFF, None)):
            return True
        self.iso_sha256 = self.adapters.media.digest(self.host.name)
        if not host.is_live or not (yield from self._finish(steps, url)):
            yield from self._install(steps, Power.ON, None)
        return True

    def _is_installed(self, steps: Steps, power: Power, media: str | None) -> Generator[float, None, bool]:
        """Whether an earlier run has installed the host, although its BMC does not show that."""
        evidence, name = self.adapters.evidence, self.host.name
        if self.host.reinstall or (power is Power.ON and not (media and names_boot_iso(media, name))):
            return False
        self._enter("media")
        yield from self._publish(steps)
        digest = self.adapters.media.digest(name)
        if evidence.is_marked(self._machine, digest):
            self.iso_sha256 = digest
            return True
        asked = partial(evidence.shows_system, self._machine, power)
        return (yield from steps.value("an answer of the cluster", asked, within_s=math.inf))

    def _verify_identity(self, steps: Steps) -> Waits:
        self._machine = machine = yield from steps.identity(self.host.uuid)
        if self.host.uuid and not machine.answers_to(self.host.uuid):
            what = f"the BMC is that of UUID {machine.uuid}, wanted {self.host.uuid}; nothing was changed"
            replaced = f"if that machine replaces the server, {naming(self.host.name, machine)}, then run `pulumi up`"
            fix = f"correct the host's bmc.address; or, {replaced}"
            raise BmcIdentityError(what, where=self.adapters.bmc.url, fix=fix)

    def _install(self, steps: Steps, power: Power, media: str | None) -> Waits:
        """Boot the installer, and wait until it has switched the server off."""
        is_foreign = media is not None and not names_boot_iso(media, self.host.name)
        if power is Power.ON and is_foreign:
            what = f"it runs with {shown(media or '')} in its virtual CD drive"
            fix = "if that may be stopped, switch the server off, then run `pulumi up` again, which ejects it"
            raise BmcRefusedError(what, where=self.adapters.bmc.url, fix=fix)
        self.adapters.evidence.mark.remove()
        if power is Power.ON and media and (yield from self._is_continued(steps, media)):
            return
        if power is Power.ON:
            self._enter("stopping the running system" if media is None else "stopping an interrupted installation")
            yield from steps.power(Power.OFF)
        if self.adapters.take_out:
            self._enter(TAKING_OUT)
            yield from self.adapters.take_out()
        self._enter("media")
        url = yield from self._publish(steps)
        self.iso_sha256 = self.adapters.media.digest(self.host.name)
        yield from self.adapters.boot_procedure.prepare(steps, url)
        yield from BootMode(steps, self.post_s, self._enter).set_up()
        # The last On of a killed run may take effect only now, or while the cluster was asked; it must not count as
        # this run's.
        self.adapters.bmc.remember()
        yield from steps.power(Power.OFF)
        while not (yield from self._boot_installer(steps, url)):
            self._enter("starting over, as its live system was not fetched to the end")
            yield from steps.power(Power.OFF)

    def _is_continued(self, steps: Steps, media: str) -> Generator[float, None, bool]:
        """Whether the installation that an earlier run began went on, and has ended. If not, it has to start over.

        Firmware uses up an override for one boot when it boots. While that is still set, it may be in the middle of
        its POST: off and on again, one that is slower than `post_s` would never be done.
        """
        bmc, procedure = self.adapters.bmc, self.adapters.boot_procedure
        (override,) = yield from steps.value("the boot override", lambda: (bmc.boot_override(),))
        if override.target not in SPELLINGS[CD] or override.enabled != ONCE:
            return False
        url = yield from self._publish(steps)
        if not names_image(media, url) or self.adapters.media.sent(url) is None:
            return False
        self._enter("waiting for the firmware, which an earlier run has started")
        yield from steps.trust(self.adapters.media.certificate(url))

        def has_booted() -> bool:
            return not procedure.is_unread(url) or bmc.power() is Power.OFF

        try:
            yield from steps.wait_until("a read of the boot ISO", has_booted, within_s=self.post_s)
        except BmcTimeoutError:
            return False
        if procedure.is_unread(url):
            return False
        self.iso_sha256 = self.adapters.media.digest(self.host.name)
        return (yield from self._finish(steps, url))

    def _boot_installer(self, steps: Steps, url: str) -> Generator[float, None, bool]:
        """Boot the installer on a host that is off; see `_finish`."""
        yield from self.adapters.boot_procedure.arm(steps, url)
        self._enter("starting the installer")
        yield from self._start(steps, url)
        return (yield from self._finish(steps, url))

    def _publish(self, steps: Steps) -> Generator[float, None, str]:
        if not self._url:
            publish = partial(self.adapters.media.publish, self.host.name)
            self._url = yield from steps.value("the boot ISO", publish, within_s=math.inf)
        return self._url

    def _finish(self, steps: Steps, url: str) -> Generator[float, None, bool]:
        """Wait until the installer has switched the server off, and read its disk report. False: it is stuck."""
        self._enter(self.adapters.boot_procedure.step)
        what = "power Off (the sign that the installation is done)"
        self._read_url = url
        fault = IsoFault(self.adapters.bmc, self.adapters.boot_procedure, url, self.post_s)
        try:
            yield from steps.wait_until(what, self._is_done(url, fault), within_s=math.inf)
        except BmcTimeoutError as error:
            raise fault.explained(error) from None
        self._read_url = ""
        if self.adapters.boot_procedure.is_stuck(url):
            return False
        word, text = self._disk_report()
        if word in (REFUSED, STALE, FAILED):
            yield from self._stop(steps, word, text)
        self.disk = text if word == CHOSEN else ""
        return True

    def _disk_report(self) -> tuple[str, str]:
        """Return the first word and the rest of the live system's disk report."""
        word, _, text = self.adapters.media.disk_report(self.host.name).partition(" ")
        return word, text

    def _stop(self, steps: Steps, word: str, text: str) -> Waits:
        """Switch a live system off that has installed nothing, and say why."""
        self._enter("stopping the installer, which installs nothing")
        yield from steps.power(Power.OFF)
        yield from self.adapters.boot_procedure.disarm(steps)
        what, fix = f"nothing was wiped: {text}", "correct the host's rootDeviceHints, or its disks"
        if word == STALE:
            what = f"nothing was wiped: stale disks: {text}"
            allow = f"list a serialNumber or wwn that only it has in wipe_disks.{self.host.name}"
            fix = f"take each of them out, or erase it; or, if all that is on it may be lost, {allow}"
        if word == FAILED:
            what, fix = f"coreos-installer failed: {text}", "correct what it names, the disk or the boot ISO"
        raise ProvisioningError(what, where=self.adapters.bmc.url, fix=f"{fix}, then run `pulumi up` again")

    def _start(self, steps: Steps, url: str) -> Waits:
        """Switch on, and wait until the host is on or has been: it may finish while its BMC is unreachable."""
        clock, media, bmc = self.adapters.clock, self.adapters.media, self.adapters.bmc
        request = _PowerOnRequest()

        def switch_on() -> None:
            request.at, request.bytes_before = clock.now(), media.sent(url) or 0
            bmc.request_power(Power.ON)

        def has_started() -> bool:
            has_read = (media.sent(url) or 0) > request.bytes_before
            return (clock.now() - request.at >= UNSEEN_S and has_read) or bmc.power() is Power.ON

        yield from steps.ensure("power On", has_started, switch_on, within_s=self._on_s)

    def _is_done(self, url: str, fault: IsoFault) -> Callable[[], bool]:
        bmc, clock, procedure = self.adapters.bmc, self.adapters.clock, self.adapters.boot_procedure
        started_at, proof = clock.now(), SecureBootProof(bmc, clock, self.post_s)

        def is_done() -> bool:
            is_off = bmc.power() is Power.OFF
            if procedure.is_unread(url):
                fault.check(clock.now() - started_at, is_off=is_off)
            if self._disk_report()[0] in (REFUSED, STALE, FAILED) or procedure.is_stuck(url):
                return True
            proof.check(last=is_off)
            return is_off

        return is_done

    def _boot_from_disk(self, steps: Steps) -> Waits:
        if self.iso_sha256:
            self.adapters.evidence.mark.set(Ended(self._machine, self.iso_sha256))
        self._enter("withdrawing the boot ISO")
        yield from self.adapters.boot_procedure.disarm(steps)
        # Hdd, Once leaves the permanent boot order to the operator. It matters where a BMC keeps Cd, Once after the
        # boot (sushy-tools): without it, the host would boot the CD again.
        yield from steps.disk_next()
        self._enter("starting from disk")
        yield from steps.power(Power.ON, within_s=self._on_s)

    def _wait_until_up(self, steps: Steps) -> Waits:
        what = f"an answer of {self.host.address}"
        yield from steps.wait_until(what, lambda: not self._check_missing(), within_s=math.inf)

    def _check_missing(self) -> str:
        """Return what the installed system lacks."""
        self._missing = self.adapters.missing(self.host) or ""
        return self._missing

    def _too_late(self, fault: Fault) -> BmcTimeoutError:
        step, spent = self._shown.step, self._shown.in_step_s
        what = f"{self._missing}; {fault.what}" if self._missing else fault.what
        text = f"step '{step}': {what}; {spent:,.0f} s in it, {self.deadline_s:,.0f} s allowed for the host"
        fix = fault.fix or TOO_LATE
        # The next `up` finds the server in the same state, On with an empty drive, and can only wait for it.
        wipes = "switch it off, then run `pulumi up` again, which wipes and installs it"
        if step == ADOPTING:
            why = self.host.untouchable
            fix = f"look at the server's console; {why.fix if why else f'if it does not run this cluster, {wipes}'}"
        elif step == FIRST_BOOT and self.host.reinstall:
            fix = f"{TOO_LATE}, which wipes it once more; {RUNS}"
        elif step == FIRST_BOOT:
            fix = f"{TOO_LATE}, which waits for it; if its first boot has failed, {wipes}"
        return BmcTimeoutError(text, where=self.adapters.bmc.url, fix=fix)

    def _enter(self, step: str) -> None:
        if step != self._shown.step:
            self._missing = ""
        self._shown.enter(step)

    def _state(self) -> str:
        return self.adapters.media.progress(self._read_url) if self._read_url else self._missing
