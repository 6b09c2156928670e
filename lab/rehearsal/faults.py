"""Faults during the move to production, on virtual machines: each update fails, and the next one continues.

With the stand-in payload, the VIP stays on the bootstrap until the handoff requests it. With a real Kubernetes, it
has left by itself and cannot return: the handoff only watches.
"""

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from base.yaml_text import parse_yaml, yaml_of
from lab.rehearsal.kube import Operator
from lab.rehearsal.operators import Operators
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import Report
from lab.rehearsal.stack import Once, Outcome, Stack
from lab.rehearsal.writer import AT_REST_S, EVERY_S, Writer
from lab.twin import DEADLINES
from providers.host_provisioning.installation.boot_procedures import VirtualCd
from providers.vip_handoff.states import ENDS, State

POWER_BUTTON = "guest-power-button.service"
PROVIDERS = "pulumi.dynamic"
SHUTDOWN_S = 5
FROZEN_HOST_S = 150
"""Deadline of the frozen server; most installations take less in the lab."""
Intervention = Callable[[int], object]
"""Called during a `pulumi up`, with the pid of its CLI."""


def ignore_power_button(bootstrap_ign: Path) -> None:
    """Make the bootstrap VM ignore its power button."""
    config = json.loads(bootstrap_ign.read_text())
    config["systemd"]["units"].append({"name": POWER_BUTTON, "mask": True})
    bootstrap_ign.write_text(json.dumps(config))


@dataclass
class Faults:
    """One run through all faults, from a prepared stack."""

    provisioner: Provisioner
    stack: Stack
    proofs: Proofs
    report: Report
    operators: Operators | None = None
    """Those of OKD; None where etcd stands in for the API."""

    def run(self) -> None:
        """Cause all faults, in the order in which they can happen."""
        self.stack.configure(handoff={"shutdown_s": SHUTDOWN_S})
        self._no_disk_fits()
        with self.report.step("pulumi up, phase bootstrap"):
            self.stack.run("up", "--yes", "--skip-preview")
        operator = self.proofs.operator
        # An emulated control plane of Kubernetes is too slow for ten writes per second.
        writer = Writer(self.proofs.store(), AT_REST_S if operator else EVERY_S)
        writer.start()
        if self.operators:
            self.operators.start()
        self.stack.configure(phase="production")
        if operator:
            self._killed_at_the_gate(self.proofs.control_plane_serves)
            self._nodes_die_while_watched(operator)
            self._provider_killed_in(State.WATCH)
        else:
            self._killed_at_the_gate(self.proofs.bootstrap_serves)
            self._nodes_die_after_the_release()
            self._provider_killed_in(State.SOAK)
        self._killed_in_let_go()
        writer.every_s = AT_REST_S
        self._a_worker_fails()
        self._update_succeeds()
        self._no_write_lost(writer)

    def _no_disk_fits(self) -> None:
        """Ask for a disk that one server does not have: it is not installed, and all other servers are."""
        path = self.stack.project / "stacks" / self.stack.name / "install-config.yaml"
        right = path.read_text()
        config = parse_yaml(right)
        host = config["platform"]["baremetal"]["hosts"][0]
        host["rootDeviceHints"] = {"serialNumber": "NOT-THERE"}
        with self.report.step("no disk of one server fits its hints"):
            path.write_text(yaml_of(config))
            outcome = self.stack.try_run("up", "--yes", "--skip-preview")
            path.write_text(right)
            self._failed(outcome, f"{host['name']}: ")
            for words in (
                "no disk fits serialNumber: NOT-THERE. Disks found: deviceName: /dev/sda,",
                "; deviceName: /dev/vda,",
                f"1 of {len(self.proofs.plan.control_plane)} control-plane hosts were not installed",
            ):
                self.report.prove("the error has", wanted=words, seen=words if words in outcome.text else "")

    def _killed_at_the_gate(self, serves: Callable[[], object]) -> None:
        with self.report.step("kill -9 of the CLI at the gate"):
            self._kill_the_cli_in("gate")
            serves()

    def _nodes_die_after_the_release(self) -> None:
        """Freeze all nodes: the VIP returns at once; the API only when they thaw, since they are etcd's majority."""
        with self.report.step("all control-plane nodes die right after the release"):
            took: list[float] = []

            def die(_: int) -> None:
                self._for_each_node(self.provisioner.suspend)
                measuring.start()

            measuring = Thread(target=lambda: took.append(self.proofs.seconds_until_the_bootstrap_answers()))
            outcome = self._up_with("VipHandoff .* soak", die)
            measuring.join()
            self._for_each_node(self.provisioner.resume)
            self._failed(outcome, ENDS[State.RETURNED])
            self._vm_runs()
            self.report.measure("VIP answered by the bootstrap again, s", goal="under 5", seen=f"{took[0]:.1f}")
            self.proofs.control_plane_joined()
            # A thawed node has the VIP until the bootstrap's API is ready again.
            self.proofs.seconds_until_the_bootstrap_answers()
            self.proofs.bootstrap_serves()

    def _nodes_die_while_watched(self, operator: Operator) -> None:
        """Freeze all nodes that can have the VIP: no machine can take it back; the VM stays until they thaw."""
        nodes = self.proofs.plan.control_plane
        with self.report.step("all control-plane nodes die while the handoff watches them"):
            outcome = self._up_with("VipHandoff .* watch", lambda _: self._for_each_node(self.provisioner.suspend))
            self._for_each_node(self.provisioner.resume)
            self._failed(outcome, ENDS[State.LEFT])
            self._vm_runs()
            self.proofs.nodes_are_ready(operator, nodes)
            self.proofs.control_plane_serves()

    def _for_each_node(self, action: Callable[[str], object]) -> None:
        for server in self.proofs.plan.control_plane:
            action(server.name)

    def _provider_killed_in(self, state: State) -> None:
        with self.report.step(f"kill -9 of the provider in the {state}"):
            outcome = self._up_with(f"VipHandoff .* {state}", lambda _: self.stack.kill(PROVIDERS))
            self._failed(outcome, "")
            self._vm_runs()
            self.proofs.control_plane_serves()

    def _killed_in_let_go(self) -> None:
        with self.report.step("kill -9 of the CLI as the VM is let go"):
            self._kill_the_cli_in("let go")
            self.proofs.control_plane_serves()

    def _a_worker_fails(self) -> None:
        """Freeze a worker during its installation: the update fails after it has ended the VM."""
        frozen = self.proofs.plan.compute[0].name
        self.stack.configure(deadlines={"host_s": FROZEN_HOST_S})
        with self.report.step("the VM ignores its power button, and a worker fails in the same update"):
            outcome = self._up_with(rf"{frozen} .* {VirtualCd.step}", lambda _: self.provisioner.suspend(frozen))
            self._failed(outcome, frozen)
            self._vm_is_gone()
            self.provisioner.resume(frozen)
        self.stack.configure(deadlines=DEADLINES)

    def _update_succeeds(self) -> None:
        with self.report.step("pulumi up succeeds"):
            self.stack.run("up", "--yes", "--skip-preview")
            self._vm_is_gone()
            self.proofs.control_plane_serves()
            self.proofs.ingress_serves()
            self.stack.run("up", "--yes", "--skip-preview", "--expect-no-changes")
            self.report.prove("second up", wanted="no changes", seen="no changes")

    def _no_write_lost(self, writer: Writer) -> None:
        writer.stop()
        lost = writer.lost()
        self.report.prove(f"acknowledged writes lost, of {len(writer.acknowledged)}", wanted=0, seen=len(lost))

    @property
    def _bootstrap(self) -> str:
        return self.proofs.plan.bootstrap.name

    def _vm_runs(self) -> None:
        self.report.prove("bootstrap VM exists", wanted=True, seen=self._bootstrap in self.provisioner.domains())
        self.report.prove("bootstrap VM runs", wanted=True, seen=self._bootstrap in self.provisioner.running())

    def _vm_is_gone(self) -> None:
        self.report.prove("bootstrap VM exists", wanted=False, seen=self._bootstrap in self.provisioner.domains())

    def _failed(self, outcome: Outcome, named: str) -> None:
        holds = outcome.code != 0 and named in outcome.text and "Traceback" not in outcome.text
        self.report.prove("the update failed", wanted="with an error that says why", seen=outcome.code, holds=holds)

    def _kill_the_cli_in(self, state: str) -> None:
        outcome = self._up_with(f"VipHandoff .* {state}", lambda pid: os.kill(pid, signal.SIGKILL))
        self.report.prove("the CLI was killed", wanted=-signal.SIGKILL, seen=outcome.code)
        # Its provider may still be alive, and must leave the VIP to the next run.
        self.stack.run("cancel", "--yes", quiet=True)
        self._vm_runs()

    def _up_with(self, when: str, intervene: Intervention) -> Outcome:
        """Run `pulumi up`, and intervene at the first line that matches `when`."""
        watch = Once(when, intervene)
        outcome = self.stack.try_run("up", "--yes", "--skip-preview", on_line=watch)
        self.report.prove(f"`pulumi up` reached {when.rpartition('* ')[2]}", wanted=True, seen=watch.has_come)
        return outcome
