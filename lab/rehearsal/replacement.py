"""Drills of a server of the control plane that dies, and is replaced as the documents say."""

import os
import random
import signal
import time
from collections.abc import Callable

from cluster.plan import Server
from lab.nics import machine_mac
from lab.rehearsal.kube_drill import KubeDrill
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.refusals import UP
from lab.rehearsal.segment import answering_macs
from lab.rehearsal.stack import Once
from lab.rehearsal.writer import Writer
from providers.host_provisioning.installation.boot_procedures import VirtualCd
from providers.host_provisioning.installation.engine import FIRST_BOOT, TAKING_OUT
from testing.documents import commands

PAGE = "how-to/replace-a-control-plane-server.md"
KILLED_IN = (TAKING_OUT, VirtualCd.step, FIRST_BOOT)
"""The steps in which a drill kills `up`."""
DEATHS: dict[str, Callable[[Provisioner, str], None]] = {
    "and its disk are dead": lambda lab, name: lab.lose(name),
    "is cut off from the network, and runs on": lambda lab, name: lab.cut_off(name),
}
"""How a server dies. One that is cut off answers nobody, and refuses nobody either."""
LONGEST = 1.5
"""Of a first installation, the time that a replacement may take."""


class Replacements(KubeDrill):
    """The drills of one cluster in production, with a real Kubernetes."""

    def run(self, count: int, seed: int) -> None:
        """Have the server die that has the API VIP; then as many others as are wanted, chosen by a seed."""
        chance, nodes = random.Random(seed), self.proofs.plan.control_plane  # noqa: S311
        for number in range(count):
            server = chance.choice(nodes) if number else self._holder()
            killed_in = chance.choice(("", *KILLED_IN)) if number else VirtualCd.step
            self._replace(server, chance.choice([*DEATHS]) if number else next(iter(DEATHS)), killed_in)

    def _holder(self) -> Server:
        """Return the node that answers the API VIP."""
        plan = self.proofs.plan
        macs = answering_macs(str(plan.api.address))
        return next(server for server in plan.control_plane if machine_mac(server, plan) in macs)

    def _replace(self, server: Server, death: str, killed_in: str) -> None:
        """Have a server die, and `up` be killed in a step; empty for none."""
        name, began = server.name, time.monotonic()
        killed = f", and `up` is killed in {killed_in!r}" if killed_in else ""
        with self.report.step(f"drill: {name} {death}{killed}"):
            writer = Writer(self.proofs.store())
            writer.start()
            DEATHS[death](self.provisioner, name)
            self._preview(server)
            if killed_in:
                self._killed(name, killed_in)
            self.stack.run(*UP)
            took_s = time.monotonic() - began
            self._is_back(name)
            writer.stop()
            lost = writer.lost()
            what = f"acknowledged writes lost while {name} was replaced, of {len(writer.acknowledged)}"
            self.report.prove(what, wanted=0, seen=len(lost))
        times = took_s / sum(self.report.servers[name].values())
        what = f"time to replace {name}, of its installation"
        self.report.measure(what, goal=f"under {LONGEST:g}", seen=f"{times:.2f}")

    def _preview(self, server: Server) -> None:
        """Do what the page says: one line is changed, and the preview says what follows."""
        values = {"host": server.name, "serial or UUID": self.provisioner.uuid(server)}
        text = self.stack.follow(commands(PAGE, "reinstall.<host>"), **values)
        wanted = f"will be switched off, then taken out of etcd and the cluster, then wiped: {server.name}"
        self.report.prove("the preview says", wanted=wanted, seen=wanted if wanted in text else "")

    def _killed(self, name: str, step: str) -> None:
        """Kill the CLI in a step, and have the next `up` go on."""
        # The outputs of a failed update name the steps of installations, too.
        watch = Once(f"BmcHost .*-{name} .*{step}", lambda pid: os.kill(pid, signal.SIGKILL))
        outcome = self.stack.try_run(*UP, on_line=watch)
        self.report.prove(f"`up` was killed in {step!r}", wanted=-signal.SIGKILL, seen=outcome.code)
        self.stack.run("cancel", "--yes", quiet=True)

    def _is_back(self, name: str) -> None:
        """Prove that the server is a member again, that all serve, and that nothing is left to do."""
        self.proofs.bootstrap_left_etcd()
        self.proofs.nodes_are_ready(self.operator, self.proofs.plan.servers)
        self.proofs.control_plane_serves()
        self.status.finds_nothing_wrong("after a replacement")
        self.stack.run("config", "rm", "--path", f"reinstall.{name}", quiet=True)
        self.stack.run(*UP)
        self.stack.run(*UP, "--expect-no-changes")
