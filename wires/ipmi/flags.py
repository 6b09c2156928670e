"""Boot flags, parameter 5 of the boot options: how Redfish's words for an override are written in them.

Source: specification "IPMI v2.0 rev. 1.1", table 28-14; traps of real BMCs: ADR 61.
"""

from wires.bmc.client import CD, DISABLED, HDD, LEGACY, NO_TARGET, ONCE, PXE, SETUP, UEFI, BootOverride

PARAMETER, CLEARING = 5, 3
"""Numbers of two boot options: the flags, and when a BMC takes them for void."""
KEEP = 0x08
"""Value of `CLEARING`: the flags stay valid if no power-on follows within 60 s."""
VALID, PERSISTENT, EFI = 0x80, 0x40, 0x20
DEVICE = 0x3C
"""Mask of the device, in the second byte."""
CONTINUOUS = "Continuous"
DEVICES = {NO_TARGET: 0x00, PXE: 0x04, HDD: 0x08, CD: 0x14, SETUP: 0x18}
SUPERMICRO = (10876, 47488)
"""Manufacturer IDs of Supermicro; some boards have the second (FreeIPMI, ipmi-iana-enterprise-numbers-spec.h)."""
SUPERMICRO_DISK = 0x24
"""By UEFI, Supermicro's BMCs boot the disk by this device; another one gives no error (Ironic, `ipmitool.py`)."""
NAMES = {code: name for name, code in DEVICES.items()} | {SUPERMICRO_DISK: HDD}


def written(target: str, enabled: str, mode: str, manufacturer: int) -> bytes:
    """Return the flags for an override. Disabled ones are not valid: a target alone would leave them in force."""
    if enabled == DISABLED:
        return bytes(5)
    device = DEVICES[target]
    if target == HDD and mode == UEFI and manufacturer in SUPERMICRO:
        device = SUPERMICRO_DISK
    first = VALID | (PERSISTENT if enabled == CONTINUOUS else 0) | (0 if mode == LEGACY else EFI)
    return bytes((first, device, 0, 0, 0))


def override_in(flags: bytes) -> BootOverride:
    """Return the override that the flags stand for. Its mode is unreported, as some BMCs drop that bit."""
    first, second = flags[:2]
    if not first & VALID:
        return BootOverride(NO_TARGET, DISABLED)
    device = second & DEVICE
    return BootOverride(NAMES.get(device, f"device {device:#04x}"), CONTINUOUS if first & PERSISTENT else ONCE)
