"""Mistakes of an operator: the program refuses each in one clear line, without an effect on the next run."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lab.inventory import STACK
from lab.rehearsal.report import Report
from lab.rehearsal.stack import Stack
from lab.twin import DEADLINES

UP, PREVIEW = ("up", "--yes", "--skip-preview"), ("preview",)


@dataclass(frozen=True)
class Mistake:
    """A mistake in one file of the copied project."""

    name: str
    file: str
    """Path below stacks/."""
    apply: Callable[[str], str]
    """Returns the file's text with the mistake in it."""
    line: str
    """Words of the one line that the operator reads."""
    command: Sequence[str] = UP
    """The command of Pulumi that refuses: a preview where that refuses already."""


CONFIG, INSTALL_CONFIG = f"Pulumi.{STACK}.yaml", f"{STACK}/install-config.yaml"


def _replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


def _without(word: str) -> Callable[[str], str]:
    return lambda text: "".join(line for line in text.splitlines(keepends=True) if word not in line)


def _with_consent_of_another(text: str) -> str:
    """Swap the consents of the first two servers."""
    lines = text.splitlines(keepends=True)
    first = next(index for index, line in enumerate(lines) if "okd-baremetal:consent" in line) + 1
    keys, values = zip(*(line.split(": ", 1) for line in lines[first : first + 2]), strict=True)
    lines[first : first + 2] = [f"{key}: {value}" for key, value in zip(keys, reversed(values), strict=True)]
    return "".join(lines)


MISTAKES = (
    Mistake(
        "an option's name misspelled",
        CONFIG,
        _replaced("memory_mib", "memory_mb"),
        "config: bootstrap.memory_mb: unknown key. Fix: write memory_mib, or remove it",
        PREVIEW,
    ),
    Mistake(
        "production on an empty stack",
        CONFIG,
        _replaced("config:\n", "config:\n  okd-baremetal:phase: production\n"),
        "the stack is empty, has a cluster of another metadata.name, or has lost a part of its state. Fix: start",
        PREVIEW,
    ),
    Mistake(
        "consent missing",
        CONFIG,
        _without("    okd-worker-1: 4f9dded0"),
        "consent.okd-worker-1: missing; it names the one machine whose disk may be wiped. Fix: run `pulumi",
        PREVIEW,
    ),
    Mistake(
        "consent for another machine",
        CONFIG,
        _with_consent_of_another,
        "its BMC is that of the machine that consent.okd-master-0 names; nothing was changed. Fix: find out which",
    ),
    Mistake(
        "BMC password wrong",
        INSTALL_CONFIG,
        _replaced("password: ", "password: x"),
        "the BMC refuses the credentials",
    ),
    Mistake("BMC certificate not trusted", CONFIG, _replaced(":bmc_ca:", ":unused:"), "Fix: set bmc_ca"),
    Mistake("BMC unreachable", INSTALL_CONFIG, _replaced("172.22.0.101:8443", "172.22.0.101:8444"), "8444"),
    Mistake("payload other than pinned", f"{STACK}/payload/bootstrap.ign", lambda text: f"{text} ", "the stack pins"),
    Mistake(
        "libvirt not reachable",
        INSTALL_CONFIG,
        _replaced("libvirt-sock", "no-sock"),
        "Fix: `systemctl restart libvirtd`",
    ),
    Mistake(
        "bridge missing",
        INSTALL_CONFIG,
        _replaced("externalBridge: bare", "externalBridge: no"),
        "bridge nometal: missing. Fix: ",
    ),
)


def refuse_all(stack: Stack, report: Report) -> None:
    """Make every mistake, each in a copy of the stack, and prove that it is refused.

    The copies run at once, since they mostly wait.
    """
    stack.configure(deadlines={"bmc_s": 4})
    copies = [stack.copy(f"mistake-{number}") for number in range(len(MISTAKES))]
    stack.configure(deadlines=DEADLINES)

    def refuse_one(copy: Stack, mistake: Mistake) -> None:
        _change(copy.project / "stacks" / mistake.file, mistake.apply)
        refuse(copy, report, mistake.name, mistake.line, mistake.command)

    with ThreadPoolExecutor(len(MISTAKES)) as pool:
        list(pool.map(refuse_one, copies, MISTAKES))


def refuse(stack: Stack, report: Report, name: str, wanted: str, command: Sequence[str] = PREVIEW) -> None:
    """Prove that a command fails with a line that contains the wanted words, and without a traceback."""
    outcome = stack.try_run(*command, quiet=True)
    lines = [line.strip() for line in outcome.text.partition("Diagnostics:")[2].splitlines()]
    seen = next((line for line in lines if wanted in line), "")
    holds = outcome.code != 0 and bool(seen) and "Traceback" not in outcome.text
    seen = seen.removeprefix("error: ") or outcome.text[-500:]
    report.prove(f"refused: {name}", wanted=wanted, seen=seen, holds=holds)


def _change(path: Path, apply: Callable[[str], str]) -> None:
    original = path.read_text()
    changed = apply(original)
    if changed == original:
        raise ValueError(f"{path}: the mistake changes nothing")
    path.write_text(changed)
