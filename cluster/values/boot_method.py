"""The method by which a server boots its installer."""

from enum import Enum, auto

from cluster.values.bmc_url import UEFI_HTTP, BmcUrl

SECURE_BOOT = "UEFISecureBoot"
"""The install-config's word for UEFI with Secure Boot, for which Redfish has a resource of its own."""


class BootMethod(Enum):
    """How a server gets to its boot ISO."""

    VIRTUAL_CD = auto()
    """Its BMC reads the ISO, and shows it as a CD drive."""
    IPXE = auto()
    """Its firmware loads iPXE from the provisioning network, which fetches the files inside the ISO."""
    UEFI_HTTP = auto()
    """Its UEFI fetches the whole ISO."""

    @classmethod
    def of(cls, url: BmcUrl, boot_mode: str) -> "BootMethod":
        """Return the method for a BMC address and a `bootMode`. iPXE is not signed, so Secure Boot refuses it."""
        if url.virtual_media:
            return cls.VIRTUAL_CD
        if url.kind == UEFI_HTTP or boot_mode == SECURE_BOOT:
            return cls.UEFI_HTTP
        return cls.IPXE
