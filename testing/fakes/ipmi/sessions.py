"""The BMC's side of RMCP+: logins, and the sealed frames of sessions.

Written apart from the client, by the specification, so that a mistake of one is not one of both.
"""

import hmac
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from base.clock import Clock
from testing.fakes.ipmi.traits import Traits

HASHES = {3: ("sha1", 12), 17: ("sha256", 16)}
ALGORITHMS = {(1, 1, 1): 3, (3, 4, 1): 17}
Run = Callable[[int, int, bytes, int], tuple[int, bytes] | None]
"""Carries out network function, command and data with a privilege level, 0 before a login. None: no answer."""


@dataclass
class Session:
    """One session, from Open Session on."""

    number: int
    client: int
    suite: int
    level: int
    used_at: float
    nonce: bytes = b""
    client_nonce: bytes = b""
    role: bytes = b""
    password: bytes = b""
    keys: tuple[bytes, bytes] | None = None
    sent: int = 0
    answered: set[int] = field(default_factory=set)
    """The messages of the login that it has answered: it ignores a second one, as ipmi_sim does."""

    def keyed(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, HASHES[self.suite][0])


@dataclass
class Sessions:
    """All sessions of a BMC.

    Args:
        run: Carries out a request.
        guid: What RAKP 2 says.
        users: Passwords by name.
    """

    traits: Traits
    clock: Clock
    run: Run
    guid: bytes
    users: dict[bytes, bytes]
    open: dict[int, Session] = field(default_factory=dict)

    def answer(self, datagram: bytes) -> bytes | None:
        """Return the answer to a datagram; None if there is none."""
        head, frame = datagram[:4], datagram[4:]
        if head != b"\x06\x00\xff\x07" or not frame:
            return None
        if frame[0] == 0:
            reply = self._message(frame[10 : 10 + frame[9]], 0)
            return reply and head + struct.pack("<BIIB", 0, 0, 0, len(reply)) + reply
        kind, number, _, size = struct.unpack_from("<BIIH", frame, 1)
        if not kind | number:  # a request outside a session, by which ipmitool asks for the suites
            reply = self._message(frame[12 : 12 + size], 0)
            return reply and head + struct.pack("<BBIIH", 6, 0, 0, 0, len(reply)) + reply
        if kind & 0x3F:
            reply = self._login(kind, frame[12 : 12 + size])
            return reply and head + struct.pack("<BBIIH", 6, kind + 1, 0, 0, len(reply)) + reply
        session = self._live().get(number)
        opened = self._opened(session, frame) if session else None
        if session is None or opened is None:
            return None
        session.used_at = self.clock.now()
        reply = self._message(opened, session.level, session)
        return reply and head + self._sealed(session, reply)

    def _live(self) -> dict[int, Session]:
        now = self.clock.now()
        self.open = {it: one for it, one in self.open.items() if now - one.used_at <= self.traits.idle_s}
        return self.open

    def _login(self, kind: int, body: bytes) -> bytes | None:
        tag = body[:1]
        if kind == 0x10:
            return self._open_session(tag, body)
        session = self._live().get(struct.unpack_from("<I", body, 4)[0])
        if session is None:
            return tag + bytes((2, 0, 0)) + bytes(4)
        if kind in session.answered:
            return None
        session.answered.add(kind)
        return self._rakp_1(session, tag, body) if kind == 0x12 else self._rakp_3(session, tag, body)

    def _refusal(self, tag: bytes, status: int, client: int) -> bytes:
        if self.traits.tag_0:
            return bytes((0, status, 0, 0)) + bytes(4)
        return tag + bytes((status, 0, 0)) + struct.pack("<I", client)

    def _open_session(self, tag: bytes, body: bytes) -> bytes:
        client = struct.unpack_from("<I", body, 4)[0]
        wanted = ALGORITHMS.get((body[12], body[20], body[28]))
        suite = self.traits.picks or wanted
        if suite not in self.traits.suites and suite != self.traits.picks:
            return self._refusal(tag, 0x11, client)
        if len(self._live()) >= self.traits.slots:
            return self._refusal(tag, 0x01, client)
        session = Session(struct.unpack("<I", os.urandom(4))[0] | 1, client, suite or 0, body[1], self.clock.now())
        self.open[session.number] = session
        (chosen,) = (it for it, number in ALGORITHMS.items() if number == suite)
        parts = b"".join(bytes((kind, 0, 0, 8, it, 0, 0, 0)) for kind, it in enumerate(chosen))
        return (
            tag
            + bytes((0, body[1] or max(self.traits.levels), 0))
            + struct.pack("<II", client, session.number)
            + parts
        )

    def _rakp_1(self, session: Session, tag: bytes, body: bytes) -> bytes:
        name = body[28 : 28 + body[27]]
        level, password = body[24] & 0x0F, self.users.get(name)
        if password is None:
            return self._refusal(tag, 0x0D, session.client)
        if level not in self.traits.levels and self.traits.refuses_by == "rakp":
            return self._refusal(tag, 0x09, session.client)
        session.client_nonce, session.nonce, session.password = body[8:24], os.urandom(16), password
        # Ten boards hash the level of Open Session (FreeIPMI, `opensesspriv`). ipmitool has 0 there: the highest.
        assert session.level in (0, level), "the level of RAKP 1 is that of Open Session"
        session.level = level
        session.role = body[24:25] + bytes((len(name),)) + name
        sides = struct.pack("<II", session.client, session.number) + session.client_nonce + session.nonce
        code = session.keyed(password, sides + self.guid + session.role)
        return tag + bytes(3) + struct.pack("<I", session.client) + session.nonce + self.guid + code

    def _rakp_3(self, session: Session, tag: bytes, body: bytes) -> bytes:
        proof = session.nonce + struct.pack("<I", session.client) + session.role
        if not hmac.compare_digest(session.keyed(session.password, proof), body[8:]):
            return self._refusal(tag, 0x0F, session.client)
        key = session.keyed(
            self.traits.own_key or session.password, session.client_nonce + session.nonce + session.role
        )
        session.keys = session.keyed(key, b"\1" * 20), session.keyed(key, b"\2" * 20)[:16]
        code = session.keyed(key, session.client_nonce + struct.pack("<I", session.number) + self.guid)
        return tag + bytes(3) + struct.pack("<I", session.client) + code[: HASHES[session.suite][1]]

    def _opened(self, session: Session, frame: bytes) -> bytes | None:
        size = HASHES[session.suite][1]
        covered, code = frame[:-size], frame[-size:]
        if session.keys is None or not hmac.compare_digest(session.keyed(session.keys[0], covered)[:size], code):
            return None
        body = frame[12 : 12 + struct.unpack_from("<H", frame, 10)[0]]
        cipher = Cipher(algorithms.AES(session.keys[1]), modes.CBC(body[:16])).decryptor()
        text = cipher.update(body[16:]) + cipher.finalize()
        return text[: len(text) - 1 - text[-1]]

    def _sealed(self, session: Session, reply: bytes) -> bytes:
        assert session.keys, "only a session with keys has opened a frame"
        session.sent += 1
        fill = -(len(reply) + 1) % 16
        text, start = reply + bytes(range(1, fill + 1)) + bytes((fill,)), os.urandom(16)
        cipher = Cipher(algorithms.AES(session.keys[1]), modes.CBC(start)).encryptor()
        body = start + cipher.update(text) + cipher.finalize()
        frame = struct.pack("<BBIIH", 6, 0xC0, session.client, session.sent, len(body)) + body
        pad = -(len(frame) + 2) % 4
        frame += b"\xff" * pad + bytes((pad, 7))
        return frame + session.keyed(session.keys[0], frame)[: HASHES[session.suite][1]]

    def _message(self, request: bytes, level: int, session: Session | None = None) -> bytes | None:
        netfn, command = request[1] >> 2, request[5]
        done = self._own(command, request[6:-1], session) if netfn == 6 else None
        done = done or self.run(netfn, command, request[6:-1], level)
        if done is None:
            return None
        head = bytes((request[3], netfn + 1 << 2))
        rest = bytes((0x20, request[4], command, done[0])) + done[1]
        return head + bytes((-sum(head) & 0xFF,)) + rest + bytes((-sum(rest) & 0xFF,))

    def _own(self, command: int, data: bytes, session: Session | None) -> tuple[int, bytes] | None:
        """Carry out what concerns the session itself."""
        if command == 0x38:
            users = self.traits.users | (0x20 if self.traits.own_key else 0)
            return 0, bytes((1, self.traits.logins, users, 0x03, 0, 0, 0, 0))
        if command == 0x54:  # Get Channel Cipher Suites, which ipmitool asks for
            records = {3: b"\xc0\x03\x01\x41\x81", 17: b"\xc0\x11\x03\x44\x81"}
            whole = b"".join(records[it] for it in self.traits.suites)
            return 0, b"\1" + whole[16 * (data[2] & 0x3F) :][:16]
        if session and command == 0x3B:
            allowed = data[0] in self.traits.levels
            return (0, data[:1]) if allowed else (0x81, b"")
        if session and command == 0x3C:
            self.open.pop(session.number, None)
            return 0, b""
        return None
