"""Replay faults that were planted in the program, each with the test that must notice it (tests/mutants.yaml).

The checkout itself stays unchanged: each worker plants its faults in its own copy.
"""

import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

import yaml
from pydantic import ConfigDict, TypeAdapter

from base.errors import Fault
from base.spec import Model
from testing.checkout import ROOT
from testing.git import files

LIST = "tests/mutants.yaml"
PASSED, FAILED = 0, 1
"""Exit codes of pytest; any other means that no test ran to its end."""
LIMIT_S = 300  # a planted fault can make its test wait forever
PROGRESS_S = 10


class Row(Model):
    """One fault."""

    model_config = ConfigDict(extra="forbid")

    file: str
    old: str
    """Occurs exactly once in the file."""
    new: str
    test: str
    """The pytest node that fails with `new` in place of `old`."""
    why: str = ""
    """The loss of an operator, where neither the code nor the test shows it."""

    @property
    def where(self) -> str:
        """The file and the change, for messages."""
        return f"{self.file}: {' '.join(self.old.split())} -> {' '.join(self.new.split()) or 'nothing'}"


Run = Callable[[Path, str], tuple[int, str]]
"""Runs a test in a copy of the checkout, and returns pytest's exit code and output."""


def rows_in(text: str) -> list[Row]:
    """Read a list of faults.

    Raises:
        ValueError: The text is not such a list.
    """
    return TypeAdapter(list[Row]).validate_python(yaml.safe_load(text))


def chosen(rows: Iterable[Row], parts: Sequence[str]) -> list[Row]:
    """Return the rows whose file has one of these parts in its path; all rows if there are no parts."""
    return [row for row in rows if not parts or any(part in row.file for part in parts)]


def doubles(rows: Iterable[Row]) -> list[Fault]:
    """Return a fault for each row that is in the list twice."""
    times = Counter((row.file, row.old, row.new) for row in rows)
    return [
        Fault(f"{file}: {old}", f"is listed {n} times", "remove the others")
        for (file, old, _), n in times.items()
        if n > 1
    ]


def mutated(text: str, row: Row) -> str:
    """Return a file's text with the fault in it.

    Raises:
        ValueError: `old` does not occur exactly once in the text, or `new` is the same.
    """
    if (times := text.count(row.old)) != 1:
        raise ValueError(f"`old` occurs {times} times, wanted once")
    if row.old == row.new:
        raise ValueError("`new` is the same as `old`")
    return text.replace(row.old, row.new)


def row_fault(row: Row, code: int, output: str) -> Fault | None:
    """Return the fault of a row, from pytest's exit code and output; None if its test noticed the planted fault."""
    if code == FAILED:
        return None
    if code == PASSED:
        return Fault(
            row.where, f"went unnoticed by {row.test}", "write the test that notices it, and name it in `test`"
        )
    last = next((line for line in reversed(output.splitlines()) if line), "no output")
    return Fault(row.where, f"{row.test} tested nothing: pytest ended with {code} ({last})", "correct the row")


@contextmanager
def planted(copy: Path, row: Row, number: int) -> Iterator[None]:
    """Plant the fault in a copy of the checkout.

    Args:
        copy: The copy.
        row: The fault.
        number: The row's number, not 0, for a unique time of the file: Python finds stale bytecode by time and size.

    Raises:
        ValueError: As `mutated`.
        OSError: The file is missing.
    """
    path = copy / row.file
    before, at = path.read_text(), path.stat()
    path.write_text(mutated(before, row))
    os.utime(path, (at.st_atime, at.st_mtime + number))
    try:
        yield
    finally:
        path.write_text(before)
        os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))


def outcome(copy: Path, row: Row, number: int, run: Run) -> Fault | None:
    """Plant one fault, run its test, and return the fault of the row, if it has one."""
    try:
        with planted(copy, row, number):
            return row_fault(row, *run(copy, row.test))
    except (ValueError, OSError) as error:
        return Fault(row.where, f"cannot be planted: {error}", "correct the row")


def replay(rows: Sequence[Row], copies: Sequence[Path], run: Run) -> Iterator[Fault | None]:
    """Test all rows, as many at once as there are copies, and yield each result when it is known."""
    free = queue.SimpleQueue[Path]()
    for copy in copies:
        free.put(copy)

    def one(number: int, row: Row) -> Fault | None:
        copy = free.get()
        try:
            return outcome(copy, row, number, run)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        running = [pool.submit(one, number, row) for number, row in enumerate(rows, 1)]
        try:
            yield from (future.result() for future in as_completed(running))
        finally:
            pool.shutdown(cancel_futures=True)


def copy_checkout(folder: Path) -> Path:
    """Copy the files that git has or would add, as they are now, and return the copy's path."""
    for name in files(ROOT):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def run_pytest(copy: Path, *words: str) -> tuple[int, str]:
    """Run pytest in a copy, and return its exit code and output."""
    # Its own folder for files of tests: otherwise, each run cleans up the folders of all earlier runs in /tmp.
    own = f"--basetemp={copy}.tmp"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", own, *words]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen(
        command,
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return -signal.SIGKILL, f"did not end within {LIMIT_S} s"
    return process.returncode, output


def main(parts: Sequence[str]) -> int:
    """Replay the rows whose file has one of `parts` in its path, or all; return the exit code."""
    rows = rows_in((ROOT / LIST).read_text())
    faults, rows = doubles(rows), chosen(rows, parts)
    for fault in faults:
        print(fault)
    if not rows:
        print(f"no row of {LIST} has a file with one of {', '.join(parts)} in its path")
        return 1
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="okd-mutants-") as folder:
        copies = [copy_checkout(Path(folder, str(number))) for number in range(len(os.sched_getaffinity(0)))]
        tests = sorted({row.test for row in rows})
        print(f"{len(rows)} faults, {len(tests)} tests: first without any fault", flush=True)
        code, output = run_pytest(copies[0], "-n", str(len(copies)), *tests)
        if code != PASSED:
            print(f"{output}\nthe tests do not pass without a fault, so they prove nothing")
            return 1
        faults += _reported(replay(rows, copies, run_pytest), len(rows), began)
    print(f"{len(rows)} faults, {len(faults)} of them unnoticed or broken, {time.monotonic() - began:.0f} s")
    return 1 if faults else 0


def _reported(results: Iterable[Fault | None], total: int, began: float) -> list[Fault]:
    """Print each fault when it is known, and the progress; return the faults."""
    faults, shown = list[Fault](), began
    for done, fault in enumerate(results, 1):
        if fault:
            print(fault, flush=True)
            faults.append(fault)
        if time.monotonic() - shown > PROGRESS_S:
            shown = time.monotonic()
            print(f"{done} of {total}, {shown - began:.0f} s", flush=True)
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
