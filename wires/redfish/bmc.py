"""What the engines need of a BMC."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Power(StrEnum):
    """What a BMC says about the power of its system."""

    ON = "On"
    OFF = "Off"
    CHANGING = "changing"


@dataclass(frozen=True)
class Identity:
    """Who answers behind a BMC; empty where it does not say."""

    uuid: str
    """SMBIOS UUID, lower case."""
    serial: str
    model: str = ""
    manufacturer: str = ""
    bios_version: str = ""

    def answers_to(self, name: str) -> bool:
        """Whether `name` is this machine's system UUID or serial number, in any case."""
        word = name.strip().lower()
        return bool(word) and word in {self.uuid.lower(), self.serial.lower()}


CD, HDD, ONCE = "Cd", "Hdd", "Once"
"""Redfish's words for boot targets, and for how long an override holds."""
SPELLINGS = {CD: (CD, "UsbCd")}
"""Targets that mean the same, best first, where there are several: Supermicro's virtual CD is a UsbCd."""


@dataclass(frozen=True)
class BootOverride:
    """Redfish's BootSourceOverride{Target,Enabled,Mode}, in its own words; empty where unreported."""

    target: str = ""
    enabled: str = ""
    mode: str = ""


class BmcClient(Protocol):
    """One system behind its BMC. Each call is one read or one request, none waits for an effect.

    Every method raises `BmcAuthError`, `BmcTransientError` or `BmcError`.
    """

    @property
    def url(self) -> str:
        """Address of the system, without credentials."""
        ...

    @property
    def requests(self) -> int:
        """Requests sent so far."""
        ...

    @property
    def settle_s(self) -> float:
        """From an insert until the host sees the drive."""
        ...

    def identity(self) -> Identity:
        """Which machine it is."""
        ...

    def bmc_version(self) -> str:
        """Firmware version of the BMC itself; empty where it does not say."""
        ...

    def power(self) -> Power:
        """Power, read now."""
        ...

    def boot_override(self) -> BootOverride:
        """Boot override, read now."""
        ...

    def media(self) -> str | None:
        """URL of the image in the virtual CD drive, read now; None: the drive is empty."""
        ...

    def insert(self, url: str) -> None:
        """Put an image into the virtual CD drive."""
        ...

    def eject(self) -> None:
        """Empty the virtual CD drive. Success is not proven by the answer: read afterwards."""
        ...

    def set_override(self, target: str, enabled: str) -> None:
        """Set the boot override; the boot mode stays as it is."""
        ...

    def request_power(self, want: Power) -> None:
        """Ask for On, or for Off without asking the operating system."""
        ...

    def close(self) -> None:
        """Drop the connection."""
        ...
