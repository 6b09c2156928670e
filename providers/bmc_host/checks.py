"""What a BMC shows before anything is touched, and what of it would stop `up`."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from base.errors import BmcAuthError, BmcError, BmcTimeoutError, Fault
from providers.bmc_host.engine import BmcHostEngine
from wires.bmc.boot_mode import check_boot_mode
from wires.bmc.client import Identity, ProbedBmc
from wires.bmc.identity import named, same, usable


@dataclass
class BmcReport:
    """What one BMC shows. A field is empty if it is not known."""

    host: str
    bmc: str
    """URL of the system, as the address names it."""
    reachable: bool = False
    login: str = ""
    """`accepted` or `refused`."""
    path: str = ""
    """Path of the system that was found."""
    system: str = ""
    """Manufacturer and model."""
    uuid: str = ""
    serial: str = ""
    bios: str = ""
    firmware: str = ""
    """Version of the BMC's own firmware."""
    quirks: str = ""
    virtual_cd: str = ""
    boot_targets: str = ""
    mode: str = ""
    secure_boot: str = ""
    licence: str = ""
    power: str = ""
    fencing: str = ""
    """As `login`, of the login by which its peer fences it."""
    subject: str = ""
    """Of the certificate."""
    sha256: str = ""
    """Of the certificate: what `bmc_trust.<host>.sha256` pins."""
    warnings: list[str] = field(default_factory=list)
    """What is unsafe about the BMC or its login, each with what to do."""
    stops: list[str] = field(default_factory=list)
    """What would stop `up`, each with its fix."""


@dataclass(frozen=True)
class Check:
    """The check of one host.

    Args:
        engine: Of the same BMC.
        has_stack: Whether the stack's consent is known.
    """

    bmc: ProbedBmc
    engine: BmcHostEngine
    has_stack: bool

    def report(self) -> BmcReport:
        """Read the BMC, and return what it shows."""
        report, masked = self._unmasked(), self.bmc.masked
        texts: dict[str, Any] = {
            name: masked(value) for name, value in vars(report).items() if isinstance(value, str)
        }
        return replace(report, **texts, stops=[masked(stop) for stop in report.stops])

    def _unmasked(self) -> BmcReport:
        """Read the BMC. Nothing more is read after a refused login, since accounts lock, or once time has run out."""
        report = BmcReport(self.engine.host, self.bmc.url)
        try:
            if certificate := self.bmc.certificate():
                report.subject, report.sha256 = certificate.subject, certificate.sha256
            report.reachable = True
            self._identify(report)
            self._describe(report)
        except BmcError as error:
            if isinstance(error, BmcAuthError):
                report.login = report.login or "refused"
            self._stop(report, error)
        return report

    def _describe(self, report: BmcReport) -> None:
        bmc = self.bmc
        report.power = self._read(report, lambda: bmc.power().value)
        report.quirks = self._read(report, bmc.kind)
        report.boot_targets = self._read(report, bmc.boot_targets)
        report.mode = self._read(report, bmc.override_mode)
        report.virtual_cd = self._read(report, bmc.virtual_cd)
        report.firmware = self._read(None, bmc.bmc_version)
        report.licence = self._read(None, bmc.licence)
        report.warnings = bmc.warnings()
        # Last, because a BMC that answers 404 to it would be read again.
        report.secure_boot = self._read(None, self._secure_boot)
        check_boot_mode(bmc)

    def _secure_boot(self) -> str:
        secure_boot = self.bmc.secure_boot()
        return secure_boot.word if secure_boot else ""

    def _identify(self, report: BmcReport) -> None:
        machine = self.bmc.identity()
        report.login, report.bios = "accepted", machine.bios_version
        report.uuid, report.serial = machine.uuid, machine.serial
        report.path = self.bmc.path()
        report.system = f"{machine.manufacturer} {machine.model}".strip()
        try:
            self._compare_with_consent(machine)
        except BmcError as error:
            self._stop(report, error)

    def _compare_with_consent(self, machine: Identity) -> None:
        if self.has_stack or not usable(machine):
            self.engine.compare_with_consent(machine)

    def _read(self, report: BmcReport | None, read: Callable[[], str]) -> str:
        """Read one thing. What cannot be read stops `up`, by a line in `report`; without one, it stops nothing.

        Raises:
            BmcTimeoutError: Nothing more can be read.
        """
        try:
            return read()
        except BmcError as error:
            if isinstance(error, BmcTimeoutError):
                raise
            if report:
                self._stop(report, error)
            return ""

    def _stop(self, report: BmcReport, error: BmcError) -> None:
        report.stops += [str(fault) for fault in error.faults]


def add_fencing(report: BmcReport, fence: ProbedBmc) -> None:
    """Add to a host's report what the login shows by which its peer fences it: the power of the same machine.

    Args:
        report: Of the host.
        fence: The BMC at the address of the fence agent, with its login.
    """
    try:
        machine, own = fence.identity(), Identity(report.uuid, report.serial)
        report.fencing = "accepted"
        fence.power()
        if not same(own, machine):
            what = f"its peer would fence {named(machine)} in its place, which is {named(own)}"
            report.stops.append(fence.masked(str(Fault(fence.url, what, "correct the address of its fencing"))))
    except BmcError as error:
        if isinstance(error, BmcAuthError):
            report.fencing = "refused"
        report.stops += [fence.masked(str(fault)) for fault in error.faults]


def consented(engine: BmcHostEngine) -> str:
    """Return what consents to the machine of a host: the present consent, else its unique UUID or serial.

    Raises:
        BmcError: The present consent names another machine, or the machine has no unique name.
    """
    machine = engine.bmc.identity()
    if engine.consent or not usable(machine):
        engine.compare_with_consent(machine)
    return engine.consent or usable(machine)
