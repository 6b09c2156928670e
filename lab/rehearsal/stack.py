"""The operator's side: the real Pulumi CLI, in a copy of the project."""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.log_entries import Event
from base.yaml_text import parse_yaml, yaml_of
from boot_media.keyfiles import keyfiles_of
from cluster.plan import ClusterPlan, load_plan
from cluster.stack_file import read_stack_file
from lab import site
from lab.rehearsal.report import RehearsalError, say
from lab.twin import Twin
from providers.host_provisioning.installation.shown_steps import INSTALLED
from testing.checkout import copy_program
from testing.processes import kill

OnLine = Callable[[str, int], None]
"""Called with each line of a running command, and the command's pid."""

BEFORE_SERVERS = ("nice", "-n", "-15")
"""A command gets the processor before the emulated servers, as if they had processors of their own."""


@dataclass
class Once:
    """An `OnLine` that intervenes at the first line that matches a pattern, with the command's pid."""

    when: str
    intervene: Callable[[int], object]
    has_come: bool = False

    def __call__(self, line: str, pid: int) -> None:
        """See `OnLine`."""
        if not self.has_come and re.search(self.when, line):
            self.has_come = True
            self.intervene(pid)


@dataclass(frozen=True)
class Outcome:
    """Exit code and output of a command."""

    code: int
    text: str


@dataclass(frozen=True)
class Stack:
    """A stack in a copy of the project, so that its config does not change the checkout."""

    project: Path
    name: str

    @property
    def install_config(self) -> Path:
        """Its install-config."""
        return self.project / "stacks" / self.name / "install-config.yaml"

    def plan(self) -> ClusterPlan:
        """Load the plan as the program does, from the same two files."""
        options = read_stack_file(self.project / "stacks" / f"Pulumi.{self.name}.yaml")
        return load_plan(self.install_config, options, keyfiles_of)

    def change_host(self, name: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Change a host in the install-config, as an operator does."""
        config = parse_yaml(self.install_config.read_text())
        change(next(host for host in config["platform"]["baremetal"]["hosts"] if host["name"] == name))
        self.install_config.write_text(yaml_of(config))

    def prepare(self, twin: Twin) -> None:
        """Copy the program, and create an empty stack with the files of its twin."""
        shutil.rmtree(self.project.parent, ignore_errors=True)
        copy_program(self.project)
        twin.write(self.project / "stacks")
        for name in ("state", "home"):
            (self.project.parent / name).mkdir()
        self.run("stack", "init", self.name, quiet=True)

    def copy(self, folder: str) -> "Stack":
        """Return a stack with the same program, config and state, in a folder below this one's."""
        own, other = self.project.parent, Stack(self.project.parent / folder / self.project.name, self.name)
        for name in (self.project.name, "state", "home"):
            shutil.copytree(own / name, other.project.parent / name, symlinks=True)
        return other

    def run(self, *words: str, quiet: bool = False, on_line: OnLine = lambda *_: None) -> str:
        """Run a command that must succeed, and return its output.

        Raises:
            RehearsalError: The command failed.
        """
        outcome = self.try_run(*words, quiet=quiet, on_line=on_line)
        if outcome.code:
            printed = f"\n{outcome.text}" if quiet else ""
            raise RehearsalError(f"`pulumi {' '.join(words)}` ended with {outcome.code}{printed}", outcome.text)
        return outcome.text

    def try_run(self, *words: str, quiet: bool = False, on_line: OnLine = lambda *_: None) -> Outcome:
        """Run a command of Pulumi; print its lines as they come, unless `quiet`."""
        return self.execute(["pulumi", *words, "--non-interactive"], quiet=quiet, on_line=on_line)

    def execute(self, words: Sequence[str], *, quiet: bool = False, on_line: OnLine = lambda *_: None) -> Outcome:
        """Run a program on the site's provisioner, in the project, as `try_run` does."""
        command, env = site.exec_command([*BEFORE_SERVERS, *words])
        lines = []
        with subprocess.Popen(
            command,
            cwd=self.project,
            env={**env, **self.environment()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if quiet and "--json" in words else subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            for line in process.stdout or ():
                lines.append(line)
                on_line(line, process.pid)
                if not quiet and line.strip():
                    say(f"    {line.rstrip()}")
        return Outcome(process.returncode, "".join(lines))

    def follow(self, block: str, **values: str) -> str:
        """Run the commands of a document, with the values of its words in angle brackets; return what they print.

        Raises:
            RehearsalError: One of them fails.
        """
        for word, value in {"stack": self.name, **values}.items():
            block = block.replace(f"<{word}>", value)
        outcome = self.execute(["env", "PULUMI_SKIP_CONFIRMATIONS=true", "bash", "-evc", block])
        if outcome.code:
            raise RehearsalError(f"{block.strip()!r} ended with {outcome.code}")
        return outcome.text

    def kill(self, program: str = "") -> None:
        """Kill processes that commands have started or left behind and whose command line contains `program`."""
        kill(f"PULUMI_HOME={self.project.parent}/", program)

    def configure(self, **values: object) -> None:
        """Set config values in one command; set a mapping leaf by leaf."""
        words = [word for key, value in _leaves(values) for word in ("--plaintext", f"{key}={value}")]
        self.run("config", "set-all", "--path", *words, quiet=True)

    def preview(self) -> dict[str, str]:
        """Return the operation by resource (`type::name`) that a preview shows, except `same` and `read`."""
        steps = json.loads(self.run("preview", "--json", quiet=True))["steps"]
        return {_short_urn(step["urn"]): step["op"] for step in steps if step["op"] not in ("same", "read")}

    def outputs(self) -> dict[str, Any]:
        """Return the stack's outputs."""
        return dict(json.loads(self.run("stack", "output", "--json", quiet=True)))

    def resources(self) -> int:
        """Return the number of resources in the state."""
        state = json.loads(self.run("stack", "export", quiet=True))
        return len(state["deployment"].get("resources") or [])

    def installation_steps(self) -> dict[str, dict[str, float]]:
        """Return the seconds of each step of the installations, by server."""
        return {server: seconds for outputs in self._installations() for server, seconds in outputs["steps"].items()}

    def iso_digests(self) -> dict[str, str]:
        """Return the digest of the boot ISO of each server that was installed, by name."""
        servers = (server for outputs in self._installations() for server in outputs["installed"].items())
        return {name: record["iso_sha256"] for name, record in servers if record["iso_sha256"]}

    def _installations(self) -> list[dict[str, Any]]:
        """Return the outputs of all installations."""
        resources = json.loads(self.run("stack", "export", quiet=True))["deployment"]["resources"]
        return [resource["outputs"] for resource in resources if resource["type"].endswith("HostProvisioning")]

    def log_lines(self) -> list[dict[str, Any]]:
        """Return the lines of the logs of all runs."""
        return [json.loads(line) for log in self.logs() for line in log.read_text().splitlines()]

    def logs(self) -> list[Path]:
        """Return the logs of all runs, oldest first."""
        return sorted((self.project / "log" / self.name).glob("*.jsonl"))

    def state_text(self) -> str:
        """Return the text of all state files."""
        return "".join(
            path.read_text(errors="replace") for path in (self.project.parent / "state").rglob("*") if path.is_file()
        )

    def environment(self) -> dict[str, str]:
        """Return the settings by which Pulumi finds this stack, and decrypts it."""
        return {
            "PULUMI_BACKEND_URL": f"file://{self.project.parent / 'state'}",
            "PULUMI_HOME": str(self.project.parent / "home"),
            "PULUMI_STACK": self.name,
            "PULUMI_CONFIG_PASSPHRASE": self.name,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DIY_BACKEND_DISABLE_CHECKPOINT_BACKUPS": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "VIRTUAL_ENV": sys.prefix,
        }


def installations(lines: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Count the installations of each server that lines of logs record, by name."""
    ended = [line for line in lines if (line["event"], line.get("step")) == (Event.END, INSTALLED)]
    return Counter(line["machine"] for line in ended)


def tally(changes: dict[str, str]) -> str:
    """Count the changes by operation and kind: `create VipHeld, delete 3 RenderedAsset, …`, sorted."""
    kinds: dict[tuple[str, str], int] = {}
    for name, operation in changes.items():
        key = (operation, name.partition("::")[0])
        kinds[key] = kinds.get(key, 0) + 1
    return ", ".join(
        f"{operation} {kind}" if count == 1 else f"{operation} {count} {kind}"
        for (operation, kind), count in sorted(kinds.items())
    )


def _leaves(values: Mapping[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", str(value).lower() if isinstance(value, bool) else value


def _short_urn(urn: str) -> str:
    _, _, kind, name = urn.rsplit("::", 3)
    return f"{kind.rsplit(':', 1)[-1]}::{name}"
