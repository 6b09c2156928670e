"""Datagrams of IPMI 2.0 over LAN: messages, and the frames in which they travel, plain and sealed.

Numbers and layouts are those of the specification "IPMI v2.0 rev. 1.1", sections 13.1 to 13.8 and 13.28 to 13.29.
"""

import hmac
import os
import struct
from dataclasses import dataclass
from typing import NamedTuple

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

RMCP = b"\x06\x00\xff\x07"
"""Header of every datagram: RMCP 1.0, no acknowledgement wanted, class IPMI."""
BMC_ADDRESS, OUR_ADDRESS = 0x20, 0x81
PLAIN, RMCP_PLUS = 0, 6
"""Formats of a frame: of IPMI 1.5 without authentication, and of IPMI 2.0."""
IPMI_MESSAGE = 0
"""Payload type of a message; those of a login are in `rakp`."""
SEALED = 0xC0
"""Bits of a payload type: encrypted and authenticated."""
NEXT_HEADER = 7
BLOCK_BYTES = 16
SHORTEST_ANSWER = 8
"""Bytes of an answer without data: six of its header, completion code, checksum."""
HEADER = struct.Struct("<BBIIH")
"""Of an RMCP+ frame: format, payload type, session, number, bytes of the payload."""


class Suite(NamedTuple):
    """A cipher suite: the numbers of its three algorithms, its hash, and the bytes of its integrity value."""

    number: int
    authentication: int
    integrity: int
    confidentiality: int
    digest: str
    icv_bytes: int

    def keyed(self, key: bytes, data: bytes) -> bytes:
        """Return the HMAC of the data."""
        return hmac.digest(key, data, self.digest)


SUITES = (Suite(17, 3, 4, 1, "sha256", 16), Suite(3, 1, 1, 1, "sha1", 12))
"""The only ones that are offered, best first. All others encrypt nothing, authenticate nothing, or use MD5 or RC4."""


def checksum(data: bytes) -> int:
    """Return the byte that makes the sum of all bytes a multiple of 256."""
    return -sum(data) & 0xFF


def message(netfn: int, command: int, data: bytes, sequence: int) -> bytes:
    """Return a request to the BMC."""
    head = bytes((BMC_ADDRESS, netfn << 2))
    rest = bytes((OUR_ADDRESS, sequence << 2, command)) + data
    return head + bytes((checksum(head),)) + rest + bytes((checksum(rest),))


def answer_in(payload: bytes, netfn: int, command: int, sequence: int) -> bytes | None:
    """Return completion code and data of the answer to a request; None if the payload is not that answer."""
    if len(payload) < SHORTEST_ANSWER:
        return None
    is_ours = payload[1] >> 2 == netfn + 1 and payload[4] >> 2 == sequence and payload[5] == command
    return payload[6:-1] if is_ours and not checksum(payload[3:]) else None


def plain_frame(payload: bytes) -> bytes:
    """Return a frame of IPMI 1.5, outside any session."""
    return struct.pack("<BIIB", PLAIN, 0, 0, len(payload)) + payload


def login_frame(payload: bytes, kind: int) -> bytes:
    """Return a frame of IPMI 2.0, outside any session."""
    return HEADER.pack(RMCP_PLUS, kind, 0, 0, len(payload)) + payload


def unsealed(frame: bytes) -> tuple[int, bytes] | None:
    """Return type and payload of a frame outside any session; None of any other."""
    if frame[:1] == bytes((PLAIN,)) and len(frame) > 10:  # noqa: PLR2004  (bytes of its header)
        return IPMI_MESSAGE, frame[10 : 10 + frame[9]]
    if frame[:1] == bytes((RMCP_PLUS,)) and len(frame) >= HEADER.size:
        _, kind, _, _, size = HEADER.unpack_from(frame)
        return (kind, frame[HEADER.size : HEADER.size + size]) if not kind & SEALED else None
    return None


@dataclass
class Seal:
    """Encrypts and authenticates the frames of one session.

    Args:
        suite: Its algorithms.
        integrity_key: K1.
        cipher_key: The first 16 bytes of K2.
        own: Number that this side gave the session.
        theirs: Number that the BMC gave it.
    """

    suite: Suite
    integrity_key: bytes
    cipher_key: bytes
    own: int
    theirs: int
    _sent: int = 0
    _received: int = 0
    """Highest number of a frame of the BMC: one that comes again, or late, is ignored."""

    def sealed(self, payload: bytes) -> bytes:
        """Return a frame with the payload."""
        self._sent += 1
        fill = -(len(payload) + 1) % BLOCK_BYTES
        start = os.urandom(BLOCK_BYTES)
        cipher = self._cipher(start).encryptor()
        body = start + cipher.update(payload + bytes(range(1, fill + 1)) + bytes((fill,))) + cipher.finalize()
        frame = HEADER.pack(RMCP_PLUS, IPMI_MESSAGE | SEALED, self.theirs, self._sent, len(body)) + body
        pad = -(len(frame) + 2) % 4
        frame += b"\xff" * pad + bytes((pad, NEXT_HEADER))
        return frame + self._code(frame)

    def opened(self, frame: bytes) -> bytes | None:
        """Return the message in a frame of the BMC; None if it is not of this session, was changed, or is not new."""
        covered, code = frame[: -self.suite.icv_bytes], frame[-self.suite.icv_bytes :]
        if len(covered) < HEADER.size or not hmac.compare_digest(self._code(covered), code):
            return None
        _, kind, session, number, size = HEADER.unpack_from(frame)
        body = covered[HEADER.size : HEADER.size + size]
        is_whole = len(body) >= 2 * BLOCK_BYTES and not len(body) % BLOCK_BYTES
        if (kind, session) != (IPMI_MESSAGE | SEALED, self.own) or number <= self._received or not is_whole:
            return None
        self._received = number
        cipher = self._cipher(body[:BLOCK_BYTES]).decryptor()
        text = cipher.update(body[BLOCK_BYTES:]) + cipher.finalize()
        return text[: -text[-1] - 1]

    def _cipher(self, start: bytes) -> Cipher[modes.CBC]:
        return Cipher(algorithms.AES(self.cipher_key), modes.CBC(start))

    def _code(self, covered: bytes) -> bytes:
        return self.suite.keyed(self.integrity_key, covered)[: self.suite.icv_bytes]
