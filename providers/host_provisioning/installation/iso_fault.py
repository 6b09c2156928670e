"""What is wrong with a server that does not install from its boot ISO, by what its BMC shows."""

from contextlib import suppress
from dataclasses import dataclass

from base.errors import BmcError, BmcTimeoutError, ProvisioningError
from providers.host_provisioning.installation.boot_procedures import BootProcedure
from wires.bmc.boot_mode import SLOW
from wires.bmc.client import CD, SPELLINGS, BmcClient, BootOverride
from wires.bmc.steps import names_image
from wires.redfish.client.masking import shown

FROM_OFF = "switch the server off, and run `pulumi up` again"
"""Begins an installation again where the BMC does not show it: a server that is On is taken for an installed one."""
LOST = f"{FROM_OFF}, which inserts the ISO again; if the BMC drops it each time, update the BMC's firmware"
IGNORED = (
    "if it booted something else, its firmware did not follow the boot override: allow it to boot from USB, as which "
    "a BMC shows its virtual CD, or update it"
)


@dataclass
class IsoFault:
    """Finds what is wrong.

    Args:
        post_s: Seconds that the firmware may take from power-on until it boots.
    """

    bmc: BmcClient
    procedure: BootProcedure
    url: str
    post_s: float
    _look_s: float = 60.0
    """Seconds after power-on when the drive is read next. They double, so that a slow start costs few requests."""
    _was_empty: bool = False

    def check(self, spent_s: float, *, is_off: bool) -> None:
        """Check a server of whose ISO nothing was fetched `spent_s` after power-on.

        Raises:
            ProvisioningError: It is off again; its firmware has had its time; or two reads found its drive empty.
        """
        if is_off or spent_s >= self.post_s:
            raise self._never_fetched(spent_s, is_off=is_off)
        if self.procedure.shows_on_bmc and spent_s >= self._look_s:
            is_empty = self.bmc.media() is None
            self._look_s *= 2
            if is_empty and self._was_empty:
                raise self._never_fetched(spent_s, is_off=False)
            self._was_empty = is_empty

    def explained(self, error: BmcTimeoutError) -> BmcTimeoutError:
        """Return the error of an installation that did not end in time: without its ISO, it cannot."""
        with suppress(BmcError):
            if self.procedure.shows_on_bmc and self.bmc.media() is None:
                what, where = f"{error.fault.what}; its virtual CD drive is empty", error.fault.where
                return BmcTimeoutError(what, where=where, fix=LOST)
        return error

    def _never_fetched(self, spent_s: float, *, is_off: bool) -> ProvisioningError:
        override, shows_drive = self.bmc.boot_override(), self.procedure.shows_on_bmc
        reads = f"its boot override reads {override.target} {override.enabled}"
        why = f"the server is {'off' if is_off else 'on'}, and {reads}"
        image = self.bmc.media() if shows_drive else None
        is_lost = shows_drive and not names_image(image, self.url)
        if shows_drive:
            contents = f"has {shown(image) if is_lost else 'the ISO'}" if image else "is empty"
            why = f"{why}; its virtual CD drive {contents}"
        fault = self.procedure.never_fetched(self.url, spent_s, why)
        fix = LOST if is_lost else self._fix(fault.fix, override, is_off=is_off)
        return ProvisioningError(fault.what, where=fault.where, fix=fix)

    def _fix(self, fix: str, override: BootOverride, *, is_off: bool) -> str:
        shows_drive = self.procedure.shows_on_bmc
        if shows_drive and (override.target not in SPELLINGS[CD] or override.enabled == "Disabled"):
            fix = f"look at the server's console: {IGNORED}; if not, {fix}"
        if is_off:
            return fix
        return f"{fix}; {SLOW}" if shows_drive else f"{fix}; {SLOW}; then {FROM_OFF}"
