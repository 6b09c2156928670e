"""A cluster's preview and update by Pulumi's Automation API. Each first reads what an earlier run left."""

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pulumi.automation import (
    ConfigValue,
    EngineEvent,
    LocalWorkspaceOptions,
    OpType,
    Stack,
    create_or_select_stack,
    select_stack,
)
from pulumi.automation.errors import CommandError, ConcurrentUpdateError, StackNotFoundError

from base.backend import VARIABLE as BACKEND
from base.backend import without_login
from base.errors import ConfigError, Fault, OkdBaremetalError, one_line, word
from base.files import write_private
from base.write_guard import PLAN_VARIABLE
from cluster.options import Release
from cluster.stack_file import read_options
from cluster.values.phase import Phase
from fleet.messages import Checked, Done, Preview, Step
from fleet.plan import Gate
from fleet.site.guard import GuardedPulumi
from fleet.site.orders import Orders
from fleet.site.record import has_begun, record_start
from providers.vip_handoff.resource import VipHandoff
from review import preview as previews
from review.verdict import verdict
from review.write_plan import WritePlan

LOCKED_BY = re.compile(r"created by \S+@(?P<host>\S+) \(pid (?P<pid>\d+)\)")
"""How Pulumi's own backends name the process that has a stack's lock."""
GUARDED_PID = "1"
"""Each update of a worker is process 1 of its own namespace, which no `pulumi` that a person starts is."""
ERROR_LINES = 20


class EngineError(OkdBaremetalError):
    """Pulumi failed, and no resource did: its backend may be away, or another run holds the stack."""


class ChangedError(OkdBaremetalError):
    """What `up` would do is not what was approved."""


class StoppedError(OkdBaremetalError):
    """An update failed, and only a person can fix the cause, of which there is a line or several."""

    def __init__(self, *lines: str) -> None:
        super().__init__(lines[0])
        self.faults = tuple(Fault("", line) for line in lines)
        self.args = ("\n".join(map(str, self.faults)),)


@dataclass
class Update:
    """One step of one cluster.

    Args:
        orders: Those of the site.
        step: What is wanted.
    """

    orders: Orders
    step: Step
    progress: str = ""
    """The latest line of progress: a resource, and what it does."""
    _errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._clone = self.orders.clone
        self.pulumi = GuardedPulumi(self._clone.lock(self.step.cluster))

    def check(self) -> Checked:
        """Check the stack's inputs, reach no machine, and return the phases that the cluster has before it.

        Raises:
            StoppedError: They are refused.
            ConfigError: The order is.
            EngineError: Pulumi's backend does not answer.
            UnreachableError: Git's remote does not.
        """
        self.orders.check(self.step)
        cluster = self.step.cluster
        self._asked("plan", f"stacks/{cluster}/install-config.yaml", "--stack", cluster)
        return Checked(list(_before(self._resources(), upgrades=self._release is not None)))

    def preview(self) -> Preview:
        """Return what `up` would do.

        Raises:
            StoppedError: The program refuses its inputs.
            ConfigError: The site refuses the order.
            EngineError: Pulumi failed otherwise.
            UnreachableError: Git's remote does not answer.
        """
        self.orders.check(self.step)
        stack = self._stack()
        # Nobody is asked to approve an upgrade while something stands in its way.
        seen = self._asked("upgrade", self.step.cluster) if self.step.phase == Gate.UPGRADE else []
        found = self._previewed(stack)
        return Preview(WritePlan.of(found).digest, [*(sentence.text for sentence in verdict(found)), *seen])

    def _asked(self, *words: str) -> list[str]:
        """Return the lines that a command of this program prints, which only reads.

        Raises:
            StoppedError: It finds something wrong.
        """
        command = [sys.executable, "-P", "-m", "cli", *words]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            lines = (done.stderr or done.stdout).splitlines()
            silent = f"the command {words[0]} ended with {done.returncode}, and says nothing"
            raise StoppedError(*_bounded(lines or [f"{silent}. Fix: run it at the site, and look at its memory"]))
        return done.stdout.splitlines()

    def _previewed(self, stack: Stack) -> previews.Preview:
        try:
            printed = self.pulumi.run(["preview", "--json"], stack.workspace.work_dir, {}).stdout
        except CommandError as error:
            printed = self.pulumi.printed
            if not previews.failures(printed):
                raise EngineError(_last_line(error)) from None
        try:
            return previews.read_preview(printed, "pulumi preview")
        except ConfigError as error:
            raise StoppedError(str(error)) from None

    def up(self) -> Done:
        """Do what was approved, or go on with it after a worker's death.

        Raises:
            ChangedError: It would do something else than was approved.
            UnapprovedError: No approval counts.
            StoppedError: A resource failed.
            ConfigError: The site refuses the order.
            EngineError: Pulumi failed otherwise.
            UnreachableError: Git's remote does not answer.
        """
        note = _Note(self._clone.note(self.step.cluster), asdict(self.step))
        if done := note.done:
            return done
        stack = self._begun() if note.is_begun else self._approved()
        began = time.monotonic()
        note.write()
        changes, resumed = self._up(stack)
        done = Done(changes, round(time.monotonic() - began, 1), resumed)
        note.write(done)
        return done

    def _begun(self) -> Stack:
        """Return the stack of an update that goes on after a worker's death."""
        stack = self._stack()
        if self.step.digest:
            self._bind(stack, is_begun=True)
        return stack

    def _approved(self) -> Stack:
        """Return the stack if its update may begin, and record that it does."""
        fleet = self.orders.check(self.step)
        approver = self.orders.approver_of(self.step, fleet)
        stack = self._stack()
        if self.step.digest:
            self._bind(stack, is_begun=False)
        record_start(self._clone.record, self.step, approver, fleet.approvers.get(approver, ""))
        return stack

    def _bind(self, stack: Stack, *, is_begun: bool) -> None:
        """Let `up` make the writes that were approved, and no other: also where it goes on after a worker's death.

        Raises:
            ChangedError: Its preview is not what was approved.
        """
        file = self._clone.write_plan(self.step.cluster)
        begun_with = WritePlan(file.read_text(errors="replace")) if is_begun and file.exists() else None
        if begun_with is None or begun_with.digest != self.step.digest:
            plan = WritePlan.of(self._previewed(stack))
            if plan.digest != self.step.digest:
                raise ChangedError(f"the preview is {plan.digest} now, and {self.step.digest} was approved")
            write_private(file, plan.text)
        stack.workspace.env_vars = {PLAN_VARIABLE: str(file.absolute())}

    def _resources(self) -> list[dict[str, Any]]:
        with _engine_errors():
            state = self._selected().export_stack()
        return (state.deployment or {}).get("resources") or []

    def _stack(self) -> Stack:
        options = {"phase": str(Gate(self.step.phase).phase)}
        if self.step.phase == Gate.UPGRADE:
            options |= {f"upgrade.{name}": value for name, value in self._wanted_release()}
        with _engine_errors():
            stack = self._selected()
            for name, value in options.items():
                stack.set_config(name, ConfigValue(value), path="." in name)
        return stack

    def _wanted_release(self) -> Release:
        if self._release is None:
            what = f"fleet.yaml of commit {self.step.commit[:12]} names no release for it"
            raise ConfigError(Fault(self.step.cluster, what, "start a rollout at a commit that does"))
        return self._release

    @cached_property
    def _release(self) -> Release | None:
        """The release of the cluster's wave, by the order's commit."""
        return self._clone.fleet(self.step.commit).upgrades.get(self.step.cluster)

    def _selected(self) -> Stack:
        """Return the stack; only one of which no update has begun here is made: an empty state has servers wiped."""
        cluster, folder = self.step.cluster, str(self._folder)
        options = LocalWorkspaceOptions(pulumi_command=self.pulumi)
        if not has_begun(self._clone.record, cluster):
            return create_or_select_stack(cluster, work_dir=folder, opts=options)
        try:
            return select_stack(cluster, work_dir=folder, opts=options)
        except StackNotFoundError:
            what = "the backend has no such stack, although an update of it has begun at this site"
            # In the clone itself, `pulumi stack rm` has removed the stack's file, and `init` would make an empty one.
            fix = (
                f"have {BACKEND} of the worker be what it was; or, if the stack was removed since its servers were "
                f"destroyed, `pulumi stack init {word(cluster)}` in {word(folder)}, with the worker's environment; "
                f"then `okd-baremetal fleet retry {word(cluster)}`"
            )
            raise ConfigError(Fault(cluster, what, fix)) from None

    @cached_property
    def _folder(self) -> Path:
        folder = self._clone.checkout(self.step.cluster, self.step.commit)
        file = Path("stacks", f"Pulumi.{self.step.cluster}.yaml")
        if (folder / file).exists() and read_options(folder / file).get("upgrade"):
            # It would come with the approval of a phase, or with none.
            what = "a site upgrades by fleet.yaml alone, behind the gate `upgrade`"
            fix = "name the release in the cluster's wave, remove the option, commit and push"
            raise ConfigError(Fault(f"{file}: upgrade", what, fix))
        return folder

    def _up(self, stack: Stack) -> tuple[dict[str, int], bool]:
        """Run `up`, and return the number of resources by operation, and whether a dead run's lock was in the way."""
        try:
            return self._ran_up(stack), False
        except ConcurrentUpdateError as error:
            # Behind the guard's lock, no run of a worker is alive: one that still has Pulumi's lock has died.
            holders = {(lock["host"], lock["pid"]) for lock in LOCKED_BY.finditer(str(error))}
            if holders != {(socket.gethostname(), GUARDED_PID)}:
                raise EngineError(f"another run holds the stack: {_last_line(error)}") from None
        with _engine_errors():
            stack.cancel()
        return self._ran_up(stack), True

    def _ran_up(self, stack: Stack) -> dict[str, int]:
        self._errors.clear()
        try:
            done = stack.up(on_event=self._note_event, show_secrets=False, suppress_outputs=True)
        except ConcurrentUpdateError:
            raise
        except CommandError as error:
            if self._errors:
                raise StoppedError(*_bounded(self._errors)) from None
            raise EngineError(_last_line(error)) from None
        return {OpType(operation).value: count for operation, count in (done.summary.resource_changes or {}).items()}

    def _note_event(self, event: EngineEvent) -> None:
        """Note what a person wants to know: the latest progress, and the errors of resources."""
        if (diagnostic := event.diagnostic_event) and diagnostic.urn:
            name, text = diagnostic.urn.rpartition("::")[2], _plain(diagnostic.message)
            if diagnostic.severity == "error":
                self._errors.append(f"{name}: {text}")
            elif text:
                self.progress = f"{name}: {text}"
        elif event.resource_pre_event:
            begun = event.resource_pre_event.metadata
            self.progress = f"{begun.urn.rpartition('::')[2]}: {begun.op.value}"


class _Note:
    """What the site knows of its latest update of a cluster: that it began, and what it did.

    A worker that dies, or whose report is lost, is asked again: the next one goes on, or reports what was done.

    Args:
        file: Of the cluster.
        key: The step with its run; a note of another one does not count.
    """

    def __init__(self, file: Path, key: dict[str, Any]) -> None:
        self._file, self._key = file, key
        note = json.loads(file.read_text()) if file.exists() else {}
        self.is_begun = note.get("key") == key
        done = note.get("done") if self.is_begun else None
        self.done = Done(**done) if done else None

    def write(self, done: Done | None = None) -> None:
        """Record that the update has begun, or what it did."""
        write_private(self._file, json.dumps({"key": self._key, "done": asdict(done) if done else None}))


def _before(resources: list[dict[str, Any]], *, upgrades: bool) -> tuple[Gate, ...]:
    """Return what is before a stack, in whose state the handoff tells how far it has come."""
    gates = tuple(gate for gate in Gate if upgrades or gate is not Gate.UPGRADE)
    reached = {
        resource.get("inputs", {}).get("phase")
        for resource in resources
        if resource["type"].endswith(f":{VipHandoff.__name__}")
    }
    # The upgrade of a cluster in production makes its other changes, too: one preview, one approval.
    return gates[-1:] if Phase.PRODUCTION in reached else gates


@contextmanager
def _engine_errors() -> Iterator[None]:
    """Raise a failure of Pulumi as `EngineError`."""
    try:
        yield
    except CommandError as error:
        raise EngineError(_last_line(error)) from None


def _plain(text: str) -> str:
    """Return a message of the engine without its colours and without the backend's login, as one line."""
    return one_line(without_login(re.sub("<{%[^%]*%}>", "", text).strip()))


def _bounded(lines: list[str]) -> list[str]:
    more = len(lines) - ERROR_LINES
    return lines[:ERROR_LINES] + ([f"and {more} more lines"] if more > 0 else [])


def _last_line(error: CommandError) -> str:
    """Return the line that says why; the whole text may quote outputs."""
    lines = [line.strip() for line in str(error).splitlines() if "error:" in line]
    return _plain(lines[-1].removeprefix("stderr:").strip()) if lines else "pulumi failed, and does not say why"
