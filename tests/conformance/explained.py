"""The failures that DMTF's validators report of fakes that are so on purpose, each with its reason."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from testing.dmtf import PROTOCOL, SERVICE, USE_CASES, Validator
from testing.fakes.fleet.vendor import Vendor


@dataclass(frozen=True)
class Explained:
    """Failures with one reason.

    Args:
        rows: Pattern that is in each of their rows, as `testing.dmtf.failures` returns them.
        has: Whether a fake has them.
    """

    validator: Validator
    rows: str
    why: str
    has: Callable[[Vendor], bool] = lambda _: True

    def covers(self, row: str) -> bool:
        """Return whether this is the reason of a row."""
        return re.search(self.rows, row) is not None


EXPLAINED = (
    Explained(
        PROTOCOL,
        r"^SEC_PRIV_SUPPORT_PREDEFINED_ROLES .* role (Administrator|Operator|ReadOnly) not found$",
        "No fake has accounts, since the program reads none; sushy-tools' emulator fails here, too",
    ),
    Explained(
        SERVICE,
        r"/VirtualMedia/Config \| .* HTTP 404",
        "The program needs only the name of what Supermicro has instead of InsertMedia, and does not read it",
        lambda vendor: vendor.media_config,
    ),
    Explained(
        SERVICE,
        r"FTSComputerSystem\.VirtualMedia: Unknown Property",
        "iRMC's own action has a name that its own schema lacks; the program reads its name only",
        lambda vendor: bool(vendor.own_action),
    ),
    Explained(
        USE_CASES,
        r"^Power Control \| Reset Operation \| .* 'On' .*(PSU501|InvalidOperationForSystemState)",
        "iDRAC and iLO refuse a reset to the power that the server has; the program reads the power first",
        lambda vendor: vendor.already is not None,
    ),
    Explained(
        USE_CASES,
        r"^Boot Override \| .*(Continuous|One-Time|Disable) Boot Override \| ",
        "DMTF's checker writes to the System only, and a part of Boot; these BMCs want Boot whole, or in "
        "@Redfish.Settings, and the program does so",
        lambda vendor: vendor.boot_in_settings or vendor.boot_whole or bool(vendor.clearing.needs),
    ),
    Explained(
        USE_CASES,
        r"^Boot Override \| Disable Boot Override \| ",
        "iLO refuses a change of Boot in POST; the program sends it again",
        lambda vendor: bool(vendor.boot_busy),
    ),
)
