"""The known deviations of vendors' BMCs from the standard, as data.

No real BMC has been used: each row names its source. The program does the following for every BMC, so no row has it.
It tries the next drive if one refuses, patches one that has no action, picks a reset type that the BMC allows, sends
no eject to an empty drive, and reads the BMC to learn whether a change succeeded. sushy does more: if a BMC asks for
them, it adds TransferProtocolType, TransferMethod and empty credentials to an insert; it sends `{}` with an eject,
prefers the @Redfish.Settings resource, and sends If-Match (then again without it).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Quirks:
    """One row. Only the first row whose patterns match applies.

    Args:
        vendor: Name of the BMC, for messages and documents.
        source: Where this was read.
        maker: Pattern of the start of a word in what names the maker, see `quirks_of`, in upper or lower case.
        bmc: Pattern that the start of the BMC's "<Model> <FirmwareVersion>" must match.
        service: Pattern that must be in the service root's "<Vendor> <Product> <keys of Oem>".
        keep_alive: Whether a connection can be used for several requests.
        refusing_drives: Pattern of the Ids of drives that take no image.
        only_drive: Id of the only drive that boots. Empty: all drives boot.
        settle_s: Seconds from an insert until the host sees the drive.
        sends_mode: Whether the BMC refuses a boot override without the mode, or boots it as Legacy.
        boots_by_attributes: Whether `Cd` means a physical drive, and the BMC's own attributes choose the virtual one.
        usb_cd_first: Whether the virtual CD boots as `UsbCd`, also where `Cd` is offered.
        sku_is_tag: Whether the System's SKU is the service tag on its sticker. Others have the model there.
        unsupported: Why this program cannot use such a BMC, and what to do. Empty if it can.
    """

    vendor: str
    source: str
    maker: str = ""
    bmc: str = ""
    service: str = ""
    keep_alive: bool = True
    refusing_drives: str = ""
    only_drive: str = ""
    settle_s: float = 0
    sends_mode: bool = False
    boots_by_attributes: bool = False
    usb_cd_first: bool = False
    sku_is_tag: bool = False
    unsupported: str = ""

    def refuses(self, drive: str) -> bool:
        """Return whether the drive of this Id takes no bootable image."""
        if self.only_drive:
            return drive != self.only_drive
        return bool(self.refusing_drives and re.match(self.refusing_drives, drive))


GENERIC = Quirks("generic", "the standard, DSP0266")
TABLE = (
    Quirks(
        "Dell iDRAC10",
        "ironic drac/boot.py: of two like drives only the first boots",
        maker="dell",
        bmc="17G",
        only_drive="1",
        sku_is_tag=True,
    ),
    Quirks(
        "Dell iDRAC8",
        "metal3 supported_hardware.md: Cd is the physical drive",
        maker="dell",
        bmc="1[23]G",
        unsupported="an iDRAC8 boots its virtual CD only by ImportSystemConfiguration, which this program does not "
        "use; leave this host out",
    ),
    Quirks(
        "Dell iDRAC9 before 6.00",
        "ironic drac/boot.py; dell/iDRAC-Redfish-Scripting: Cd is the physical drive; libredfish PR 38: both paths "
        "are needed",
        maker="dell",
        bmc=r".* [1-5]\.",
        boots_by_attributes=True,
        sku_is_tag=True,
    ),
    Quirks("Dell iDRAC9", "metal3 supported_hardware.md: Cd is the virtual drive", maker="dell", sku_is_tag=True),
    Quirks(
        "HPE iLO",
        "community.general redfish_utils.py, sushy connector.py: it resets a connection that was used before",
        maker=r"hpe?\b|hewlett",
        keep_alive=False,
    ),
    Quirks(
        "Supermicro",
        "sushy system.py: X11 and X12 boot the virtual drive as UsbCd; DMTF Redfishtool PR 106, bmclib PR 459, "
        "ironic management.py: it falls back to Legacy unless the mode is sent",
        maker="supermicro",
        sends_mode=True,
        usb_cd_first=True,
    ),
    # Before makers whose servers may have AMI's firmware, and after the others: to know it costs a request.
    Quirks(
        "AMI MegaRAC",
        "NVIDIA libredfish, captured DGX H100 and Gigabyte H262; a public probe of 2026-10: the host sees the drive "
        "18 to 67 s after the insert; ironic management.py: a mode that reads null is sent as UEFI",
        service=r"\bAMI\b",
        settle_s=90,
        sends_mode=True,
    ),
    Quirks(
        "Lenovo XCC",
        "lenovo/python-redfish-lenovo issues 9 and 21: RDOC and Remote drives refuse an insert",
        maker="lenovo",
        refusing_drives="RDOC|Remote",
    ),
)


def quirks_of(maker: str, bmc: Callable[[], str], service: Callable[[], str] | None = None) -> Quirks:
    """Return the row of a BMC, or `GENERIC` if none matches.

    Args:
        maker: The Manufacturer of its System. If that is blank: what service root and Manager have in its place.
        bmc: Reads "<Model> <FirmwareVersion>" of its Manager. Called only if a row depends on it.
        service: Reads "<Vendor> <Product> <keys of Oem>" of the service root. Called only if a row depends on it.
            None: a row that depends on it does not match.
    """

    def fits(row: Quirks) -> bool:
        return bool(
            (not row.maker or re.search(rf"\b(?:{row.maker})", maker, re.IGNORECASE))
            and (not row.bmc or re.match(row.bmc, bmc()))
            and (not row.service or (service and re.search(row.service, service(), re.IGNORECASE)))
        )

    return next(filter(fits, TABLE), GENERIC)
