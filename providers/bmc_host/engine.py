"""What is done to one server: identify, record, switch off; in the end off again, and as it was found."""

from dataclasses import asdict, dataclass
from typing import Any

from providers.clock import Clock
from providers.errors import BmcIdentityError
from providers.progress import Report
from providers.redfish.bmc import Bmc, BootOverride, Identity, Power
from providers.redfish.steps import Steps, Waits, drive


@dataclass(frozen=True)
class Found:
    """How a server was found: boot override, and the image in its virtual CD drive (empty: none)."""

    override: BootOverride
    media: str = ""

    @classmethod
    def from_outs(cls, outs: dict[str, Any]) -> "Found":
        """Read it from stored outputs, of any age."""
        stored = outs.get("found") or {}
        override = stored.get("override") or {}
        return cls(
            BootOverride(*(str(override.get(key) or "") for key in ("target", "enabled", "mode"))),
            str(stored.get("media") or ""),
        )

    def to_outs(self) -> dict[str, Any]:
        """As an output."""
        return asdict(self)


@dataclass(frozen=True)
class BmcHostEngine:
    """Steps for one host.

    Args:
        host: Its name in the install-config.
        consent: System UUID or serial of the one machine that may be wiped.
        deadline_s: Time for each of the methods.
    """

    bmc: Bmc
    clock: Clock
    report: Report
    host: str
    consent: str
    deadline_s: float

    def identify(self) -> Identity:
        """Log in and compare; changes nothing.

        Raises:
            BmcIdentityError: Another machine answers; the message holds the command that consents to it.
        """
        seen = drive(self._steps().value("an answer of the BMC", self.bmc.identity), self.clock)
        self._compare(seen)
        return seen

    def take_over(self) -> tuple[Identity, Found]:
        """Identify the host, record how it was found, and leave it Off without media.

        Only for a host without a record: a running one is switched off, without asking its operating system.
        """
        identity = self.identify()
        found = self._find()
        self.report(f"identified: {_named(identity)}")
        drive(self._off(self._steps()), self.clock)
        self.report("off, without media")
        return identity, found

    def record(self) -> tuple[Identity, Found]:
        """Identify the host and record how it is, changing nothing: it runs a cluster whose state was lost."""
        identity = self.identify()
        self.report(f"identified: {_named(identity)}; left as it is")
        return identity, self._find()

    def look(self) -> str:
        """One line on power, media and boot override, for a refresh."""
        power, media, override = self.bmc.power(), self.bmc.media(), self.bmc.boot_override()
        boot = f"{override.target or 'none'} {override.enabled}".strip()
        return f"power {power.value}; virtual CD {media or 'empty'}; boot override {boot}"

    def release(self, found: Found) -> None:
        """End it: Off, without media, boot override as found. Not switched on again, found media not re-inserted."""
        self.identify()
        steps = self._steps()
        drive(self._off(steps), self.clock)
        drive(steps.override_as_found(found.override.target, found.override.enabled), self.clock)
        self.report("off, boot override as found")

    def _off(self, steps: Steps) -> Waits:
        """Off first: an eject under a running live system breaks it."""
        yield from steps.power(Power.OFF)
        yield from steps.no_media()

    def _find(self) -> Found:
        def read() -> Found:
            return Found(self.bmc.boot_override(), self.bmc.media() or "")

        return drive(self._steps().value("boot override and media", read), self.clock)

    def _steps(self) -> Steps:
        return Steps(self.bmc, self.clock, self.clock.now() + self.deadline_s)

    def _compare(self, seen: Identity) -> None:
        if seen.answers_to(self.consent):
            return
        what = f"consent names {self.consent}, the BMC is that of {_named(seen)}"
        value = seen.uuid or seen.serial or "<serial>"
        hint = f"Nothing was changed. If that machine's disk may be wiped: {consent_command(self.host, value)}"
        raise BmcIdentityError(what, where=f"{self.host} ({self.bmc.url})", hint=hint)


def consent_command(host: str, value: str) -> str:
    """The command that consents to one machine."""
    path = f'consent["{host}"]' if "." in host else f"consent.{host}"
    return f"pulumi config set --path '{path}' {value}"


def _named(identity: Identity) -> str:
    kind = " ".join(word for word in (identity.manufacturer, identity.model) if word) or "a system"
    return f"{kind}, UUID {identity.uuid or 'unreported'}, serial {identity.serial or 'unreported'}"
