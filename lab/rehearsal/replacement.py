"""Drills of a server of the control plane that dies, and is replaced as the documents say."""

import os
import random
import signal
import time
from dataclasses import dataclass

from cluster.plan import Server
from lab.nics import machine_mac
from lab.rehearsal.kube import Operator
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.refusals import UP
from lab.rehearsal.report import Report
from lab.rehearsal.segment import answering_macs
from lab.rehearsal.stack import Stack
from lab.rehearsal.status import StatusProofs
from lab.rehearsal.writer import Writer
from providers.host_provisioning.installation.boot_procedures import VirtualCd
from providers.host_provisioning.installation.engine import FIRST_BOOT, TAKING_OUT
from testing.documents import commands

PAGE = "how-to/replace-a-control-plane-server.md"
KILLED_IN = (TAKING_OUT, VirtualCd.step, FIRST_BOOT)
"""The steps in which a drill kills `up`."""
LONGEST = 1.5
"""Of a first installation, the time that a replacement may take."""


@dataclass(frozen=True)
class Death:
    """One drill: which server dies, and the step in which `up` is killed; empty for none."""

    server: Server
    killed_in: str


@dataclass(frozen=True)
class Replacements:
    """The drills of one cluster in production, with a real Kubernetes."""

    provisioner: Provisioner
    stack: Stack
    proofs: Proofs
    operator: Operator
    report: Report

    def run(self, count: int, seed: int) -> None:
        """Have the server die that has the API VIP; then as many others as are wanted, chosen by a seed."""
        chance, nodes = random.Random(seed), self.proofs.plan.control_plane  # noqa: S311
        for number in range(count):
            server = chance.choice(nodes) if number else self._holder()
            self._replace(Death(server, chance.choice(("", *KILLED_IN)) if number else VirtualCd.step))

    def _holder(self) -> Server:
        """Return the node that answers the API VIP."""
        plan = self.proofs.plan
        macs = answering_macs(str(plan.api.address))
        return next(server for server in plan.control_plane if machine_mac(server, plan) in macs)

    def _replace(self, death: Death) -> None:
        name, began = death.server.name, time.monotonic()
        killed = f", and `up` is killed in {death.killed_in!r}" if death.killed_in else ""
        with self.report.step(f"drill: {name} and its disk are dead{killed}"):
            writer = Writer(self.proofs.store())
            writer.start()
            self.provisioner.lose(name)
            self._preview(death)
            if death.killed_in:
                self._killed(death.killed_in)
            self.stack.run(*UP)
            took_s = time.monotonic() - began
            self._is_back(death)
            writer.stop()
            lost = writer.lost()
            what = f"acknowledged writes lost while {name} was replaced, of {len(writer.acknowledged)}"
            self.report.prove(what, wanted=0, seen=len(lost))
        times = took_s / sum(self.report.servers[name].values())
        what = f"time to replace {name}, of its installation"
        self.report.measure(what, goal=f"under {LONGEST:g}", seen=f"{times:.2f}")

    def _preview(self, death: Death) -> None:
        """Do what the page says: one line is changed, and the preview says what follows."""
        name, values = (
            death.server.name,
            {"host": death.server.name, "serial or UUID": self.provisioner.uuid(death.server)},
        )
        text = self.stack.follow(commands(PAGE, "reinstall.<host>"), **values)
        wanted = f"will be switched off, then taken out of etcd and the cluster, then wiped: {name}"
        self.report.prove("the preview says", wanted=wanted, seen=wanted if wanted in text else "")

    def _killed(self, step: str) -> None:
        """Kill the CLI in a step, and have the next `up` go on."""
        pending = [step]

        def kill(line: str, pid: int) -> None:
            if pending and pending[0] in line:
                pending.clear()
                os.kill(pid, signal.SIGKILL)

        outcome = self.stack.try_run(*UP, on_line=kill)
        self.report.prove(f"`up` was killed in {step!r}", wanted=-signal.SIGKILL, seen=outcome.code)
        self.stack.run("cancel", "--yes", quiet=True)

    def _is_back(self, death: Death) -> None:
        """Prove that the server is a member again, that all serve, and that nothing is left to do."""
        self.proofs.bootstrap_left_etcd()
        self.proofs.nodes_are_ready(self.operator, self.proofs.plan.servers)
        self.proofs.control_plane_serves()
        StatusProofs(self.stack, self.report, etcd_is_reported=True).finds_nothing_wrong("after a replacement")
        self.stack.run("config", "rm", "--path", f"reinstall.{death.server.name}", quiet=True)
        self.stack.run(*UP)
        self.stack.run(*UP, "--expect-no-changes")
