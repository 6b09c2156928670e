"""What is known of BMCs beyond the standard, as data. No real BMC was used: each row names where it was read.

What needs no row, since it is so everywhere or read from the BMC: a drive that refuses is passed over for the next
one; a reset type is taken from those that are allowed; an eject of an empty drive is never sent; success is read,
never believed. sushy itself adds TransferProtocolType, TransferMethod and empty credentials to an insert where they
are asked for, inserts by PATCH where there is no action, sends `{}` with an eject, prefers the @Redfish.Settings
resource, sends If-Match (then without), and takes UsbCd for Cd on Supermicro.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Quirks:
    """One row; the first whose patterns match is taken, as a whole.

    Args:
        vendor: For messages and documents.
        source: Where this was read.
        manufacturer: Pattern on the System's Manufacturer, from its start, in any case.
        bmc: Pattern on the BMC's "<Model> <FirmwareVersion>", from its start.
        keep_alive: False: a connection that was used before breaks.
        refusing_drives: Pattern on the Id of drives that take no image.
        only_drive: Id of the one drive that boots; empty: any.
        settle_s: From the insert until the host sees the drive.
        sends_mode: The boot override is taken only with its mode; the mode that it has is sent.
        boots_by_attributes: `Cd` means a physical drive; the virtual one is chosen by the BMC's own attributes.
        unsupported: Why such a BMC cannot be used, and what to do.
    """

    vendor: str
    source: str
    manufacturer: str = ""
    bmc: str = ""
    keep_alive: bool = True
    refusing_drives: str = ""
    only_drive: str = ""
    settle_s: float = 0
    sends_mode: bool = False
    boots_by_attributes: bool = False
    unsupported: str = ""

    def refuses(self, drive: str) -> bool:
        """Whether the drive of that Id takes no image that boots."""
        if self.only_drive:
            return drive != self.only_drive
        return bool(self.refusing_drives and re.match(self.refusing_drives, drive))


GENERIC = Quirks("generic", "the standard, DSP0266")
TABLE = (
    Quirks(
        "Dell iDRAC10",
        "ironic drac/boot.py: of two like drives only the first boots",
        manufacturer="dell",
        bmc="17G",
        only_drive="1",
    ),
    Quirks(
        "Dell iDRAC8",
        "metal3 supported_hardware.md: Cd is the physical drive",
        manufacturer="dell",
        bmc="1[23]G",
        unsupported="an iDRAC8 boots its virtual CD only by ImportSystemConfiguration; install this server by hand",
    ),
    Quirks(
        "Dell iDRAC9 before 6.00",
        "ironic drac/boot.py; dell/iDRAC-Redfish-Scripting: Cd is the physical drive",
        manufacturer="dell",
        bmc=r".* [1-5]\.",
        boots_by_attributes=True,
    ),
    Quirks("Dell iDRAC9", "metal3 supported_hardware.md: Cd is the virtual drive", manufacturer="dell"),
    Quirks(
        "HPE iLO",
        "community.general redfish_utils.py, sushy connector.py: it resets a connection that was used before",
        manufacturer="hpe|hewlett",
        keep_alive=False,
    ),
    Quirks("Supermicro", "sushy system.py: X11 and X12 boot the virtual drive as UsbCd", manufacturer="supermicro"),
    Quirks(
        "Lenovo XCC",
        "lenovo/python-redfish-lenovo issues 9 and 21: RDOC and Remote drives refuse an insert",
        manufacturer="lenovo",
        refusing_drives="RDOC|Remote",
    ),
    Quirks(
        "AMI MegaRAC",
        "NVIDIA libredfish; a public probe of 2026-10: the host sees the drive 18 to 67 s after the insert",
        manufacturer="american megatrends|ami|giga|asrock",
        settle_s=90,
        sends_mode=True,
    ),
)


def quirks_of(manufacturer: str, bmc: Callable[[], str]) -> Quirks:
    """The row of a BMC; `GENERIC` where none matches.

    Args:
        manufacturer: As its System says.
        bmc: Reads "<Model> <FirmwareVersion>" of its Manager; asked only where that decides.
    """
    rows = [row for row in TABLE if re.match(f"(?:{row.manufacturer})", manufacturer, re.IGNORECASE)]
    kind = bmc() if any(row.bmc for row in rows) else ""
    return next((row for row in rows if re.match(row.bmc, kind)), GENERIC)
