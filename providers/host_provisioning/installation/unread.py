"""What is wrong with a server that is on while nothing of its boot ISO is fetched, by what its BMC shows."""

from dataclasses import dataclass

from base.errors import ProvisioningError
from providers.host_provisioning.installation.boot_procedures import BootProcedure
from wires.redfish.bmc import CD, SPELLINGS, BmcClient
from wires.redfish.boot.mode import SLOW

FROM_OFF = "switch the server off, and run `pulumi up` again"
"""Begins an installation again where the BMC does not show it: a server that is On is taken for an installed one."""
LOST = f"{FROM_OFF}, which inserts the ISO again; if the BMC drops it each time, update the BMC's firmware"
IGNORED = (
    "if it booted something else, its firmware did not follow the boot override: allow it to boot from USB, as which "
    "a BMC shows its virtual CD, or update it"
)


@dataclass
class UnreadIso:
    """Finds the fault.

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

    def _never_fetched(self, spent_s: float, *, is_off: bool) -> ProvisioningError:
        bmc, shows_on_bmc = self.bmc, self.procedure.shows_on_bmc
        power, override = "off" if is_off else "on", bmc.boot_override()
        why = f"the server is {power}, and its boot override reads {override.target} {override.enabled}"
        is_lost = shows_on_bmc and bmc.media() is None
        if shows_on_bmc:
            why = f"{why}; its virtual CD drive {'is empty' if is_lost else 'has the ISO'}"
        fault = self.procedure.never_fetched(self.url, spent_s, why)
        fix = fault.fix
        if shows_on_bmc and (override.target not in SPELLINGS[CD] or override.enabled == "Disabled"):
            fix = f"look at the server's console: {IGNORED}; if not, {fix}"
        if not is_off:
            fix = f"{fix}; {SLOW}" + ("" if shows_on_bmc else f"; then {FROM_OFF}")
        return ProvisioningError(fault.what, where=fault.where, fix=LOST if is_lost else fix)
