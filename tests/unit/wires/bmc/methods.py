"""A call of each method of the protocol of a BMC, for the tests of each wire to one."""

from collections.abc import Callable

from base.errors import UnplannedWriteError
from base.writes import Write
from wires.bmc.client import CD, LEGACY, ONCE, BmcClient, Power

Call = Callable[[BmcClient], object]
READS: dict[str, Call] = {
    "url": lambda bmc: bmc.url,
    "requests": lambda bmc: bmc.requests,
    "wanted_mode": lambda bmc: bmc.wanted_mode,
    "settle_s": lambda bmc: bmc.settle_s,
    "boot_mode": lambda bmc: bmc.boot_mode,
    "remember": lambda bmc: bmc.remember(),
    "identity": lambda bmc: bmc.identity(),
    "bmc_version": lambda bmc: bmc.bmc_version(),
    "power": lambda bmc: bmc.power(),
    "boot_override": lambda bmc: bmc.boot_override(),
    "pending_override": lambda bmc: bmc.pending_override(),
    "boot_modes": lambda bmc: bmc.boot_modes(),
    "expect_boot_method": lambda bmc: bmc.expect_boot_method(),
    "secure_boot": lambda bmc: bmc.secure_boot(),
    "media": lambda bmc: bmc.media(),
    "media_at_once": lambda bmc: bmc.media_at_once(),
    "offers": lambda bmc: bmc.offers(CD),
    "check_task": lambda bmc: bmc.check_task(),
    "close": lambda bmc: bmc.close(),
}
WRITES: dict[str, Call] = {
    "insert": lambda bmc: bmc.insert("http://192.0.2.1/x.iso"),
    "trust": lambda bmc: bmc.trust("a certificate"),
    "eject": lambda bmc: bmc.eject(),
    "set_override": lambda bmc: bmc.set_override(CD, ONCE),
    "set_boot_mode": lambda bmc: bmc.set_boot_mode(LEGACY),
    "set_secure_boot": lambda bmc: bmc.set_secure_boot(enabled=True),
    "request_power": lambda bmc: bmc.request_power(Power.ON),
    "request_shutdown": lambda bmc: bmc.request_shutdown(),
}


def refuse(write: Write) -> None:
    """Refuse a write, as a run does whose plan lacks it."""
    raise UnplannedWriteError(f"not made: {write.action}", where=write.target)
