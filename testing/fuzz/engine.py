"""The engine of the fuzzer: runs the cases of a surface in a process with limits, and reports the first finding.

A finding is an exception that the surface does not expect, a canary that is shown, or more CPU, time or memory than
the limits. The kernel enforces the limits, since a loop in C hears no handler of Python.
"""

import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from random import Random

from base.errors import OkdBaremetalError

SURFACES = ("commands", "discovery", "frames", "ipmi", "masks", "netbox", "readers", "redfish", "registry")
"""Modules beside this one."""
CANARY = "CNRY7Qx4vT"
"""A part of each secret: no output may have it."""
TIME_S, MEMORY_BYTES = 120, 3 * 1024**3
"""Limits of one case beside its CPU time; memory is the address space of its process."""


@dataclass(frozen=True)
class Surface:
    """What is fuzzed.

    Args:
        make: Makes a case of random numbers.
        run: Runs a case, and returns all that an operator sees of it.
        expected: What it may raise.
        cpu_s: Limit of the CPU time of one case.
    """

    make: Callable[[Random], bytes]
    run: Callable[[bytes], str]
    expected: tuple[type[Exception], ...] = (OkdBaremetalError,)
    cpu_s: float = 5


@dataclass(frozen=True)
class Finding:
    """A case that must not be: its surface, its seed, its bytes, and what happened."""

    surface: str
    seed: int
    case: bytes
    what: str


class ShownCanaryError(Exception):
    """A secret was shown."""


def surface(name: str) -> Surface:
    """Return a surface by the name of its module."""
    found: Surface = resolve_name(f"testing.fuzz.{name}:SURFACE")
    return found


def case_of(name: str, seed: int) -> bytes:
    """Return the case of a seed."""
    return surface(name).make(Random(f"{name} {seed}"))  # noqa: S311  (no secret comes of it)


def search(name: str, seeds: range) -> Finding | None:
    """Run the cases of some seeds; return the first finding."""
    return _run(name, [f"{seed}" for seed in seeds])


def replay(name: str, file: Path) -> Finding | None:
    """Run the case in a file; return the finding, if it is still one."""
    return _run(name, [str(file.absolute())])


def _run(name: str, cases: list[str]) -> Finding | None:
    """Run cases, each a seed or the path of a file, in a process of their own."""
    with tempfile.TemporaryDirectory(prefix="okd-baremetal-fuzz-") as folder:
        command = [sys.executable, "-m", "testing.fuzz.engine", name, folder]
        done = subprocess.run(command, input="\n".join(cases), capture_output=True, text=True, check=False)
        if not done.returncode:
            return None
        case, seed = Path(folder, "case"), Path(folder, "seed")
        ran_out = {
            -signal.SIGPROF: f"a case took more than {surface(name).cpu_s} s of CPU",
            -signal.SIGALRM: f"a case took more than {TIME_S} s",
        }
        what = ran_out.get(done.returncode, done.stderr.strip() or f"exit code {done.returncode}")
        if not case.exists():
            raise RuntimeError(f"{name} did not begin: {what}")
        return Finding(name, int(seed.read_text()), case.read_bytes(), what)


def _child(name: str, folder: Path, cases: Iterable[str]) -> None:
    """Run cases within the limits. Each is written to the folder before, since the process may not outlive it."""
    fuzzed = surface(name)
    case_of(name, 0)  # imports and keys are no part of a case
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    for words in cases:
        (folder / "case").unlink(missing_ok=True)
        (folder / "seed").write_text(words if words.isdigit() else "0")
        case = case_of(name, int(words)) if words.isdigit() else Path(words).read_bytes()
        (folder / "case").write_bytes(case)
        signal.setitimer(signal.ITIMER_PROF, fuzzed.cpu_s)
        signal.setitimer(signal.ITIMER_REAL, TIME_S)
        try:
            shown = fuzzed.run(case)
        except fuzzed.expected as error:
            shown = str(error)
        if CANARY in shown:
            raise ShownCanaryError(shown)


if __name__ == "__main__":
    _child(sys.argv[1], Path(sys.argv[2]), sys.stdin.read().split())
