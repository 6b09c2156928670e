"""RAKP, the login of IPMI 2.0: what each side proves by its codes, and the keys that follow.

Source: specification "IPMI v2.0 rev. 1.1", sections 13.17 to 13.24 and 13.31 to 13.32.
"""

import struct
from dataclasses import dataclass

from wires.ipmi.packets import Suite

OPEN_SESSION, RAKP_1, RAKP_3 = 0x10, 0x12, 0x14
"""Payload types of this side; the BMC answers each with the next one."""
NAME_ONLY = 0x10
"""Bit of the role: the BMC looks the user up by name alone, not by name and privilege."""
LEVELS = {"ADMINISTRATOR": 4, "OPERATOR": 3}
NO_FREE_SESSION, NO_ROLE, UNAUTHORIZED_ROLE, UNAUTHORIZED_NAME = 0x01, 0x09, 0x0A, 0x0D
BAD_INTEGRITY = 0x0F
NO_SUITE = (0x04, 0x05, 0x06, 0x07, 0x10, 0x11)
"""Status codes of a BMC that does not have the algorithms which this side proposes."""
STATUS = {
    0x01: "it has no free session",
    0x02: "it knows no such session",
    0x09: "it does not grant the privilege level",
    0x0A: "it does not grant the user this privilege level",
    0x0C: "it refuses the length of the user's name",
    0x0D: "it does not let this user log in",
    0x0E: "it does not accept its own GUID",
    0x0F: "it does not accept the password",
    0x12: "it calls a parameter illegal",
}


def proposal(suite: Suite) -> bytes:
    """Return the algorithms as Open Session names them, in both directions."""
    algorithms = (suite.authentication, suite.integrity, suite.confidentiality)
    return b"".join(bytes((kind, 0, 0, 8, algorithm, 0, 0, 0)) for kind, algorithm in enumerate(algorithms))


@dataclass(frozen=True)
class Exchange:
    """What both sides know once the BMC has sent RAKP 2.

    Args:
        own: Number that this side gave the session.
        theirs: Number that the BMC gave it.
        own_nonce: Random number of this side, 16 bytes.
        their_nonce: That of the BMC.
        guid: What the BMC sends as its GUID.
        level: Privilege level.
    """

    suite: Suite
    user: bytes
    password: bytes
    level: int
    own: int
    theirs: int
    own_nonce: bytes
    their_nonce: bytes = b""
    guid: bytes = b""

    @property
    def request(self) -> bytes:
        """RAKP 1, after its tag."""
        role, size, name = self._role[:1], self._role[1:2], self._role[2:]
        return bytes(3) + _four(self.theirs) + self.own_nonce + role + bytes(2) + size + name

    @property
    def their_code(self) -> bytes:
        """What proves in RAKP 2 that the BMC knows the password."""
        sides = _four(self.own) + _four(self.theirs) + self.own_nonce + self.their_nonce
        return self.suite.keyed(self.password, sides + self.guid + self._role)

    @property
    def own_code(self) -> bytes:
        """What proves in RAKP 3 that this side knows it."""
        return self.suite.keyed(self.password, self.their_nonce + _four(self.own) + self._role)

    @property
    def last_code(self) -> bytes:
        """What proves in RAKP 4 that the BMC has the same session key."""
        code = self.suite.keyed(self._session_key, self.own_nonce + _four(self.theirs) + self.guid)
        return code[: self.suite.icv_bytes]

    def key(self, number: int) -> bytes:
        """Return K1 or K2."""
        return self.suite.keyed(self._session_key, bytes((number,)) * 20)

    @property
    def _session_key(self) -> bytes:
        """SIK, by the user's password: a BMC whose K_g is set uses that in its place."""
        return self.suite.keyed(self.password, self.own_nonce + self.their_nonce + self._role)

    @property
    def _role(self) -> bytes:
        return bytes((NAME_ONLY | self.level, len(self.user))) + self.user


def _four(number: int) -> bytes:
    return struct.pack("<I", number)
