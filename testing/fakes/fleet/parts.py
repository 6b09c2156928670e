"""The parts of a vendor's row: refusals, drives, and the firmware of the server."""

from dataclasses import dataclass

DISC = ("CD", "DVD")


@dataclass(frozen=True)
class Refusal:
    """The answer with which a BMC refuses a request."""

    status: int
    message_id: str
    message: str = ""
    """Its Message; empty for one that follows from the id."""
    args: tuple[str, ...] = ()


IN_USE = Refusal(409, "Base.1.8.ResourceInUse")
UNLICENSED = Refusal(403, "Base.1.8.LicenseNotPassed")


@dataclass(frozen=True)
class Slot:
    """One virtual drive.

    Args:
        types: Its MediaTypes; empty if it reports none.
        action: Whether it advertises InsertMedia and EjectMedia.
        own_action: Name of the vendor's own action, in its Oem, that mounts an image; empty if there is none.
        refuses: Status that answers every insert; 0 if it accepts media.
        protocol: Its TransferProtocolType; empty if it reports none.
    """

    name: str
    types: tuple[str, ...] = DISC
    action: bool = True
    own_action: str = ""
    refuses: int = 0
    protocol: str = ""


@dataclass(frozen=True)
class Firmware:
    """The settings of boot mode and Secure Boot of a server.

    Args:
        modes: Allowed values of the boot mode; empty if the BMC does not report them.
        fixed_mode: Whether the boot mode is read-only.
        keys: Initial state of the keys of Secure Boot; empty if the BMC has no Secure Boot.
        has_switch: Whether the BMC has SecureBootEnable.
        by_jobs: A job makes a change at the next power-on; until then the BMC refuses another one.
    """

    modes: tuple[str, ...] = ()
    fixed_mode: bool = False
    keys: str = ""
    has_switch: bool = True
    by_jobs: bool = False


@dataclass(frozen=True)
class Clearing:
    """What a BMC takes as the end of a boot override.

    Args:
        takes_none: Whether the target may be None.
        needs: What must be sent beside Disabled.
    """

    takes_none: bool = True
    needs: tuple[str, ...] = ()


TAKES_ALL = Clearing()
UNKNOWN = Firmware()

# DSP0268.
STANDARD = Firmware(keys="DeployedMode")

# A captured R750. ironic's management.py: both by a job; bmclib PR 471: SYS011 until it has run.
JOBS = Firmware(keys="DeployedMode", by_jobs=True)

# Captured DL325 and XL675d. openshift-docs PR 107591: the mode is read-only.
FIXED = Firmware(keys="UserMode", fixed_mode=True)

# Captured SR670 (Lenovo); a Supermicro and an AMI with keys are assumed to be the same.
KEYS = Firmware(keys="UserMode")

# Captured SYS-821GE and H262.
NO_KEYS = Firmware(keys="SetupMode")

# A captured DGX H100.
ONLY_UEFI = Firmware(keys="UserMode", modes=("UEFI",))

# libredfish PR 111: Secure Boot of Supermicro's GB300.
NO_SWITCH = Firmware(keys="SetupMode", has_switch=False)
