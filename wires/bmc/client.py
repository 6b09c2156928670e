"""The protocol of a BMC, as engines use it, and its values."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from wires.certificates import Certificate


class Power(StrEnum):
    """The power state that a BMC reports for its system."""

    ON = "On"
    OFF = "Off"
    CHANGING = "changing"


@dataclass(frozen=True)
class Identity:
    """The identity of the machine behind a BMC. A field is empty if the BMC does not report it.

    No field has blanks around it: some BMCs pad their values, and states of older releases have them padded.
    """

    uuid: str
    """SMBIOS UUID, lower case."""
    serial: str
    model: str = ""
    manufacturer: str = ""
    bios_version: str = ""
    tag: str = ""
    """Dell's service tag, which is on the server's sticker; `serial` is that of its board."""

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, getattr(self, each.name).strip())

    def answers_to(self, name: str) -> bool:
        """Return whether `name` is this machine's system UUID, serial number or service tag, in any case.

        A UUID may have its bytes in any order that BMCs send it in, see `spellings`.
        """
        word = name.strip().lower()
        is_named = word in {self.uuid.lower(), self.serial.lower(), self.tag.lower()}
        return bool(word) and (is_named or is_same_uuid(word, self.uuid))


def spellings(uuid: str) -> frozenset[str]:
    """Return a UUID in the three orders of its bytes that BMCs send; a text that is no UUID as it is, in lower case.

    IPMI has a GUID of 16 bytes: in SMBIOS's order on most BMCs, in that of RFC 4122 on others (ipmitool issues 25 and
    239), reversed by the specification (section 20.8). A Supermicro's Redfish changed it with its BIOS (go-hal 57).
    """
    try:
        read = UUID(uuid).bytes_le
    except ValueError:
        return frozenset({uuid.lower()})
    return frozenset(str(it) for it in (UUID(bytes_le=read), UUID(bytes=read), UUID(bytes=read[::-1])))


def is_same_uuid(one: str, other: str) -> bool:
    """Return whether two texts are one UUID, whatever order each has its bytes in."""
    return bool(spellings(one) & spellings(other))


CD, HDD, PXE, HTTP, SETUP, ONCE = "Cd", "Hdd", "Pxe", "UefiHttp", "BiosSetup", "Once"
"""Redfish's words for five boot targets, and for an override of one boot only."""
UEFI, LEGACY = "UEFI", "Legacy"
"""Redfish's words for the boot modes."""
ON, OFF = "on", "off"
"""This program's words for Secure Boot."""
ENABLED = "Enabled"
"""Redfish's word for a Secure Boot that is in force."""
DISABLED, NO_TARGET = "Disabled", "None"
"""Redfish's words for no override, and for its target."""
SPELLINGS = {CD: (CD, "UsbCd")}
"""Equivalent boot targets, best first: Supermicro's virtual CD is a UsbCd."""

MEDIA_CERTIFICATE = "okd-baremetal boot media"
"""The common name of each certificate of the media server, by which those of earlier runs are known on a BMC."""

STARTS_S = 120.0
"""Seconds for which something may be missing: a BMC that starts up has its System before the rest.

Our own choice, since no source has a time: twice the minute for which an iDRAC10 refuses `On` after off, and short
enough that an operator soon reads what the BMC does not have. One that says 503 is waited for longer.
"""


def mode_of(wanted: str) -> str:
    """Return Redfish's word for the boot mode of a host, whether with Secure Boot or without."""
    return LEGACY if wanted == LEGACY else UEFI


@dataclass(frozen=True)
class BootOverride:
    """Redfish's BootSourceOverride{Target,Enabled,Mode}, in Redfish's words. A field is empty if unreported."""

    target: str = ""
    enabled: str = ""
    mode: str = ""


@dataclass(frozen=True)
class SecureBoot:
    """Redfish's SecureBoot{Enable,CurrentBoot,Mode}."""

    enabled: bool | None = None
    """Whether the next boot is to be a secure one. None: unreported."""
    current: str = ""
    """Whether the last boot was one: Enabled or Disabled. Empty: unreported."""
    keys: str = ""
    """The state of the keys: UserMode, DeployedMode, SetupMode or AuditMode. Empty: unreported."""

    @property
    def word(self) -> str:
        """`on` or `off`, from the next boot. Empty: unreported."""
        return "" if self.enabled is None else ON if self.enabled else OFF


class BmcClient(Protocol):
    """One system behind its BMC. Each call reads or requests a change; none waits until a change takes effect.

    Every method may raise `BmcAuthError`, `BmcTransientError` or `BmcRefusedError`.
    """

    @property
    def url(self) -> str:
        """URL of the system, without credentials."""
        ...

    @property
    def requests(self) -> int:
        """Number of requests sent so far."""
        ...

    @property
    def settle_s(self) -> float:
        """Seconds from an insert until the host sees the drive."""
        ...

    @property
    def wanted_mode(self) -> str:
        """How the host has to boot: UEFI, Legacy or UEFISecureBoot."""
        ...

    @property
    def boot_mode(self) -> str:
        """The boot mode that each boot override is sent with. Empty: it is sent without."""
        ...

    def remember(self) -> None:
        """Send no read twice from now on, until a change is requested or this is called again.

        One that waits between two looks calls it at each. Until the first call, each read is sent.
        """
        ...

    def identity(self) -> Identity:
        """Read the identity of the machine."""
        ...

    def bmc_version(self) -> str:
        """Read the firmware version of the BMC itself. Empty if unreported."""
        ...

    def power(self) -> Power:
        """Read the power state."""
        ...

    def boot_override(self) -> BootOverride:
        """Read the boot override."""
        ...

    def pending_override(self) -> BootOverride | None:
        """Read the boot override that waits for the next reset. None: this BMC keeps none waiting."""
        ...

    def boot_modes(self) -> tuple[str, ...]:
        """Read the boot modes that the BMC allows. Empty if unreported."""
        ...

    def expect_boot_method(self) -> None:
        """Raise if the BMC offers no boot override by which its host gets to the boot ISO."""
        ...

    def secure_boot(self) -> SecureBoot | None:
        """Read Secure Boot. None: the BMC has no such resource."""
        ...

    def media(self) -> str | None:
        """Read the image in the virtual CD drives, as the BMC names it. None: all drives are empty."""
        ...

    def media_at_once(self) -> tuple[str | None, str]:
        """Read the same without waiting for a drive that cannot be read, for a report.

        Returns:
            The image in the others; and why one that may have an image cannot be read, or an empty text.
        """
        ...

    def insert(self, url: str, certificate: str = "") -> None:
        """Insert an image into the virtual CD drive.

        Args:
            url: URL of the image.
            certificate: PEM by which the BMC is to verify the server of the URL, if it can. Empty: as it is set up.
        """
        ...

    def trust(self, certificate: str) -> None:
        """Have the virtual CD drives that are full verify the server of their image by another certificate."""
        ...

    def eject(self) -> None:
        """Empty all virtual CD drives, and have them verify as before. The answer does not prove success: read it."""
        ...

    def offers(self, target: str) -> bool:
        """Return whether the BMC offers a boot override to `target`."""
        ...

    def set_override(self, target: str, enabled: str, mode: str = "", uri: str = "") -> None:
        """Set the boot override, with `mode`, else on a BMC that must be sent one with the host's.

        An empty `target` leaves the target as it is. Firmware that boots by HTTP fetches what is at `uri`.
        """
        ...

    def set_boot_mode(self, mode: str) -> None:
        """Request a boot mode and nothing else."""
        ...

    def set_secure_boot(self, *, enabled: bool) -> None:
        """Request that Secure Boot be on or off from the next boot."""
        ...

    def request_power(self, want: Power) -> None:
        """Request On, or Off without a shutdown of the operating system."""
        ...

    def request_shutdown(self) -> None:
        """Request that the operating system shut down and switch the server off; one that hangs does not."""
        ...

    def check_task(self) -> str:
        """Raise if the task that the last request for a change has started has failed.

        Return the state of one that still runs, in the BMC's word; empty if there is none.
        """
        ...

    def close(self) -> None:
        """End the session, if any, and close the connection."""
        ...


class ProbedBmc(BmcClient, Protocol):
    """A BMC that is read for the operator, before anything is touched."""

    def masked(self, text: str) -> str:
        """Return the text without the password, which a BMC may repeat in any of its values."""
        ...

    def certificate(self) -> Certificate | None:
        """Connect, and read the certificate that the BMC shows, before any login. None: it shows none."""
        ...

    def path(self) -> str:
        """Return the path of the system, which the address may leave out."""
        ...

    def kind(self) -> str:
        """Return the row of the quirks' table that applies."""
        ...

    def virtual_cd(self) -> str:
        """Read the path of the drive that takes a boot ISO, or what has to be done first. Empty: none is needed."""
        ...

    def boot_targets(self) -> str:
        """Return the targets of a boot override that the BMC allows."""
        ...

    def override_mode(self) -> str:
        """Return the mode of the boot override, as last read. Empty if unreported."""
        ...

    def health(self) -> str:
        """Read the state of the hardware, in Redfish's words: OK, Warning or Critical. Empty if unreported."""
        ...

    def licence(self) -> str:
        """Return the licence that the BMC names. Empty if it names none."""
        ...

    def warnings(self) -> list[str]:
        """Return what is unsafe about the BMC or its login, each with what to do about it."""
        ...
