"""What is special about BMCs that speak IPMI, each trait with its source."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """One kind of BMC. The defaults are those of the specification, IPMI v2.0 rev. 1.1."""

    suites: tuple[int, ...] = (3, 17)
    """Its cipher suites."""
    unsafe_suites: tuple[int, ...] = ()
    """Suites that it allows as well, of which the client speaks none: 0 lets everybody in."""
    logins: int = 0x84
    """What it says of logins of IPMI 1.5 (table 22-15): 84h is MD5; 01h none, 10h a readable password."""
    users: int = 0x04
    """What it says of users, in the same table: 04h have names; 02h have none, 01h are anonymous."""
    picks: int | None = None
    """The suite that it answers with, whatever is proposed: virtualbmc 3.3.0 answers with 3."""
    own_key: bytes = b""
    """K_g; empty: it is not set."""
    guid: str = "smbios"
    """The order of its GUID's bytes: `smbios`, `rfc` (ipmitool issues 25 and 239), `reversed` (section 20.8), `zero`,
    `placeholder`, or `none`: virtualbmc refuses the request."""
    fru: str = "product"
    """The area of FRU 0 with the serial: `product`, `chassis`, `board` or `empty`; `none`: the request is refused."""
    levels: tuple[int, ...] = (4, 3, 2)
    """The privilege levels that it grants: IBM Cloud's has OPERATOR only (openshift/baremetal-operator PR 143)."""
    refuses_by: str = "rakp"
    """Where it refuses a level: in RAKP 2, or at `privilege`, by Set Session Privilege Level."""
    slots: int = 4
    """Sessions at a time: 4 on a Cisco's (ipmitool issue 213). Half-open ones count."""
    idle_s: float = 60.0
    """Seconds after which it ends a session (section 6.12.15)."""
    tag_0: bool = False
    """Whether it refuses with tag and session 0, as OpenBMC's phosphor-net-ipmid does (xcat-core PR 7555)."""
    keeps_flags: bool = True
    """Whether it has boot option 3, which keeps the flags beyond 60 s; older OpenBMC answers 80h."""
    uefi_bit: bool = True
    """Whether it stores the UEFI bit of the flags; OpenIPMI's ipmi_sim drops it."""
    once_shows: bool = False
    """Whether flags for one boot stay readable after it, as on virtualbmc."""
    once_works: bool = True
    """Whether flags for one boot have an effect: JetSki PR 110, baremetal-operator issue 1187."""
    flags: bool = True
    """Whether it has boot flags."""
    off_when_off: int = 0
    """Completion code of Off when it is off: D5h on a Dell (bmclib PR 382)."""
    maker: int = 674
    """Manufacturer ID: Dell's."""


TRAITS = {
    "generic": Traits(),
    "dell": Traits(off_when_off=0xD5),
    "supermicro": Traits(maker=10876, suites=(3,)),
    "openbmc": Traits(tag_0=True, keeps_flags=False, guid="rfc", maker=42817),
    "openbmc_without_uuid": Traits(tag_0=True, keeps_flags=False, guid="placeholder", maker=42817),
    "cisco": Traits(maker=5771, slots=4),
    "by_specification": Traits(guid="reversed"),
    "operator_only": Traits(levels=(3, 2)),
    "operator_by_privilege": Traits(levels=(3, 2), refuses_by="privilege"),
    "virtualbmc": Traits(picks=3, guid="none", fru="none", once_shows=True),
    "ipmi_sim": Traits(suites=(3,), uefi_bit=False),
    "unsafe": Traits(suites=(3,), unsafe_suites=(0,), logins=0x95, users=0x07),
    "chassis_serial": Traits(guid="none", fru="chassis"),
    "board_serial": Traits(guid="zero", fru="board"),
}
"""Kinds of BMCs by name."""
