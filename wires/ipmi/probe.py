"""Reads what an IPMI BMC is and what is unsafe about it, for the operator. Changes nothing."""

from contextlib import suppress

from pydantic import SecretStr

from base.errors import BmcError, BmcRefusedError
from base.masking import Secrets
from wires.bmc.access import CHECK_LIMITS, BmcAccess, Limits
from wires.certificates import Certificate
from wires.ipmi.bmc import CHASSIS, NOBODY, IpmiBmc
from wires.ipmi.session import THIS_CHANNEL, Command, IpmiError, Login

LAN_SETTING = Command("Get LAN Configuration Parameters", 0x0C, 0x02)
SUITES_ALLOWED, SUITE_PRIVILEGES = 23, 24
"""Numbers of two LAN parameters (table 23-4)."""
PROVES_NOTHING = 0
"""The cipher suite without a password."""
VERSION_2 = 0x02
NO_PASSWORD, PLAIN_PASSWORD = 0x01, 0x10
"""Bits of the logins of IPMI 1.5 that a BMC supports (table 22-15)."""
NULL_USERS, ANONYMOUS = 0x02, 0x01
POWER_FAULTS, OTHER_FAULTS = 0b0001_1010, 0b0000_1100
"""Bits of the first and third byte of the chassis status: control fault, power fault, overload; cooling, drive."""
LONG_ENOUGH = 16
"""Bytes of a password that nobody finds from its hash, which a BMC gives to everybody (CVE-2013-4786)."""


class IpmiProbe(IpmiBmc):
    """Implements `ProbedBmc`."""

    def __init__(self, access: BmcAccess, password: SecretStr, limits: Limits = CHECK_LIMITS) -> None:
        super().__init__(access, password, limits)
        self._mask = Secrets(shortest=1)
        self._mask.learn(password.get_secret_value())
        self._capabilities = b""

    def masked(self, text: str) -> str:
        """Return the text without the password, which a BMC may repeat in any of its values."""
        return self._mask.mask(text)

    def certificate(self) -> Certificate | None:
        """Ask what a BMC tells everybody, before any login. IPMI has no certificates."""
        try:
            session = self._new_session(Login(b"", b""))
            try:
                session.read_capabilities()
            finally:
                self._sent += session.sent
                session.close()
        except (IpmiError, OSError) as error:
            raise BmcRefusedError(f"no connection ({error})", where=self.url, fix=NOBODY) from None
        self._capabilities = session.capabilities
        if len(self._capabilities) > 3 and not self._capabilities[3] & VERSION_2:  # noqa: PLR2004  (of 8 bytes)
            fix = "switch IPMI 2.0 (RMCP+) on in the BMC, or update its firmware"
            raise BmcRefusedError("it speaks only IPMI 1.5, which encrypts nothing", where=self.url, fix=fix)
        return None

    def path(self) -> str:
        """Return none: IPMI has no paths."""
        return ""

    def kind(self) -> str:
        """Return how the session is protected, and what it may do."""
        self.power()
        session = self._opened_session()
        return f"IPMI 2.0, cipher suite {session.suite.number}, {session.level}"

    def virtual_cd(self) -> str:
        """Return none: IPMI has no virtual CD."""
        return ""

    def boot_targets(self) -> str:
        """Return the present boot override in place of the targets, which IPMI does not report."""
        self.boot_override()
        return ""

    def override_mode(self) -> str:
        """Return none: IPMI does not report it."""
        return ""

    def health(self) -> str:
        """Return Critical if the chassis has a fault of power, cooling or drives (table 28-3), else OK."""
        answer = self._ask("read the health", CHASSIS, at_least=3)
        return "Critical" if answer[0] & POWER_FAULTS or answer[2] & OTHER_FAULTS else "OK"

    def licence(self) -> str:
        """Return none: IPMI does not report it."""
        return ""

    def warnings(self) -> list[str]:
        """Return what is unsafe about the BMC, or the login, each with what to do."""
        found = list[str]()
        if self._access.boot_mac and self.identity().serial == self._access.boot_mac:
            found.append(
                "it reports neither UUID nor serial, so a consent names the boot MAC: only the server with that card "
                "is installed, but whatever server is behind this BMC is switched off: compare bmc.address"
            )
        methods, status = self._capabilities[1:2], self._capabilities[2:3]
        if methods and methods[0] & (NO_PASSWORD | PLAIN_PASSWORD):
            found.append("it allows logins of IPMI 1.5 without a password, or with a readable one: switch those off")
        if status and status[0] & (NULL_USERS | ANONYMOUS):
            found.append("it has users without a name: give them a name and a password, or disable them")
        if self._allows_suite_0():
            found.append("it lets everybody in by cipher suite 0: take all privileges from that suite")
        if self._session and self._session.suite.digest == "sha1":
            found.append("it has no cipher suite 17: update its firmware, or allow that suite")
        if len(self._password.get_secret_value().encode()) < LONG_ENOUGH:
            found.append(
                "IPMI gives everybody who knows a user's name a hash of the password: set 16 to 20 random bytes, "
                "used nowhere else, and keep the BMC in a network of its own"
            )
        return found

    def _allows_suite_0(self) -> bool:
        """Return whether suite 0 is allowed with any privilege; False if the BMC does not say."""
        with suppress(BmcError):
            suites = self._lan_setting(SUITES_ALLOWED)[2:]
            privileges = self._lan_setting(SUITE_PRIVILEGES)[2:]
            nibbles = [nibble for byte in privileges for nibble in (byte & 0x0F, byte >> 4)]
            return any(number == PROVES_NOTHING and level for number, level in zip(suites, nibbles, strict=False))
        return False

    def _lan_setting(self, parameter: int) -> bytes:
        return self._ask("read the LAN settings", LAN_SETTING, bytes((THIS_CHANNEL, parameter, 0, 0)))
