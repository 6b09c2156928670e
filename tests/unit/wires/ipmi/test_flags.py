"""Boot flags, by the table of the specification and the traps of real BMCs."""

import pytest

from wires.bmc.client import BootOverride
from wires.ipmi.flags import override_in, written

DELL, SUPERMICRO = 674, 10876


@pytest.mark.parametrize(
    ("override", "mode", "maker", "flags"),
    [
        pytest.param(("Pxe", "Once"), "UEFI", DELL, "a0 04", id="pxe-once"),
        pytest.param(("Pxe", "Continuous"), "UEFI", DELL, "e0 04", id="pxe-persistent"),
        pytest.param(("Pxe", "Once"), "Legacy", DELL, "80 04", id="pxe-by-bios"),
        pytest.param(("Hdd", "Once"), "UEFI", DELL, "a0 08", id="disk"),
        pytest.param(("Hdd", "Once"), "UEFI", SUPERMICRO, "a0 24", id="disk-of-supermicro"),
        pytest.param(("Hdd", "Once"), "UEFI", 47488, "a0 24", id="disk-of-supermicro-without-its-id"),
        pytest.param(("Hdd", "Once"), "Legacy", SUPERMICRO, "80 08", id="disk-of-supermicro-by-bios"),
        pytest.param(("Cd", "Once"), "UEFI", DELL, "a0 14", id="cd"),
        pytest.param(("BiosSetup", "Once"), "UEFI", DELL, "a0 18", id="setup"),
        pytest.param(("None", "Disabled"), "UEFI", DELL, "00 00", id="none"),
        pytest.param(("", "Disabled"), "UEFI", DELL, "00 00", id="cleared"),
    ],
)
def test_an_override_is_written_and_read_back(override: tuple[str, str], mode: str, maker: int, flags: str) -> None:
    raw = written(*override, mode, maker)
    assert raw.hex(" ") == f"{flags} 00 00 00"
    assert override_in(raw) == BootOverride(override[0] or "None", override[1])


def test_flags_that_are_not_valid_are_no_override() -> None:
    """`ipmitool bootdev none` leaves them valid (issue 304); a BMC forgets them by the valid bit alone."""
    assert override_in(bytes.fromhex("2004000000")) == BootOverride("None", "Disabled")
    assert override_in(bytes.fromhex("8000000000")) == BootOverride("None", "Once")
    assert override_in(bytes.fromhex("a03c000000")).target == "device 0x3c"
