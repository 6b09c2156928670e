"""Steps for one server: identify it, record it as found, switch it off, and at the end restore it as found."""

from collections.abc import Callable, Generator
from dataclasses import dataclass

from base.clock import Clock
from base.errors import BmcError, BmcIdentityError, BmcRefusedError, BmcTimeoutError, Fault
from base.progress import Progress, Report
from boot_media.iso import names_boot_iso
from providers.bmc_host.model import AsFound
from providers.consent import consent_fault, naming
from wires.bmc.boot_mode import BootMode, check_boot_mode
from wires.bmc.client import HDD, ONCE, BmcClient, BootOverride, Identity, Power
from wires.bmc.identity import named, same, usable
from wires.bmc.steps import Steps, Waits, run_steps
from wires.redfish.client.masking import shown

QUICK_S = 10.0
"""How long what only informs is asked for, in seconds."""
SEE_DRIVE = (
    "see on the BMC's own pages what is in it; if no installation was interrupted, a restart of the BMC may help"
)
LOOK_S, LOOK_EVERY_S = 60.0, 2.0
"""How long a server that its peer may fence has to stay off, and how often it is looked at, in seconds.

Pacemaker misses a peer after some seconds, and waits up to 10 s more to fence the first node (openshift's
cluster-etcd-operator b4786ae33, pkg/tnf/pkg/pcs/fencing.go). A reboot by fence_redfish 4.12.1 had a server that was
off On in 12 s (tried). So as long as the peer runs, it is seen to switch the server on.
"""


@dataclass(frozen=True)
class BmcHostEngine:
    """Steps for one host.

    Args:
        host: Name in the install-config.
        consent: System UUID or serial of the one machine whose disk may be wiped.
        deadline_s: Time for each method, in seconds.
        recorded: The machine in the state; None if there is no record yet.
        fenced: Whether another server may switch the host on, which it does once it finds it off.
    """

    bmc: BmcClient
    clock: Clock
    report: Report
    host: str
    consent: str
    deadline_s: float
    recorded: Identity | None = None
    fenced: bool = False

    def identify(self) -> Identity:
        """Log in, and compare the machine with record and consent; change nothing.

        Raises:
            BmcIdentityError: The BMC is that of another machine; the message has the command that consents to it.
        """
        machine = self._machine()
        self._compare_with_record(machine)
        self.compare_with_consent(machine)
        return machine

    def bmc_version(self) -> str:
        """Return the firmware version of the BMC, informational only; empty if unreported or forbidden."""
        try:
            version = self._steps().value("the BMC's version", self.bmc.bmc_version, within_s=QUICK_S)
            return run_steps(version, self.clock)
        except BmcError:
            return ""

    def is_replaced(self) -> bool:
        """Whether the machine behind the BMC is not the recorded one, and the consent names it."""
        machine = self._machine()
        return self.recorded is not None and not same(self.recorded, machine) and machine.answers_to(self.consent)

    def take_over(
        self, forget: Callable[[], None], node_of: Callable[[Identity], Fault | None]
    ) -> tuple[Identity, AsFound]:
        """Identify the host, record it as found, and leave it Off without media.

        Only for a host without a record: one that runs is switched off without asking its operating system.

        Args:
            forget: Forgets an earlier installation. Called if the host is off: it is new to the stack, or a `destroy`
                has left it so, perhaps on another provisioner, where it could not forget on this one. A host that is
                on may run a cluster whose state has lost a part, so it keeps its disk.
            node_of: Returns why a machine that is on must stay so, since it is a node, or may be one.

        Raises:
            BmcRefusedError: It must stay on; nothing was changed.
        """
        identity = self.identify()
        found = self.with_secure_boot(self._as_found())
        if run_steps(self._steps().current_power(), self.clock) is Power.OFF:
            forget()
        elif fault := node_of(identity):
            raise BmcRefusedError(fault.what, where=f"{self.host} ({self.bmc.url})", fix=fault.fix)
        self.report(Progress("identified", named(identity)))
        run_steps(self._off(self._steps()), self.clock)
        self.report(Progress("off, without media"))
        return identity, found

    def record(self) -> tuple[Identity, AsFound]:
        """Identify the host and record it as found, changing nothing: it runs a cluster whose state was lost.

        Raises:
            BmcRefusedError: It is off or has media in its virtual CD, so it would be installed.
        """
        identity, found = self.identify(), self._as_found()
        power = run_steps(self._steps().current_power(), self.clock)
        if power is Power.OFF or found.media:
            shows = f"power {power.value}, virtual CD {found.media or 'empty'}"
            what = f"{shows}: it would be installed; nothing was changed"
            fix = "empty the drive and switch the server on, or remove the host; then run `pulumi up` again"
            raise BmcRefusedError(what, where=f"{self.host} ({self.bmc.url})", fix=fix)
        self.report(Progress("identified", f"{named(identity)}; left as it is"))
        return identity, self.with_secure_boot(found)

    def with_secure_boot(self, found: AsFound) -> AsFound:
        """Return `found` with Secure Boot as it is now, if the host wants that and it has not been recorded yet.

        Raises:
            BmcRefusedError: The host cannot boot as it has to; nothing was changed.
        """
        (now,) = run_steps(
            self._steps().value("how the host can boot", lambda: (check_boot_mode(self.bmc),)), self.clock
        )
        if now is None or found.secure_boot:
            return found
        return found.changed(secure_boot=now.word)

    def observe(self) -> tuple[Identity, AsFound]:
        """Identify a spare and record it as found, changing nothing. It needs a name to consent to, not a consent."""
        machine = self._machine()
        if not usable(machine):
            self.compare_with_consent(machine)
        self.report(Progress("a spare, left as it is", named(machine)))
        return machine, self._as_found()

    def drift(self, found: AsFound) -> tuple[str, list[str]]:
        """Compare the host with `found`, for a refresh.

        Returns:
            A line on power, media and boot override; and warnings of what does not belong to it, or cannot be read.
        """
        bmc = self.bmc
        read = self._steps().value("power and boot override", lambda: (bmc.power(), bmc.boot_override()))
        power, override = run_steps(read, self.clock)
        image, unread = self._media_at_once()
        media, boot = shown(image or "") or ("not read" if unread else "empty"), _words(override)
        line = f"power {power.value}; virtual CD {media}; boot override {boot}"
        warnings = [f"{unread}, which may have an image. Fix: {SEE_DRIVE}"] if unread else []
        if image and names_boot_iso(image, self.host):
            # Without it, the live system breaks, and the server counts as one that runs from its disk.
            what = "an installation was interrupted, and has its boot ISO in the virtual CD"
            return line, [*warnings, f"{what}. Fix: leave it there, and run `pulumi up`, which goes on"]
        left = {"Disabled", _words(found.override), *(f"{HDD} {enabled}" for enabled in (ONCE, "Continuous"))}
        changed = [f"virtual CD {media}, left empty"] if image else []
        if not {override.enabled, boot} & left:
            changed.append(f"boot override {boot}, found {_words(found.override)}")
        return line, [*warnings, *([f"changed by someone else: {'; '.join(changed)}"] if changed else [])]

    def _media_at_once(self) -> tuple[str | None, str]:
        """Return the image in the drives that can be read, and why others cannot be; a refresh has more to tell."""
        try:
            return run_steps(
                self._steps().value("the virtual CD", self.bmc.media_at_once, within_s=QUICK_S), self.clock
            )
        except BmcTimeoutError as error:
            return None, error.fault.what

    def refuse_while_on(self) -> None:
        """Return if the host is off, as its drain has left it.

        Raises:
            BmcRefusedError: It is on; nothing was changed.
        """
        self.identify()
        if run_steps(self._steps().current_power(), self.clock) is not Power.OFF:
            what = "it is on, and was not drained by this run; nothing was changed"
            fix = "correct what the other errors say, then run `pulumi up` again; if it runs no pods, switch it off"
            raise BmcRefusedError(what, where=f"{self.host} ({self.bmc.url})", fix=fix)

    def release(self, found: AsFound) -> list[Fault]:
        """Leave the host Off, without media, and everything else as found. Media that were found stay out.

        Returns:
            What the BMC refuses to restore: it must not keep the host in the state for ever.
        """
        self.identify()
        steps = self._steps()
        run_steps(self._off(steps), self.clock)
        was, mode, refused = found.override, BootMode(steps), list[Fault]()
        waiting = [
            *self._restored(steps.override_as_found(was.target, was.enabled, was.mode), refused),
            *self._restored(mode.as_found("", found.secure_boot), refused),
            *self._restored(mode.as_found(was.mode, ""), refused),
        ]
        later = f"from the next power-on, as found: {', '.join(waiting)}" if waiting else ""
        self.report(Progress("off" if refused else "off, boot override as found", later))
        return refused

    def _restored(self, step: Generator[float, None, list[str] | None], refused: list[Fault]) -> list[str]:
        """Run a step that restores something. Return what waits for the next power-on, and note what is refused."""
        try:
            return run_steps(step, self.clock) or []
        except (BmcRefusedError, BmcTimeoutError) as error:
            if isinstance(error, BmcTimeoutError) and not error.refused:
                raise
            refused.append(error.fault)
            return []

    def _off(self, steps: Steps) -> Waits:
        """Switch off, then eject: an eject under a running live system breaks it."""
        yield from steps.power(Power.OFF)
        yield from steps.no_media()
        if self.fenced:
            yield from self._stay_off()

    def _stay_off(self) -> Waits:
        """Look again until the host has stayed off: as long as its peer runs, that one switches it on again."""
        off_since = self.clock.now()
        until = off_since + LOOK_S + self.deadline_s
        while self.clock.now() - off_since < LOOK_S:
            yield LOOK_EVERY_S
            steps = self._steps()  # a cut that has begun has its own time
            if (yield from steps.current_power()) is Power.OFF:
                continue
            if self.clock.now() >= until:
                what = f"switched on again by its peer, wanted off for {LOOK_S:g} s"
                fix = "have Pulumi switch both off at once: run this command again, without --parallel 1"
                raise BmcTimeoutError(what, where=f"{self.host} ({self.bmc.url})", fix=fix)
            self.report(Progress("off once more", "its peer, which fences it, has switched it on"))
            yield from steps.power(Power.OFF)
            off_since = self.clock.now()

    def _as_found(self) -> AsFound:
        def read() -> AsFound:
            return AsFound(override=self.bmc.boot_override(), media=shown(self.bmc.media() or ""))

        return run_steps(self._steps().value("boot override and media", read), self.clock)

    def _steps(self) -> Steps:
        return Steps(self.bmc, self.clock, self.clock.now() + self.deadline_s)

    def _machine(self) -> Identity:
        return run_steps(self._steps().identity(self.consent), self.clock)

    def _compare_with_record(self, machine: Identity) -> None:
        """Compare a machine with the record: a changed BMC address may lead to another one."""
        if self.recorded is None or same(self.recorded, machine):
            return
        what = f"the record is of {named(self.recorded)}; the BMC is that of {named(machine)}"
        fix = f"correct its address; or, if that machine replaces it, {naming(self.host, machine)}"
        raise self._another(what, fix)

    def compare_with_consent(self, machine: Identity) -> None:
        """Compare a machine with the consent.

        Raises:
            BmcIdentityError: The consent names another machine, or none; the message has the command that consents.
        """
        if fault := consent_fault(self.host, self.consent, machine):
            raise self._another(fault.what, fault.fix)

    def _another(self, what: str, fix: str) -> BmcIdentityError:
        return BmcIdentityError(f"{what}; nothing was changed", where=f"{self.host} ({self.bmc.url})", fix=fix)


def _words(override: BootOverride) -> str:
    return f"{override.target or 'none'} {override.enabled}".strip()
