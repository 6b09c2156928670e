"""A port that takes a VLAN's tag from the frames that it receives, and gives it to those that it sends.

Two programs of the kernel's traffic control do that. Its VLAN interfaces or a bridge's VLANs would be simpler, but
kernels of small virtual machines are built without both (Firecracker's 6.18, 2026-11).
"""

import ctypes
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.shell import LabError, run

_BPF = 321  # the system call of amd64; all numbers below are of linux/bpf.h
_LOAD, _PIN, _CLASSIFIER = 5, 6, 3
_ATTRIBUTES = 128
_VLAN_PRESENT, _VLAN_TCI, _VLAN_ID = 20, 24, 0xFFF
_VLAN_PUSH, _VLAN_POP = 18, 19
_ETHERTYPE = 0x0081  # 0x8100 in the network's order
_PASS, _DROP = 0, 2


def tag(port: str, vlan: int, tc: Callable[..., str]) -> None:
    """Have a port carry only the frames of one VLAN, without their tag; safe to repeat.

    Args:
        port: The interface.
        vlan: The VLAN's id.
        tc: Runs `tc` with these words in the port's namespace.

    Raises:
        LabError: The kernel has no such programs, or this process may not load them.
    """
    tc("qdisc", "replace", "dev", port, "clsact")
    for direction, program in (("ingress", _untag(vlan)), ("egress", _tag(vlan))):
        with _pinned(program) as pin:
            attached = ("dev", port, direction, "pref", "1", "handle", "1")
            tc("filter", "replace", *attached, "bpf", "direct-action", "object-pinned", str(pin))


def _untag(vlan: int) -> bytes:
    """Drop a frame without the VLAN's tag, else remove the tag."""
    return b"".join(
        [
            _step(0x61, to=2, of=1, offset=_VLAN_PRESENT),
            _step(0x15, to=2, offset=6),  # 0: to the drop
            _step(0x61, to=2, of=1, offset=_VLAN_TCI),
            _step(0x57, to=2, value=_VLAN_ID),
            _step(0x55, to=2, offset=3, value=vlan),  # another VLAN: to the drop
            _step(0x85, value=_VLAN_POP),
            _step(0xB7, value=_PASS),
            _step(0x95),
            _step(0xB7, value=_DROP),
            _step(0x95),
        ]
    )


def _tag(vlan: int) -> bytes:
    """Give a frame the VLAN's tag."""
    values = _step(0xB7, to=2, value=_ETHERTYPE) + _step(0xB7, to=3, value=vlan)
    return values + _step(0x85, value=_VLAN_PUSH) + _step(0xB7, value=_PASS) + _step(0x95)


def _step(operation: int, *, to: int = 0, of: int = 0, offset: int = 0, value: int = 0) -> bytes:
    """Return one instruction: on registers `to` and `of`."""
    return struct.pack("<BBhi", operation, to | of << 4, offset, value)


@contextmanager
def _pinned(program: bytes) -> Iterator[Path]:
    """Yield a path at which `tc` reads a program; once it is attached, the kernel needs no path."""
    code, licence = ctypes.create_string_buffer(program, len(program)), ctypes.create_string_buffer(b"Apache-2.0")
    with TemporaryDirectory() as folder:
        run("mount", "-t", "bpf", "bpf", folder)
        try:
            steps = len(program) // len(_step(0))
            where = ctypes.addressof(code), ctypes.addressof(licence)
            loaded = _call(_LOAD, struct.pack("<IIQQ", _CLASSIFIER, steps, *where))
            path = ctypes.create_string_buffer(f"{folder}/program".encode())
            try:
                _call(_PIN, struct.pack("<QI", ctypes.addressof(path), loaded))
            finally:
                os.close(loaded)
            yield Path(folder, "program")
        finally:
            run("umount", folder)


def _call(command: int, attributes: bytes) -> int:
    library, buffer = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(attributes, _ATTRIBUTES)
    result = int(library.syscall(_BPF, command, buffer, _ATTRIBUTES))
    if result < 0:
        why = os.strerror(ctypes.get_errno())
        raise LabError(
            f"the kernel takes no program for a VLAN: {why}. Fix: rehearse without VLANs, or on another kernel"
        )
    return result
