"""The words for what is written to a BMC, in the log of a run and in a write plan."""

from base.writes import Write
from cluster.values.bmc_url import parse_bmc_url
from wires.bmc.client import DISABLED, OFF, ON, Power

EJECT = "eject"
ENABLE_MEDIA = "switch virtual media on"
NO_OVERRIDE = "boot override off"
SHUT_DOWN = "shut down"
TRUST = "certificate of the boot ISO's server"


def to_bmc(address: str, action: str) -> Write:
    """Return the write of an action to the system at an address of the install-config."""
    url = parse_bmc_url(address)
    return Write(f"BMC {url.base}{url.system_id or ''}", action)


def insert(url: str) -> str:
    """Return the action that inserts an image. Only its name is shown: its URL is as good as a password."""
    return f"insert {url.rpartition('/')[2]}"


def power(want: Power) -> str:
    """Return the action that requests a power state."""
    return f"power {want.value}"


def override(target: str, enabled: str) -> str:
    """Return the action that sets or disables the boot override."""
    return NO_OVERRIDE if enabled == DISABLED else f"boot override {target} {enabled}"


def boot_mode(mode: str) -> str:
    """Return the action that sets the boot mode, by itself or with a boot override."""
    return f"boot mode {mode}"


def secure_boot(*, enabled: bool) -> str:
    """Return the action that switches Secure Boot."""
    return f"Secure Boot {ON if enabled else OFF}"
