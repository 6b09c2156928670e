"""Plant faults in the files that have changed, and report those that the tests of their room do not notice.

Nobody chose these faults: a survivor is a question to a reader, no failure. It is answered by a test, or by nothing
where the change has no effect. `tests/mutants.yaml` keeps the faults that were chosen.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from testing.checkout import ROOT
from testing.mutants import FAILED, PASSED, Row, copy_checkout, replay, run_pytest
from testing.mutations import mutations

NIGHT_S = 3 * 3600.0
"""Time for all faults; each takes some seconds on one processor."""
NOT_MUTATED = ("tests", "bench", "tools")
"""Folders whose code no test of a room has to notice."""
TESTS_OF = {"components": "tests/program"}
"""The tests of a room that has none in tests/unit."""


def changed_files(since: str) -> list[str]:
    """Return the Python files that commits since a time have changed, and that are still there.

    Args:
        since: As git reads it, `1 day ago`.
    """
    command = ["git", "log", f"--since={since}", "--name-only", "--format="]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    files = sorted(name for name in {*names} if name.endswith(".py") and (ROOT / name).exists())
    return [name for name in files if Path(name).parts[0] not in NOT_MUTATED]


def folder_of_tests(file: str) -> str:
    """Return the tests of a file: the nearest folder of tests/unit, which has the folders of the source."""
    for folder in Path(file).parents[:-1]:
        if (ROOT / "tests/unit" / folder).is_dir():
            return f"tests/unit/{folder}"
    return TESTS_OF.get(Path(file).parts[0], "tests/unit")


def rows_of(files: Iterable[str]) -> list[Row]:
    """Return the faults of these files, each with the tests of its room."""
    return [
        Row(file=file, old=fault.old, new=fault.new, test=folder_of_tests(file))
        for file in files
        for fault in mutations((ROOT / file).read_text())
    ]


def report(rows: Sequence[Row], copies: Sequence[Path], deadline: float) -> str:
    """Plant as many of these faults as there is time for; return the survivors, as Markdown."""
    survivors, tried = list[str](), 0

    def run(copy: Path, test: str) -> tuple[int, str]:
        code, output = run_pytest(copy, test)
        return (code if code == PASSED else FAILED), output  # a file that cannot be imported was noticed, too

    for fault in replay(rows, copies, run):
        tried += 1
        survivors += [f"- {fault.where}\n"] if fault else []
        if time.monotonic() > deadline:
            break
    return f"{len(survivors)} of {tried} planted faults went unnoticed; {len(rows)} were possible.\n\n" + "".join(
        sorted(survivors)
    )


def main(since: str) -> int:
    """Print the report for the files that have changed; return the exit code."""
    rows = rows_of(changed_files(since))
    random.Random(f"{datetime.now(UTC):%Y-%m-%d}").shuffle(rows)  # noqa: S311  (each night others, if time is short)
    with tempfile.TemporaryDirectory(prefix="okd-survivors-") as folder:
        copies = [copy_checkout(Path(folder, str(number))) for number in range(len(os.sched_getaffinity(0)))]
        tests = sorted({row.test for row in rows})
        if tests and (done := run_pytest(copies[0], *tests))[0] != PASSED:
            print(f"{done[1]}\nthe tests do not pass without a fault, so they prove nothing")
            return 1
        print(report(rows, copies, time.monotonic() + NIGHT_S))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
