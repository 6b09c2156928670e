"""One session with a BMC: login, one request at a time, and its end.

What real BMCs and simulators do with it, and which of the choices below were tried, is in ADR 61.
"""

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import NamedTuple

from base.clock import Clock
from wires.ipmi.link import Link
from wires.ipmi.packets import (
    RMCP,
    SUITES,
    Seal,
    Suite,
    answer_in,
    login_frame,
    message,
    plain_frame,
    unsealed,
)
from wires.ipmi.rakp import (
    BAD_INTEGRITY,
    LEVELS,
    NO_FREE_SESSION,
    NO_ROLE,
    NO_SUITE,
    OPEN_SESSION,
    RAKP_1,
    RAKP_3,
    STATUS,
    UNAUTHORIZED_NAME,
    UNAUTHORIZED_ROLE,
    Exchange,
    proposal,
)

ANSWER_S = 6.0
"""Seconds for one request."""
LOGIN_S = 15.0
"""Seconds for the exchange of keys: six of them, of which one is complete though one datagram in twenty is lost."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 4.0
"""Seconds until a datagram is sent again; doubled each time."""
CLOSE_S = 1.0
PACE_S = 1.0
"""Shortest time between two requests: Ironic keeps 5 s (`min_command_interval`), as faster ones may crash a BMC."""
IDLE_S = 50.0
"""Seconds without a request after which a session counts as ended: a BMC ends it after 60 (section 6.12.15)."""

_LOG = logging.getLogger(__name__)


class Command(NamedTuple):
    """A request to the BMC, by the numbers of the specification."""

    name: str
    netfn: int
    number: int

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing, by the first word that the specification names it with."""
        return self.name.startswith(("Get ", "Read "))


CAPABILITIES = Command("Get Channel Authentication Capabilities", 0x06, 0x38)
SET_PRIVILEGE = Command("Set Session Privilege Level", 0x06, 0x3B)
CLOSE = Command("Close Session", 0x06, 0x3C)
THIS_CHANNEL, EXTENDED = 0x0E, 0x80
RAKP_2_BYTES = 40
"""Of an answer without its code."""


class IpmiError(Exception):
    """The BMC gave an unusable answer, or none."""


class SilenceError(IpmiError):
    """No answer in time. Whether the BMC has acted is not known."""


class NoFreeSessionError(IpmiError):
    """All sessions of the BMC are in use; one that nobody closed ends after a minute."""


class LoginError(IpmiError):
    """The BMC refuses the login, or does not know the password. Trying again may lock the account."""


class NoSuiteError(IpmiError):
    """The BMC has no algorithms that protect anything."""


class OwnKeyError(IpmiError):
    """The BMC has a key of its own, K_g."""


class CodeError(IpmiError):
    """The BMC answered with a completion code other than 0."""

    def __init__(self, command: Command, code: int) -> None:
        self.code = code
        super().__init__(f"{command.name}: completion code {code:#04x}")


class _StatusError(IpmiError):
    """A message of the login was answered with a status other than 0."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(STATUS.get(status, f"status {status:#04x}"))


@dataclass(frozen=True)
class Login:
    """Who logs in.

    Args:
        levels: Privilege levels, the wanted one first. The next one is tried only if the BMC does not grant it.
    """

    user: bytes
    password: bytes = field(repr=False)
    levels: tuple[str, ...] = tuple(LEVELS)


@dataclass
class Session:
    """A session on a link, which it closes with itself."""

    link: Link
    clock: Clock
    login: Login
    url: str
    """Of the BMC, for the log."""
    sent: int = 0
    """Number of datagrams sent so far."""
    suite: Suite = SUITES[0]
    level: str = ""
    capabilities: bytes = b""
    """The answer to `CAPABILITIES`, which the BMC gives to everybody."""
    _seal: Seal | None = None
    _sequence: int = 0
    _tag: int = 0
    _asked_at: float = -PACE_S

    def open(self) -> None:
        """Log in.

        Raises:
            LoginError: The BMC refuses the user or the privilege level, or does not know the password.
            NoSuiteError: It has no cipher suite that this side offers.
            OwnKeyError: It has a key of its own.
            NoFreeSessionError: All its sessions are in use.
            IpmiError: It does not answer, or not in a way that can be used.
        """
        try:
            self.read_capabilities()
            for name in self.login.levels:
                try:
                    self._log_in(name)
                except _StatusError as error:
                    if error.status not in (NO_ROLE, UNAUTHORIZED_ROLE):
                        raise
                    if name == self.login.levels[-1]:
                        raise LoginError(f"{error}, {name}") from None
                else:
                    self.level = name
                    return
        except BaseException:
            self.close()
            raise

    def read_capabilities(self) -> None:
        """Ask what anybody may ask."""
        wanted = bytes((THIS_CHANNEL | EXTENDED, LEVELS[self.login.levels[0]]))
        self.capabilities = self.ask(CAPABILITIES, wanted)

    @property
    def is_idle(self) -> bool:
        """Whether the BMC may have ended the session, as nothing was asked for so long."""
        return self.clock.now() - self._asked_at >= IDLE_S

    def ask(self, command: Command, data: bytes = b"", within_s: float = ANSWER_S) -> bytes:
        """Return the data of the answer to a request.

        Raises:
            CodeError: The BMC refuses it.
            SilenceError: It does not answer.
        """
        self.clock.sleep(max(0.0, self._asked_at + PACE_S - self.clock.now()))
        self._asked_at = self.clock.now()
        self._sequence = (self._sequence + 1) % 64
        request = message(command.netfn, command.number, data, self._sequence)

        def frame() -> bytes:
            return self._seal.sealed(request) if self._seal else plain_frame(request)

        def answer(received: bytes) -> bytes | None:
            if self._seal:
                payload = self._seal.opened(received)
            else:
                _, payload = unsealed(received) or (0, None)
            return answer_in(payload, command.netfn, command.number, self._sequence) if payload else None

        _LOG.debug("%s", f"{self.url} {command.name} {data.hex(' ')}".rstrip())
        code, *rest = self._exchange(frame, answer, command.name, FIRST_WAIT_S, within_s)
        _LOG.debug("%s %s: code %#04x, %d bytes", self.url, command.name, code, len(rest))
        if code:
            raise CodeError(command, code)
        return bytes(rest)

    def close(self) -> None:
        """End the session, if there is one, and close the link."""
        self._end()
        self.link.close()

    def _end(self) -> None:
        """End the session, if there is one: it takes one of few places. Wait for the answer only briefly."""
        if self._seal:
            with suppress(IpmiError, OSError):
                self.ask(CLOSE, self._seal.theirs.to_bytes(4, "little"), within_s=CLOSE_S)
            self._seal = None

    def _log_in(self, level: str) -> None:
        """Log in with the first algorithms that the BMC has. Start over after each silence, with more patience.

        A BMC that has sent its RAKP 2 or 4 may ignore the same RAKP 1 or 3 if it comes again (OpenIPMI's ipmi_sim).
        """
        until, wait_s = self.clock.now() + LOGIN_S, FIRST_WAIT_S
        while True:
            try:
                exchange = self._exchange_keys(LEVELS[level], wait_s)
                break
            except SilenceError:
                if self.clock.now() >= until:
                    raise
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        self._seal = Seal(self.suite, exchange.key(1), exchange.key(2)[:16], exchange.own, exchange.theirs)
        try:
            self.ask(SET_PRIVILEGE, bytes((LEVELS[level],)))
        except CodeError as error:
            self._end()
            if error.code in (0x80, 0x81):
                raise _StatusError(UNAUTHORIZED_ROLE) from None
            raise

    def _exchange_keys(self, level: int, wait_s: float) -> Exchange:
        """Send Open Session, RAKP 1 and RAKP 3, each once."""
        own = int.from_bytes(os.urandom(4)) | 1
        theirs = self._open(own, level, wait_s)
        begun = Exchange(self.suite, self.login.user, self.login.password, level, own, theirs, os.urandom(16))
        try:
            answer = self._shake(RAKP_1, begun.request, "RAKP 1", wait_s)
        except _StatusError as error:
            if error.status == UNAUTHORIZED_NAME:
                raise LoginError(f"{error}: it has no such user, or has locked or disabled it") from None
            raise
        if len(answer) < RAKP_2_BYTES:
            raise IpmiError(f"RAKP 2 has {len(answer)} bytes")
        known = Exchange(**vars(begun) | {"their_nonce": answer[8:24], "guid": answer[24:40]})
        if not compare_digest(known.their_code, answer[40:]):
            # Nothing was sent yet by which the BMC could count a wrong password.
            raise LoginError("the password is not the one that the BMC has for this user")
        try:
            answer = self._shake(RAKP_3, bytes(3) + theirs.to_bytes(4, "little") + known.own_code, "RAKP 3", wait_s)
        except _StatusError as error:
            if error.status == BAD_INTEGRITY:
                raise LoginError(str(error)) from None
            raise
        if not compare_digest(known.last_code, answer[8:]):
            raise OwnKeyError("the BMC uses a key of its own, K_g")
        return known

    def _open(self, own: int, level: int, wait_s: float) -> int:
        """Return the number that the BMC gives the session, and note the algorithms that both have."""
        for suite in SUITES:
            try:
                request = bytes((level, 0, 0)) + own.to_bytes(4, "little") + proposal(suite)
                answer = self._shake(OPEN_SESSION, request, "Open Session", wait_s)
            except _StatusError as error:
                if error.status == NO_FREE_SESSION:
                    raise NoFreeSessionError(str(error)) from None
                if error.status not in NO_SUITE:
                    raise
                continue
            # virtualbmc answers with suite 3, whatever was proposed.
            if (answer[16:17], answer[24:25], answer[32:33]) == tuple(bytes((it,)) for it in suite[1:4]):
                self.suite = suite
                return int.from_bytes(answer[8:12], "little")
        raise NoSuiteError(f"the BMC has no cipher suite of {' and '.join(str(suite.number) for suite in SUITES)}")

    def _shake(self, kind: int, body: bytes, what: str, wait_s: float) -> bytes:
        """Send a message of the login once, and return its answer."""
        self._tag = self._tag % 255 + 1

        def answer(received: bytes) -> bytes | None:
            found, payload = unsealed(received) or (0, b"")
            if found != kind + 1 or len(payload) < 2:  # noqa: PLR2004  (tag and status)
                return None
            # OpenBMC refuses with tag 0 (openbmc/phosphor-net-ipmid).
            return payload if payload[0] == self._tag or (payload[0] == 0 and payload[1]) else None

        payload = bytes((self._tag,)) + body
        received = self._exchange(lambda: login_frame(payload, kind), answer, what, wait_s, wait_s)
        _LOG.debug("%s %s: status %#04x", self.url, what, received[1])
        if received[1]:
            raise _StatusError(received[1])
        return received

    def _exchange(
        self,
        frame: Callable[[], bytes],
        answer: Callable[[bytes], bytes | None],
        what: str,
        wait_s: float,
        for_s: float,
    ) -> bytes:
        """Send a new frame after each wait, which doubles, until `answer` finds one in what is received."""
        until = self.clock.now() + for_s
        while (left_s := until - self.clock.now()) > 0:
            again_at = self.clock.now() + min(wait_s, left_s)
            wait_s *= 2
            self.link.send(RMCP + frame())
            self.sent += 1
            while (slice_s := again_at - self.clock.now()) > 0:
                received = self.link.receive(slice_s)
                if received is not None and received.startswith(RMCP[:1]):
                    found = answer(received[len(RMCP) :])
                    if found is not None:
                        return found
        raise SilenceError(f"{what}: no answer within {for_s:g} s")
