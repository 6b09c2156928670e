"""`BmcClient` by IPMI: power, boot flags and identity. Its exceptions become this program's errors."""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

from pydantic import SecretStr

from base.clock import SYSTEM_CLOCK, Clock
from base.errors import (
    BmcAuthError,
    BmcError,
    BmcRefusedError,
    BmcTimeoutError,
    BmcTransientError,
    UnplannedWriteError,
)
from base.write_guard import make
from wires.bmc import writes
from wires.bmc.access import ANY_LOGIN, LIMITS, BmcAccess, Limits
from wires.bmc.client import DISABLED, BootOverride, Identity, Power, SecureBoot, mode_of
from wires.bmc.identity import usable
from wires.ipmi.flags import CLEARING, DEVICES, KEEP, PARAMETER, override_in, written
from wires.ipmi.fru import Inventory, inventory_of
from wires.ipmi.link import Link, UdpLink
from wires.ipmi.rakp import LEVELS
from wires.ipmi.session import (
    ANSWER_S,
    CodeError,
    Command,
    IpmiError,
    Login,
    LoginError,
    NoFreeSessionError,
    NoSuiteError,
    OwnKeyError,
    Session,
    SilenceError,
)

DEVICE_ID = Command("Get Device ID", 0x06, 0x01)
GUID = Command("Get System GUID", 0x06, 0x37)
CHASSIS = Command("Get Chassis Status", 0x00, 0x01)
CONTROL = Command("Chassis Control", 0x00, 0x02)
SET_BOOT = Command("Set System Boot Options", 0x00, 0x08)
GET_BOOT = Command("Get System Boot Options", 0x00, 0x09)
FRU_AREA = Command("Get FRU Inventory Area Info", 0x0A, 0x10)
FRU_DATA = Command("Read FRU Data", 0x0A, 0x11)
GUID_BYTES = 16
FRU_CHUNK = 16
"""Bytes of one read, as in ipmitool where a BMC refuses more."""
FRU_READS = 64
"""Reads of the inventory: three areas of 256 bytes, more than any known one has, take 54."""
CODES = {Power.OFF: 0, Power.ON: 1}
SOFT_SHUTDOWN = 5
"""Chassis Control: the power button of ACPI, by an over-temperature that is none (IPMI 2.0, section 28.3)."""
PASSING = {0xC0: True, 0xC3: False, 0xCE: False, 0xD1: True, 0xD2: True, 0xD5: True, 0xFF: False}
"""Completion codes that may pass: whether the BMC has certainly not acted."""
UNPRIVILEGED = 0xD4
FREE_AGAIN_S = 65.0
"""Seconds after which a session that nobody has closed is free again, and a little more."""
NAMELESS = "a server known only by its boot MAC"
FLAGS_STALE_S = 20.0
"""Seconds after which the boot flags are sent again before a power-on: some BMCs drop them after 60."""
NOBODY = (
    "compare bmc.address with the BMC's, switch IPMI over LAN on in it, which many have off, and let this machine "
    "reach its UDP port; if it speaks Redfish, write redfish:// in bmc.address"
)
SLOW = "see whether the BMC's own pages answer, and reset the BMC if they do not; then repeat the command"
CROWDED = "end other sessions of the BMC, or run the command again in two minutes"
UNPROTECTED = "allow cipher suite 17 in the BMC, or update its firmware"
KEYED = "remove K_g, the IPMI encryption key, from the BMC: set it to zeros"


class OutOfTimeError(SilenceError):
    """All answers together took too long, so the request was not sent."""


class IpmiBmc:
    """One server behind a BMC that speaks IPMI 2.0. Sends nothing before the first read. Not thread-safe.

    Args:
        from_state: Whether the login is that of the state, which may be older than that of the stack's options.
        connect: Makes a link to the BMC.
    """

    settle_s = 0.0

    def __init__(  # noqa: PLR0913  (the last two are for tests)
        self,
        access: BmcAccess,
        password: SecretStr,
        limits: Limits = LIMITS,
        *,
        from_state: bool = False,
        clock: Clock = SYSTEM_CLOCK,
        connect: Callable[[str, int], Link] = UdpLink,
    ) -> None:
        url = access.url
        self._server, self.url, self.wanted_mode = url, url.base, access.boot_mode
        self._access, self._password, self._limits, self._from_state = access, password, limits, from_state
        self._clock, self._connect = clock, connect
        self._session: Session | None = None
        self._sent = 0
        self._inventory: Inventory | None = None
        self._manufacturer: int | None = None
        self._flags, self._flags_at, self._flags_words = b"", -math.inf, tuple[str, ...]()
        self._ends_at: float | None = None

    @property
    def requests(self) -> int:
        """Number of datagrams sent so far."""
        return self._sent + (self._session.sent if self._session else 0)

    @property
    def boot_mode(self) -> str:
        """The boot mode that each boot override is sent with."""
        return mode_of(self.wanted_mode)

    def remember(self) -> None:
        """Remember nothing: a read is one datagram."""

    def identity(self) -> Identity:
        """Read the identity of the machine: its GUID in SMBIOS's order of bytes, and what FRU 0 names.

        Where neither is its own, as on virtualbmc, its serial is the host's boot MAC: only the server with that card
        gets the installer. That does not protect another server behind this BMC from being switched off.
        """
        named = self._read_inventory()
        read = Identity(self._guid(), named.serial, named.model, named.manufacturer)
        return read if usable(read) else replace(read, serial=self._access.boot_mac, model=read.model or NAMELESS)

    def bmc_version(self) -> str:
        """Read the firmware version of the BMC itself."""
        answer = self._ask("read the BMC's version", DEVICE_ID, at_least=9)
        return f"{answer[2] & 0x7F}.{answer[3]:02x}"

    def power(self) -> Power:
        """Read the power state."""
        return Power.ON if self._ask("read the power", CHASSIS)[0] & 1 else Power.OFF

    def boot_override(self) -> BootOverride:
        """Read the boot override."""
        return override_in(self._ask("read the boot flags", GET_BOOT, bytes((PARAMETER, 0, 0)), at_least=4)[2:])

    def pending_override(self) -> None:
        """Return no override: flags are in force at once."""

    def boot_modes(self) -> tuple[str, ...]:
        """Return none: IPMI does not report them."""
        return ()

    def expect_boot_method(self) -> None:
        """Accept the host: a BMC that has no boot flags refuses to set them."""

    def secure_boot(self) -> SecureBoot | None:
        """Return None: IPMI has no Secure Boot."""

    def media(self) -> str | None:
        """Return None: IPMI has no virtual CD."""

    def media_at_once(self) -> tuple[None, str]:
        """Return no image, and that nothing is unread."""
        return None, ""

    def insert(self, url: str, certificate: str = "") -> None:
        """Raise: IPMI has no virtual CD."""
        raise self._without("virtual CD")

    def trust(self, certificate: str) -> None:
        """Raise: IPMI has no virtual CD."""
        raise self._without("virtual CD")

    def eject(self) -> None:
        """Raise: IPMI has no virtual CD."""
        raise self._without("virtual CD")

    def set_boot_mode(self, mode: str) -> None:
        """Raise: the boot mode goes with each override."""
        raise self._without(f"boot mode {mode} apart from a boot override")

    def set_secure_boot(self, *, enabled: bool) -> None:
        """Raise: IPMI has no Secure Boot."""
        raise self._without("Secure Boot")

    def offers(self, target: str) -> bool:
        """Return whether boot flags can name the target. Whether the BMC takes it shows only when it is set."""
        return target in DEVICES

    def set_override(self, target: str, enabled: str, mode: str = "", uri: str = "") -> None:
        """Set the boot flags, with the host's boot mode. A power-on that comes late sends them again."""
        if target and not self.offers(target):
            raise self._without(f"boot override to {target}")
        sent = mode or self.boot_mode
        self._flags = written(target, enabled, sent, self._maker())
        modes = () if enabled == DISABLED else (writes.boot_mode(sent),)
        self._flags_words = (writes.override(target, enabled), *modes)
        try:
            self._send_flags(f"set the boot flags to {target or enabled}")
        except BmcRefusedError:
            self._flags = b""
            raise

    def request_power(self, want: Power) -> None:
        """Request On, or Off without a shutdown of the operating system."""
        if want is Power.ON and self._flags and self._clock.now() - self._flags_at > FLAGS_STALE_S:
            self._send_flags("set the boot flags again")
        if want is Power.OFF:
            self._flags = b""
        action = writes.power(want)
        self._ask(f"switch {action}", CONTROL, bytes((CODES[want],)), actions=(action,))

    def request_shutdown(self) -> None:
        """Request that the operating system shut down."""
        self._flags = b""
        self._ask(writes.SHUT_DOWN, CONTROL, bytes((SOFT_SHUTDOWN,)), actions=(writes.SHUT_DOWN,))

    def check_task(self) -> str:
        """Return no state: IPMI has no tasks."""
        return ""

    def close(self) -> None:
        """End the session, if any: a BMC has few."""
        if self._session:
            self._session.close()
            self._forget_session()

    def _guid(self) -> str:
        """Return the GUID as a UUID whose bytes are in SMBIOS's order, as most BMCs send it; empty without one."""
        try:
            answer = self._ask("read the system GUID", GUID)
        except BmcRefusedError:
            return ""
        return str(UUID(bytes_le=answer)) if len(answer) == GUID_BYTES else ""

    def _read_inventory(self) -> Inventory:
        """Read FRU 0, once: it may take ten reads, and it does not change while the server stands there."""
        if self._inventory is None:
            try:
                size = int.from_bytes(self._ask("read the inventory", FRU_AREA, b"\0")[:2], "little")
                left = iter(range(FRU_READS))
                self._inventory = inventory_of(
                    lambda offset, count: self._fru(offset, min(count, size - offset), left)
                )
            except BmcRefusedError:
                self._inventory = Inventory()
        return self._inventory

    def _fru(self, offset: int, count: int, left: Iterator[int]) -> bytes:
        """Read a part of FRU 0, by no more reads than are `left`: a BMC may call it long, and send single bytes."""
        data = b""
        while len(data) < count:
            if next(left, None) is None:
                raise BmcRefusedError("the inventory has no end", where=self.url)
            at, size = offset + len(data), min(FRU_CHUNK, count - len(data))
            part = self._ask("read the inventory", FRU_DATA, b"\0" + at.to_bytes(2, "little") + bytes((size,)))[1:]
            if not part:
                break
            data += part
        return data[:count]

    def _maker(self) -> int:
        if self._manufacturer is None:
            answer = self._ask("read the BMC's maker", DEVICE_ID, at_least=9)
            self._manufacturer = int.from_bytes(answer[6:9], "little")
        return self._manufacturer

    def _send_flags(self, what: str) -> None:
        with suppress(BmcRefusedError):  # older OpenBMC has no such parameter
            self._ask("keep the boot flags", SET_BOOT, bytes((CLEARING, KEEP)), actions=self._flags_words)
        self._ask(what, SET_BOOT, bytes((PARAMETER,)) + self._flags, actions=self._flags_words)
        self._flags_at = self._clock.now()

    def _ask(
        self, attempt: str, command: Command, data: bytes = b"", at_least: int = 1, actions: tuple[str, ...] = ()
    ) -> bytes:
        """Return the answer to a request, in a new session if there is none or the last one was silent.

        Args:
            attempt: What it is for.
            command: The request.
            data: Its parameters.
            at_least: Bytes without which an answer is none.
            actions: What it writes; a request that is no read is not sent without.
        """
        try:
            within_s = self._seconds_left()
            if self._session and self._session.is_idle:
                self.close()
            session = self._opened_session()
            self._write_lines(command, actions)
            answer = session.ask(command, data, within_s)
        except (IpmiError, OSError) as error:
            raise self._converted(error, attempt, command) from None
        if command.is_read and len(answer) < at_least:
            raise BmcTransientError(f"cannot {attempt}: the answer is too short", where=self.url, undone=True)
        return answer

    def _write_lines(self, command: Command, actions: tuple[str, ...]) -> None:
        """Write the line of each write that a request makes.

        Raises:
            UnplannedWriteError: The run has a write plan without it, or the request is no read, and has none.
        """
        if not command.is_read and not actions:
            raise UnplannedWriteError(f"not made: a {command.name} that no write names", where=self.url)
        for action in actions:
            make(writes.to_bmc(self._access.address, action))

    def _seconds_left(self) -> float:
        """Return the seconds for the next answer.

        Raises:
            OutOfTimeError: There are none.
        """
        if self._ends_at is None:
            self._ends_at = self._clock.now() + self._limits.whole_s
        left_s = self._ends_at - self._clock.now()
        if left_s <= 0:
            raise OutOfTimeError(f"all its answers together took more than {self._limits.whole_s:g} s")
        return min(ANSWER_S, left_s)

    def _opened_session(self) -> Session:
        if self._session is None:
            level = self._server.privilege
            login = Login(
                self._access.username.encode(),
                self._password.get_secret_value().encode(),
                (level,) if level else tuple(LEVELS),
            )
            session = self._new_session(login)
            try:
                session.open()
            finally:
                if not session.level:
                    self._sent += session.sent
            self._session = session
        return self._session

    def _new_session(self, login: Login) -> Session:
        return Session(self._connect(self._server.host, self._server.port), self._clock, login, self.url)

    def _forget_session(self) -> None:
        self._sent, self._session = self.requests, None

    def _converted(self, error: Exception, attempt: str, command: Command) -> BmcError:
        """Return an error of the session as one of this program's."""
        what, was_open = f"cannot {attempt}: {error}", self._session is not None
        if isinstance(error, LoginError | OwnKeyError | NoSuiteError):
            return self._unauthorized(error)
        if isinstance(error, CodeError):
            return self._refused(error, what, is_read=command.is_read or not was_open)
        if self._session and isinstance(error, SilenceError | OSError):
            self.close()  # the BMC may have restarted: the next request logs in again
        fixes = ((NoFreeSessionError, CROWDED), (OutOfTimeError, SLOW))
        fix = next((fix for kind, fix in fixes if isinstance(error, kind)), NOBODY)
        if self._limits.whole_s < math.inf:
            return BmcTimeoutError(what, where=self.url, fix=fix)
        is_answer = not isinstance(error, SilenceError | OSError)
        passing = BmcTransientError(
            what, where=self.url, fix=fix, undone=command.is_read or not was_open, refused=is_answer
        )
        if isinstance(error, NoFreeSessionError):
            passing.retry_after_s = FREE_AGAIN_S
        return passing

    def _unauthorized(self, error: Exception) -> BmcError:
        if not isinstance(error, LoginError):
            fix = KEYED if isinstance(error, OwnKeyError) else UNPROTECTED
            return BmcAuthError(str(error), where=self.url, fix=fix)
        place, roles = self._access.login or ANY_LOGIN, " or ".join(LEVELS)
        fix = f"correct the login ({place}), and let that user log in over LAN as {roles}"
        if self._from_state:
            fix = "if the login was changed since the last `up`, run `pulumi up` first, without --refresh"
        return BmcAuthError(f"the BMC refuses the login: {error}", where=self.url, fix=fix)

    def _refused(self, error: CodeError, what: str, *, is_read: bool) -> BmcError:
        if error.code in PASSING:
            undone = is_read or PASSING[error.code]
            return BmcTransientError(what, where=self.url, undone=undone, refused=True)
        fix = f"update the BMC's firmware, or use {self._server.instead}, if it speaks Redfish"
        if error.code == UNPRIVILEGED:
            fix = f"give the user the privilege {' or '.join(LEVELS)}"
        return BmcRefusedError(what, where=self.url, fix=fix)

    def _without(self, what: str) -> BmcRefusedError:
        fix = f"use {self._server.instead}, if the BMC speaks Redfish"
        return BmcRefusedError(f"IPMI has no {what}", where=self.url, fix=fix)
