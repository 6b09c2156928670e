"""What a BMC shows before anything is touched, and what of it would stop `up`."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from base.errors import BmcAuthError, BmcError
from providers.bmc_host.engine import BmcHostEngine
from wires.redfish.bmc import Identity, ProbedBmc
from wires.redfish.boot.mode import judge
from wires.redfish.identity import usable


@dataclass
class Row:
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
    subject: str = ""
    """Of the certificate."""
    sha256: str = ""
    """Of the certificate: what `bmc_trust.<host>.sha256` pins."""
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

    def row(self) -> Row:
        """Read the BMC, and return its row."""
        row, masked = self._unmasked(), self.bmc.masked
        texts: dict[str, Any] = {name: masked(value) for name, value in vars(row).items() if isinstance(value, str)}
        return replace(row, **texts, stops=[masked(stop) for stop in row.stops])

    def _unmasked(self) -> Row:
        """Read the BMC. After a refused login nothing more is read, since accounts lock."""
        row, bmc = Row(self.engine.host, self.bmc.url), self.bmc
        try:
            if certificate := bmc.certificate():
                row.subject, row.sha256 = certificate.subject, certificate.sha256
            row.reachable = True
            self._identify(row)
        except BmcError as error:
            row.login = "refused" if isinstance(error, BmcAuthError) else row.login
            self._stop(row, error)
            return row
        row.power = self._read(row, lambda: bmc.power().value)
        row.quirks = self._read(row, bmc.kind)
        row.boot_targets = self._read(row, bmc.boot_targets)
        row.mode = self._read(row, bmc.override_mode)
        row.virtual_cd = self._read(row, bmc.virtual_cd)
        row.firmware = self._read(None, bmc.bmc_version)
        row.licence = self._read(None, bmc.licence)
        # Last, because a BMC that answers 404 to it would be read anew.
        row.secure_boot = self._read(None, self._secure_boot)
        try:
            judge(bmc)
        except BmcError as error:
            self._stop(row, error)
        return row

    def _secure_boot(self) -> str:
        seen = self.bmc.secure_boot()
        return seen.word if seen else ""

    def _identify(self, row: Row) -> None:
        seen = self.bmc.identity()
        row.login, row.uuid, row.serial, row.bios = "accepted", seen.uuid, seen.serial, seen.bios_version
        row.path = self.bmc.path()
        row.system = f"{seen.manufacturer} {seen.model}".strip()
        try:
            self._judge(seen)
        except BmcError as error:
            self._stop(row, error)

    def _judge(self, seen: Identity) -> None:
        if self.has_stack or not usable(seen):
            self.engine.compare_with_consent(seen)

    def _read(self, row: Row | None, read: Callable[[], str]) -> str:
        """Read one thing. Without a row, `up` goes on if it cannot be read."""
        try:
            return read()
        except BmcError as error:
            if row:
                self._stop(row, error)
            return ""

    def _stop(self, row: Row, error: BmcError) -> None:
        row.stops += [str(fault) for fault in error.faults]


def consented(engine: BmcHostEngine) -> str:
    """Return what consents to the machine of a host: the present consent, else its unique UUID or serial.

    Raises:
        BmcError: The present consent names another machine, or the machine has no unique name.
    """
    seen = engine.bmc.identity()
    if engine.consent or not usable(seen):
        engine.compare_with_consent(seen)
    return engine.consent or usable(seen)
