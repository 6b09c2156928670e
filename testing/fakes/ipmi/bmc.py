"""An IPMI BMC before a server, with faults."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from base.clock import Clock
from testing.fakes.ipmi.sessions import Sessions
from testing.fakes.ipmi.traits import TRAITS, Traits
from wires.bmc.client import DISABLED, LEGACY, NO_TARGET, ONCE, UEFI, BootOverride, Identity, Power

USER, PASSWORD = "root", "calvin-0001-calvin"
NEVER_VALID = bytes(5)
PLACEHOLDER = bytes(range(1, 17))
ORDERS: dict[str, Callable[[UUID], bytes]] = {
    "smbios": lambda it: it.bytes_le,
    "rfc": lambda it: it.bytes,
    "reversed": lambda it: it.bytes[::-1],
    "zero": lambda _: bytes(16),
    "placeholder": lambda _: PLACEHOLDER,
}
TARGETS = {0x04: "Pxe", 0x08: "Hdd", 0x14: "Cd", 0x18: "BiosSetup", 0x24: "Hdd"}
"""By the device of the flags; 24h is the disk of a Supermicro in UEFI mode."""
SUPERMICRO = 10876


class Server(Protocol):
    """A server, as its BMC drives it: one in memory (`testing.fakes.bmc`), or one of the lab."""

    @property
    def machine(self) -> Identity:
        """What it is."""
        ...

    @property
    def clock(self) -> Clock:
        """The time in which it runs."""
        ...

    def power(self) -> Power:
        """Return its power state."""
        ...

    def request_power(self, want: Power) -> None:
        """Switch it."""
        ...

    def request_shutdown(self) -> None:
        """Have its operating system shut down."""
        ...

    def boot_by(self, override: Callable[[], BootOverride]) -> None:
        """Have its firmware ask for the boot override, right before each boot."""
        ...


S = TypeVar("S", bound=Server)


@dataclass
class FakeIpmiBmc(Generic[S]):
    """A BMC and its server.

    Args:
        server: What it switches and boots.
        loss: Share of datagrams that is lost, in each direction.
        latency_s: Seconds from a datagram to its answer.
        lost_answers: Number of answers to Chassis Control that are lost, after it took effect.
        codes: Completion codes, by name of a request, with which its next ones are refused.
        noise: Whether each answer comes twice, with datagrams before it that are none of ours.
        seed: Of what is lost.
    """

    server: S
    traits: Traits = TRAITS["generic"]
    loss: float = 0.0
    latency_s: float = 0.0
    lost_answers: int = 0
    codes: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    noise: bool = False
    seed: int = 0
    users: dict[bytes, bytes] = field(default_factory=lambda: {USER.encode(): PASSWORD.encode()})
    """Passwords by name."""
    flags: bytes = NEVER_VALID
    log: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Requests in sessions: network function, command, data."""
    times: list[float] = field(default_factory=list)
    """When they came."""
    silent_until: float = 0.0
    _void_at: float | None = None
    """When the flags become void, unless the server is switched on before."""
    _kept: bool = False

    def __post_init__(self) -> None:
        self.server.boot_by(self._use_flags)
        self.random = random.Random(self.seed)  # noqa: S311
        self.sessions = Sessions(self.traits, self.clock, self._run, self._guid(), self.users)

    @property
    def clock(self) -> Clock:
        return self.server.clock

    def reset(self, silent_s: float = 30.0) -> None:
        """Restart the BMC: its sessions and flags are gone, and it is silent meanwhile."""
        self.silent_until = self.clock.now() + silent_s
        self.sessions.open.clear()
        self.flags, self._void_at = NEVER_VALID, None

    def answers(self, datagram: bytes) -> list[bytes]:
        """Return what the client receives for a datagram."""
        if self._loses() or self.clock.now() < self.silent_until:
            return []
        answer = self.sessions.answer(datagram)
        if answer is None or self._loses():
            return []
        if not self.noise:
            return [answer]
        changed = [answer[:-1] + bytes((answer[-1] ^ 1,))] if answer[5] & 0x40 else []  # nothing protects a login's
        return [b"", b"\x06\x00\xff\x06" + bytes(8), answer[:9], *changed, answer, answer]

    def _loses(self) -> bool:
        return self.random.random() < self.loss

    def _guid(self) -> bytes:
        order = ORDERS.get(self.traits.guid, ORDERS["zero"])
        return order(UUID(self.server.machine.uuid))

    def _run(self, netfn: int, command: int, data: bytes, level: int) -> tuple[int, bytes] | None:
        if not level:
            return 0xD4, b""
        self.log.append((netfn, command, data))
        self.times.append(self.clock.now())
        if self.codes.get((netfn, command)):
            return self.codes[netfn, command].pop(0), b""
        parts = {0x00: self._chassis, 0x06: self._application, 0x0A: self._inventory, 0x0C: self._lan}
        return parts[netfn](command, data) if netfn in parts else (0xC1, b"")

    def _application(self, command: int, _: bytes) -> tuple[int, bytes]:
        if command == 0x01:
            return 0, bytes((0x20, 1, 0x02, 0x10, 0x02, 0xBF)) + self.traits.maker.to_bytes(3, "little") + b"\0\1"
        has_guid = command == 0x37 and self.traits.guid != "none"
        return (0, self._guid()) if has_guid else (0xC1, b"")

    def _lan(self, _: int, data: bytes) -> tuple[int, bytes]:
        """Return the suites that are allowed, parameter 23, or the privilege level of each, parameter 24."""
        suites = (*self.traits.suites, *self.traits.unsafe_suites)
        nibbles = [4] * len(suites) + [0]
        levels = bytes(low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2], strict=False))
        return 0, b"\x11\0" + (bytes(suites) if data[1] == 23 else levels)

    def _chassis(self, command: int, data: bytes) -> tuple[int, bytes] | None:
        self._expire()
        match command:
            case 0x01:
                return 0, bytes((self.server.power() is Power.ON, 0, 0))
            case 0x02:
                return self._control(data[0])
            case 0x08 if self.traits.flags:
                return self._set_boot(data)
            case 0x09 if self.traits.flags:
                return 0, b"\x01\x05" + self.flags
        return 0xC1, b""

    def _control(self, wanted: int) -> tuple[int, bytes] | None:
        state = self.server.power()
        if not wanted and state is Power.OFF and self.traits.off_when_off:
            return self.traits.off_when_off, b""
        if wanted:
            self._void_at = None
        if wanted == 5:
            self.server.request_shutdown()
        else:
            self.server.request_power(Power.ON if wanted else Power.OFF)
        if self.lost_answers:
            self.lost_answers -= 1
            return None
        return 0, b""

    def _use_flags(self) -> BootOverride:
        """Return what the flags say to the firmware, which uses up those of one boot when it boots."""
        valid, persistent = self.flags[0] & 0x80, self.flags[0] & 0x40
        works = valid and (persistent or self.traits.once_works)
        target, mode = self._target() if works else None, UEFI if self.flags[0] & 0x20 else LEGACY
        if not persistent and not self.traits.once_shows:
            self.flags = NEVER_VALID
        return BootOverride(target, ONCE, mode) if target else BootOverride(NO_TARGET, DISABLED)

    def _target(self) -> str | None:
        """Return what the firmware boots. A Supermicro's in UEFI mode knows the disk by another device only."""
        device = self.flags[1] & 0x3C
        by_uefi = self.flags[0] & 0x20
        if self.traits.maker == SUPERMICRO and by_uefi and device == 0x08:
            return None
        return TARGETS.get(device)

    def _set_boot(self, data: bytes) -> tuple[int, bytes]:
        if data[0] & 0x7F == 3 and not self.traits.keeps_flags:
            return 0x80, b""
        if data[0] & 0x7F == 3:
            self._kept = bool(data[1] & 0x08)
        if data[0] & 0x7F == 5:
            mask = 0xFF if self.traits.uefi_bit else 0xDF
            self.flags = bytes((data[1] & mask,)) + data[2:6]
            self._void_at = None if self._kept or data[1] & 0x40 else self.clock.now() + 60
        return 0, b""

    def _expire(self) -> None:
        if self._void_at is not None and self.clock.now() >= self._void_at:
            self.flags, self._void_at = NEVER_VALID, None

    def _inventory(self, command: int, data: bytes) -> tuple[int, bytes]:
        if self.traits.fru == "none":
            return 0xC1, b""
        content = inventory(self.traits.fru, self.server.machine.serial)
        if command == 0x10:
            return 0, len(content).to_bytes(2, "little") + b"\0"
        offset, count = int.from_bytes(data[1:3], "little"), data[3]
        part = content[offset : offset + count]
        return (0, bytes((len(part),)) + part) if count <= 16 else (0xCA, b"")


def inventory(area: str, serial: str) -> bytes:
    """Return FRU 0, with the serial in one of its areas."""

    def fields(*texts: str) -> bytes:
        return b"".join(bytes((0xC0 | len(text),)) + text.encode() for text in texts) + b"\xc1"

    def whole(start: bytes, body: bytes) -> bytes:
        size = -(-(len(start) + 3 + len(body)) // 8)
        content = (b"\1" + bytes((size,)) + start + body).ljust(size * 8 - 1, b"\0")
        return content + bytes((-sum(content) & 0xFF,))

    if area == "empty":
        return b""
    named = {it: serial if it == area else "" for it in ("chassis", "board", "product")}
    chassis = whole(b"\x17", fields("PN", named["chassis"]))
    board = whole(b"\x19\0\0\0", fields("Dell", "R650", named["board"], "PN"))
    product = whole(b"\x19", fields("Dell", "R650", "PN", "1.0", named["product"]))
    offsets = [1, 1 + len(chassis) // 8, 1 + (len(chassis) + len(board)) // 8]
    header = bytes((1, 0, *offsets, 0, 0))
    return header + bytes((-sum(header) & 0xFF,)) + chassis + board + product
