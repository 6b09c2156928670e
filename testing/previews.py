"""Previews of the rehearsal's stack by the real engine, against a state made from an earlier preview of the program.

So the state has every resource with its inputs, although no machine was contacted: in a preview, providers only check
and compare.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import yaml

from review.preview import UNKNOWN, read_preview
from testing import plans
from testing.checkout import copy_program
from testing.command_line import run
from testing.processes import kill
from testing.project import COMMAND_S
from testing.pulumi_env import edited_resources, pulumi_env, resources_of
from wires.bmc.identity import MachineId

STACK_FILE = "stacks/Pulumi.rehearsal.yaml"
INSTALL_CONFIG = "stacks/rehearsal/install-config.yaml"
LOGIN = "okd-master-0"
PULL_SECRET = '{"auths": {"registry.example.com": {"auth": "b3B0aW9uOm9ubHk="}}}'
"""The pull secret of the stack's options, which no resource reads."""
KNOWN = "11111111-1111-4111-8111-111111111111"


@dataclass(frozen=True)
class Project:
    """The program, its stack and its state, in one folder."""

    folder: Path

    @property
    def program(self) -> Path:
        """The folder of Pulumi.yaml."""
        return self.folder / "program"

    def pulumi(self, *words: str, fails: bool = False) -> str:
        """Run a command that must succeed, or fail, and return its standard output."""
        env = pulumi_env(self.folder) | {"PULUMI_STACK": plans.STACK}
        command = ["pulumi", *words, "--non-interactive"]
        done = subprocess.run(
            command, cwd=self.program, env=env, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done.stdout

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a command, whose output is of no interest."""
        env = pulumi_env(self.folder) | {"PULUMI_STACK": plans.STACK}
        path, quiet = shutil.which("pulumi", path=env["PATH"]), subprocess.DEVNULL
        command = ["pulumi", *words, "--non-interactive"]
        return subprocess.Popen(command, executable=path, cwd=self.program, env=env, stdout=quiet, stderr=quiet)

    def end(self) -> None:
        """Kill the processes of a killed engine: its language host and its providers may wait for it."""
        kill(f"PULUMI_HOME={self.folder}/")

    def log(self) -> str:
        """Return the lines of the logs of all runs."""
        return "".join(path.read_text() for path in (self.program / "log" / plans.STACK).glob("*.jsonl"))

    def urns(self) -> list[str]:
        """Return the URNs of all resources in the state, in order of creation."""
        return [resource["urn"] for resource in resources_of(self.folder)]

    def urn(self, kind: str, name: str) -> str:
        """Return the URN of a resource in the state."""
        (found,) = (urn for urn in self.urns() if urn.endswith(f":{kind}::{name}"))
        return found

    def preview(self) -> str:
        """Return what `pulumi preview --json` prints."""
        return self.pulumi("preview", "--json")

    def steps(self) -> set[str]:
        """Return what a preview shows, as `create BmcHost okd-okd-master-0`."""
        return {
            f"{step.operation} {step.kind} {step.name}" for step in read_preview(self.preview(), "a preview").steps
        }

    def review(self, *words: str) -> CompletedProcess[str]:
        """Run `okd-baremetal review` on the stack, by the real engine."""
        return run("review", plans.STACK, *words, folder=self.program, **pulumi_env(self.folder))

    def copy(self, folder: Path) -> "Project":
        """Return a copy, for a test to change."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project(folder)

    def replace(self, file: str, old: str, new: str) -> None:
        """Replace the only occurrence of `old` in a file of the program."""
        path = self.program / file
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))

    @contextmanager
    def install_config(self) -> Iterator[dict[str, Any]]:
        """Yield the stack's install-config, and write it back with the caller's changes."""
        path = self.program / INSTALL_CONFIG
        config = yaml.safe_load(path.read_text())
        yield config
        path.write_text(yaml.safe_dump(config))

    def configure(self, **options: Mapping[str, Any]) -> None:
        """Set single values of options."""
        path = self.program / STACK_FILE
        stack = yaml.safe_load(path.read_text())
        for name, values in options.items():
            stack["config"].setdefault(f"{plans.PROJECT}:{name}", {}).update(values)
        path.write_text(yaml.safe_dump(stack))

    def set(self, **options: Any) -> None:
        """Set whole options."""
        path = self.program / STACK_FILE
        stack = yaml.safe_load(path.read_text())
        stack["config"] |= {f"{plans.PROJECT}:{name}": value for name, value in options.items()}
        path.write_text(yaml.safe_dump(stack))


def fresh(folder: Path, **options: Any) -> Project:
    """Return a project with an empty stack, and with the rehearsal's options except `options`."""
    project = Project(folder)
    copy_program(project.program)
    config = {f"{plans.PROJECT}:{name}": value for name, value in plans.options(**options).items()}
    (project.program / STACK_FILE).write_text(yaml.safe_dump({"config": config}))
    project.pulumi("stack", "init", plans.STACK)
    return project


def settled(
    folder: Path, secret: str, prepare: Callable[[Project], None] = lambda _: None, **options: Any
) -> Project:
    """Return a project whose state records every declared resource as created.

    Args:
        folder: The folder to make it in.
        secret: BMC password of `LOGIN`, a secret in the stack's config.
        prepare: Changes the project before its first preview.
        options: Options that override the rehearsal's.
    """
    project = fresh(folder, bmc_credentials={LOGIN: {"username": "operator"}}, **options)
    prepare(project)
    secrets = {f"bmc_credentials.{LOGIN}.password": secret, "pull_secret": PULL_SECRET}
    pairs = (word for name, value in secrets.items() for word in ("--secret", f"{name}={value}"))
    project.pulumi("config", "set-all", "--path", *pairs)
    steps = json.loads(project.pulumi("preview", "--json", "--save-plan", f"{folder}/plan"))["steps"]
    # The plan has the inputs with their secrets, encrypted by the stack's own key; the steps have all the rest.
    plan = json.loads((folder / "plan").read_text())["resourcePlans"]
    goals = {urn: resource["goal"] for urn, resource in plan.items()}
    made = json.dumps(_resources([step["newState"] for step in steps], goals))
    with edited_resources(folder) as resources:
        resources.extend(json.loads(made.replace(UNKNOWN, KNOWN)))
    return project


def _resources(planned: list[dict[str, Any]], goals: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the resources of a deployment in order of creation; the default provider has no step."""
    (provider,) = goals.keys() - {resource["urn"] for resource in planned}
    first = {"urn": provider, "type": goals[provider]["type"], "custom": True}
    inputs_by_urn = {urn: goal.get("inputDiff", {}).get("adds", {}) for urn, goal in goals.items()}
    (listed,) = (inputs for urn, inputs in inputs_by_urn.items() if ":Machines::" in urn)
    # The serial of each machine is what the stack consents to; a spare's is its name.
    machines = {
        name: MachineId(serial=host["consent"] or name).model_dump() for name, host in listed["hosts"].items()
    }
    resources = []
    for resource in [first, *planned]:
        inputs = dict(inputs_by_urn[resource["urn"]])
        if hosts := inputs.get("identities"):
            inputs["identities"] = {host: machines[host] for host in hosts}
        done = {"id": KNOWN, "outputs": inputs | _outputs(inputs, machines)} if resource["custom"] else {}
        resources.append({**resource, "inputs": inputs, **done})
    return resources


def _outputs(inputs: dict[str, Any], machines: dict[str, Any]) -> dict[str, Any]:
    """Return the outputs of a resource that read which machines the hosts are, and has installed all of its own."""
    own = machines.get(inputs.get("host", ""), {})
    records = {
        host: {"uuid": MachineId(**machine).own, "iso_sha256": "", "at": ""}
        for host, machine in inputs.get("identities", {}).items()
    }
    return {**own, "machines": machines, "former": [], "installed": records}
