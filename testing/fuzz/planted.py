"""A surface with one finding of each kind, which proves the engine. A case is the kind's name."""

import os
import re
import signal
from collections.abc import Callable
from random import Random

from base.errors import ConfigError, Fault
from testing.fuzz.engine import CANARY, MEMORY_BYTES, Surface


def _refuse() -> str:
    raise ConfigError(Fault("a file", "is refused"))


def _quote() -> str:
    raise ConfigError(Fault("a file", CANARY))


def _break() -> str:
    raise KeyError("missing")


def _crash() -> str:
    os.kill(os.getpid(), signal.SIGSEGV)
    return ""


KINDS: dict[str, Callable[[], str]] = {
    "fine": lambda: "ok",
    "refused": _refuse,
    "defect": _break,
    "shown": lambda: f"password {CANARY}",
    "quoted": _quote,
    "memory": lambda: " " * MEMORY_BYTES,
    "crash": _crash,
    "cpu": lambda: str(re.match(r"(a*)*b", "a" * 40)),
}


def _make(_: Random) -> bytes:
    return b"fine"


SURFACE = Surface(_make, lambda case: KINDS[case.decode()](), cpu_s=0.5)
