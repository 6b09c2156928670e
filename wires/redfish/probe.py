"""Reads what a BMC is and offers, for the operator. Changes nothing."""

import socket
from contextlib import suppress
from typing import Any

from pydantic import SecretStr

from base.errors import BmcRefusedError
from cluster.values.boot_method import BootMethod
from wires.bmc.access import CHECK_LIMITS, BmcAccess, Limits
from wires.certificates import Certificate
from wires.redfish.client.shapes import text
from wires.redfish.drives.discs import DiscDrives
from wires.redfish.sushy_bmc import SushyBmc
from wires.shown_certificate import shown_certificate

TO_ENABLE = "none until virtual media is switched on, which `up` does"


class BmcProbe(SushyBmc):
    """Implements `ProbedBmc`."""

    def __init__(self, access: BmcAccess, password: SecretStr, limits: Limits = CHECK_LIMITS) -> None:
        super().__init__(access, password, limits)
        self._server = access.url

    def masked(self, text: str) -> str:
        """Return the text without the password, which a BMC may repeat in any of its values."""
        return self._http.adapter.mask.secrets.mask(text)

    def certificate(self) -> Certificate | None:
        """Connect, and read the certificate that the BMC shows, before any login."""
        server = self._server
        try:
            if server.transport != "https":
                socket.create_connection((server.host, server.port), self._limits.connect_s).close()
                return None
            return shown_certificate(server.host, server.port, self._limits.connect_s)
        except OSError as error:
            fix = "compare bmc.address with the BMC's, and its network"
            raise BmcRefusedError(f"no connection ({error.strerror or error})", where=self.url, fix=fix) from None

    def path(self) -> str:
        """Return the path of the system, which the address may leave out."""
        return str(self._read.known.path)

    def kind(self) -> str:
        """Return the row of the quirks' table that applies."""
        with self._converted_errors("read the BMC's version"):
            return self._read.boot_quirks.vendor

    def virtual_cd(self) -> str:
        """Return the path of the first drive that takes a boot ISO. Empty if the host boots from the network."""
        if self._boot_method is not BootMethod.VIRTUAL_CD:
            return ""
        # Drives of the System and of the Manager are often the same, so those of the Manager may not be needed.
        with suppress(BmcRefusedError), self._converted_errors("read the virtual CD"):
            if usable := DiscDrives.read(self.url, self._read.known, (), self._read.quirks).usable:
                return str(usable[0].path)
        usable = self._known_discs().usable
        return str(usable[0].path) if usable else TO_ENABLE

    def boot_targets(self) -> str:
        """Return the targets of a boot override that the BMC allows."""
        with self._converted_errors("read the boot targets"):
            offered = self._read.known.get_allowed_system_boot_source_values()
            return ", ".join(sorted(target.value for target in offered))

    def override_mode(self) -> str:
        """Return the mode of the boot override, as last read. Empty if unreported."""
        boot = self._read.known.boot
        return str(boot.mode.value) if boot and boot.mode else ""

    def health(self) -> str:
        """Return the health of the System with all its parts, as last read; else its own. Empty if unreported."""
        with self._converted_errors("read the health"):
            status = self._read.known.json.get("Status")
            told = status if isinstance(status, dict) else {}
            return text(told.get("HealthRollup")) or text(told.get("Health"))

    def licence(self) -> str:
        """Return the licence that the BMC's Manager names, as iLO does. Empty if none is readable."""
        with self._converted_errors("read the licence"):
            names = [_licence_in(manager.json.get("Oem")) for manager in self._read.managers]
            return next(filter(None, names), "")

    def warnings(self) -> list[str]:
        """Return nothing: what is unsafe about a login by Redfish is refused, or chosen in the stack's options."""
        return []


def _licence_in(oem: Any) -> str:
    """Return `LicenseString` of a vendor's part: iLO's Manager has it beside the key, which is not read."""
    for part in oem.values() if isinstance(oem, dict) else ():
        licence = part.get("License") if isinstance(part, dict) else None
        if isinstance(licence, dict) and licence.get("LicenseString"):
            return str(licence["LicenseString"])
    return ""
