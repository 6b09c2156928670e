"""Prove from the logs of runs that they wrote nothing but what a write plan allows.

This module imports only Python's standard library, so that an auditor can read all of it, and run it anywhere:
`python3 verifier.py LOG PLAN`. docs/reference/write-plan.md has the forms of both files.
"""

import argparse
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXIT_OK, EXIT_INVALID, EXIT_REFUSED = 0, 2, 4
PLAN, WRITE, REDFISH, LIBVIRT = "plan", "write", "redfish", "libvirt"
"""The events of the lines that are looked at; all others change nothing."""
REQUEST = re.compile(r"(?P<bmc>https?://\S+) (?P<method>[A-Z]+) (?P<path>\S+)(?P<rest>.*)", re.DOTALL)
ANSWER = re.compile(r" (HTTP \d{3}|no answer), ")
"""What follows the path and a colon in the line of an answer."""
READS = ("GET", "HEAD")
SESSIONS = re.compile(r"/Sessions(/|$)")
"""Paths of requests that only log in or out."""
DOMAIN_CALL = re.compile(r"\S+: (defineXML|create|shutdownFlags|destroy|undefineFlags) (?P<target>domain \S+)")
VOLUME_CALL = re.compile(r"\S+: createXML volume (?P<volume>\S+) of pool (?P<pool>\S+)")


class UnreadableError(Exception):
    """A file cannot be used; the message is one line for the user."""


@dataclass(frozen=True)
class Plan:
    """A write plan."""

    sha256: str
    writes: dict[str, list[str]]
    """The allowed writes, by resource."""

    @classmethod
    def read(cls, path: Path) -> "Plan":
        """Read a write plan.

        Raises:
            UnreadableError: The file is none.
        """
        content = _content(path)
        try:
            writes = json.loads(content)["writes"]
            is_plan = all(isinstance(text, str) for allowed in writes.values() for text in allowed)
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            is_plan = False
        if not is_plan:
            fix = "name the file that `okd-baremetal review STACK --write-plan FILE` wrote"
            raise UnreadableError(f"{path}: it is no write plan. Fix: {fix}")
        return cls(hashlib.sha256(content).hexdigest(), writes)


@dataclass
class Run:
    """The log of one run, compared with a write plan."""

    plan: Plan
    made: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each write was made, by resource and write."""
    is_bound: bool = False
    """Whether the run itself was bound to the plan, and refused everything else."""
    problems: list[tuple[int, str]] = field(default_factory=list)
    """What the plan does not allow, with the number of the line."""
    _named: set[str] = field(default_factory=set)
    """The targets of the writes that have a line, and whose request or call is still to come."""

    def read(self, path: Path) -> None:
        """Read the log, line by line.

        Raises:
            UnreadableError: There is no such file.
        """
        *lines, last = _content(path).split(b"\n")
        for number, line in enumerate(lines, start=1):
            self._line(number, line)
        # A run that is killed while it writes a line has not yet made the write that the line is about.
        if last and _entry(last) is not None:
            self._line(len(lines) + 1, last)

    def _line(self, number: int, line: bytes) -> None:
        entry = _entry(line)
        if entry is None:
            self.problems.append((number, "it cannot be read, so what was written is unknown"))
            return
        text = str(entry.get("text", ""))
        match entry.get("event"):
            case "plan":
                self._bound(number, text)
            case "write":
                self._written(number, str(entry.get("resource", "")), text)
            case "redfish" | "libvirt" as wire:
                if target := _changes(wire, text):
                    self._changed(number, target, text)

    def _bound(self, number: int, sha256: str) -> None:
        self.is_bound = sha256 == self.plan.sha256
        if not self.is_bound:
            self.problems.append((number, f"the run was bound to another write plan, {sha256}"))

    def _written(self, number: int, resource: str, write: str) -> None:
        self.made[resource, write] += 1
        self._named.add(_part_of(write))
        if resource not in self.plan.writes:
            self.problems.append((number, f"{write}: the plan allows no write of {resource or 'no resource'}"))
        elif write not in self.plan.writes[resource]:
            self.problems.append((number, f"{write}: the plan allows no such write of {resource}"))

    def _changed(self, number: int, target: str, text: str) -> None:
        """Compare what left the machine with the lines of its writes, which come right before it."""
        if target not in self._named:
            self.problems.append((number, f"{_first_words(text)}: no line of a write names it"))
        self._named.discard(target)


def _changes(wire: str, text: str) -> str:
    """Return what a line of a wire says was changed; empty if nothing was, or if it is about an answer."""
    if wire == REDFISH:
        request = REQUEST.fullmatch(text)
        if not request or request["method"] in READS or SESSIONS.search(request["path"].rstrip(":")):
            return ""
        is_answer = request["path"].endswith(":") and ANSWER.match(request["rest"])
        return "" if is_answer else f"BMC {request['bmc']}"
    if call := DOMAIN_CALL.fullmatch(text):
        return call["target"]
    call = VOLUME_CALL.fullmatch(text)
    return f"volume {call['pool']}/{call['volume']}" if call else ""


def _part_of(write: str) -> str:
    """Return the target of a write as `_changes` names it: a BMC without the path of its system."""
    target = write.partition(": ")[0]
    kind, _, name = target.partition(" ")
    return f"{kind} {'/'.join(name.split('/')[:3])}" if kind == "BMC" else target


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from None


def _first_words(text: str) -> str:
    """Return the words of a request or call without its body."""
    return " ".join(text.split(" ")[:3])


def _shown(text: str) -> str:
    """Return a text of a log as one line without control characters."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _report(plan: Plan, made: Counter[tuple[str, str]]) -> Iterator[str]:
    """Yield how often each write of the plan was made; what was interrupted or lost may be repeated."""
    for resource, allowed in sorted(plan.writes.items()):
        yield resource
        yield from (f"  {made[resource, write]:>4}  {write}" for write in allowed)


def verify(options: argparse.Namespace) -> int:
    """Check that the runs of these logs made no write that a write plan does not allow.

    Print how often each write was made, and each line of a log that the plan does not allow. A write may be made
    more than once, since a run repeats what was interrupted or lost. The order does not matter. The exit code is 4 if
    a log has anything that the plan does not allow. Compare the digest that is printed with the approved one.
    """
    try:
        plan = Plan.read(Path(options.plan))
        runs = {file: Run(plan) for file in options.logs}
        for file, run in runs.items():
            run.read(Path(file))
    except UnreadableError as error:
        print(_shown(str(error)), file=sys.stderr)
        return EXIT_INVALID
    made: Counter[tuple[str, str]] = sum((run.made for run in runs.values()), Counter())
    print(f"write plan {plan.sha256}")
    print("\n".join(map(_shown, _report(plan, made))))
    for file, run in runs.items():
        bound = "bound to this plan" if run.is_bound else "not bound to this plan while it ran"
        print(_shown(f"{file}: {run.made.total()} writes, {len(run.problems)} not allowed; {bound}"))
    problems = [f"{file}:{number}: {what}" for file, run in runs.items() for number, what in run.problems]
    print("".join(f"{_shown(problem)}\n" for problem in problems), end="", file=sys.stderr)
    return EXIT_REFUSED if problems else EXIT_OK


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments to a parser."""
    what = "the log of a run, log/STACK/TIME.jsonl; of an update that was interrupted, each of its runs"
    parser.add_argument("logs", metavar="LOG", nargs="+", help=what)
    what = "the write plan, of `okd-baremetal review STACK --write-plan FILE`, or .fleet/CLUSTER.plan of a site"
    parser.add_argument("plan", metavar="PLAN", help=what)


if __name__ == "__main__":
    alone = argparse.ArgumentParser(description=verify.__doc__)
    add_arguments(alone)
    sys.exit(verify(alone.parse_args()))
