"""Drills of a server of the control plane that dies, and is replaced as the documents say."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from cluster.plan import Server
from cluster.values.address import netloc
from lab.nics import machine_mac
from lab.rehearsal.kube_drill import KubeDrill
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.refusals import UP
from lab.rehearsal.segment import answering_macs
from lab.rehearsal.writer import Writer
from lab.site.bmc import NEW_PASSWORD, NEW_USERNAME
from providers.host_provisioning.installation.boot_procedures import VirtualCd
from providers.host_provisioning.installation.engine import FIRST_BOOT, TAKING_OUT
from testing.documents import commands

PAGE, BMC_PAGE = "how-to/replace-a-control-plane-server.md", "how-to/what-changed.md"
KILLED_IN = (TAKING_OUT, VirtualCd.step, FIRST_BOOT)
"""The steps in which a drill kills `up`."""
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
            DEATHS[death].happens(self.provisioner, name)
            DEATHS[death].told(self, server)
            if killed_in:
                self.kills_up(name, killed_in)
            self.stack.run(*UP)
            took_s = time.monotonic() - began
            replace(self, proofs=self.proofs.of(self.stack.plan()))._is_back()
            if DEATHS[death].is_same:
                self.stack.run("config", "rm", "--path", f"reinstall.{name}", quiet=True)
                self.stack.run(*UP)
            self.stack.run(*UP, "--expect-no-changes")
            writer.stop()
            lost = writer.lost()
            what = f"acknowledged writes lost while {name} was replaced, of {len(writer.acknowledged)}"
            self.report.prove(what, wanted=0, seen=len(lost))
        times = took_s / sum(self.report.servers[name].values())
        what = f"time to replace {name}, of its installation"
        self.report.measure(what, goal=f"under {LONGEST:g}", seen=f"{times:.2f}")

    def tell_another_machine(self, server: Server) -> None:
        """Do what the page says of another board: MAC and consent are changed, and the review says what follows."""
        uuid, mac = self.provisioner.uuid(server), self.provisioner.boot_mac(server)
        self.stack.change_host(server.name, lambda host: host.update(bootMACAddress=mac))
        text = self.stack.follow(commands(PAGE, "consent.<host>"), **{"host": server.name, "serial or UUID": uuid})
        wanted = f"of {server.name} (consent `{uuid}`), where the BMC shows another machine than is recorded"
        self.reads(text, wanted)

    def tell_another_bmc(self, server: Server) -> None:
        """Do what the page says of another BMC, then what that of a server says whose disk is dead."""
        bmc = self.provisioner.bmc(server)

        def correct(host: dict[str, Any]) -> None:
            url = urlsplit(host["bmc"]["address"])
            host["bmc"]["address"] = url._replace(netloc=netloc(bmc.name, bmc.port)).geturl()

        self.stack.change_host(server.name, correct)
        (self.stack.project / "bmc-password").write_text(NEW_PASSWORD)
        values = {"host": server.name, "user": NEW_USERNAME, "fingerprint": self.provisioner.fingerprint(server)}
        self.stack.follow(commands(BMC_PAGE, "<fingerprint>"), **values)
        self.stack.run(*UP)
        self.tell_same_machine(server)

    def tell_same_machine(self, server: Server) -> None:
        """Do what the page says: one line is changed, and the preview says what follows."""
        values = {"host": server.name, "serial or UUID": self.provisioner.uuid(server)}
        text = self.stack.follow(commands(PAGE, "reinstall.<host>"), **values)
        wanted = f"will be switched off, then taken out of etcd and the cluster, then wiped: {server.name}"
        self.reads(text, wanted, what="the preview says")

    def _is_back(self) -> None:
        """Prove that the server is a member again, and that all serve."""
        self.proofs.bootstrap_left_etcd()
        self.proofs.nodes_are_ready(self.operator, self.proofs.plan.servers)
        self.proofs.control_plane_serves()
        self.status.finds_nothing_wrong("after a replacement")


@dataclass(frozen=True)
class Death:
    """How a server dies, and what its operator tells the program then."""

    happens: Callable[[Provisioner, str], None]
    told: Callable[[Replacements, Server], None] = Replacements.tell_same_machine
    is_same: bool = True
    """Whether it is the same machine afterwards, which is installed again only if `reinstall` names it."""


def _lose_with_bmc(lab: Provisioner, name: str) -> None:
    lab.lose(name)
    lab.replace_bmc(name)


DEATHS = {
    "and its disk are dead": Death(lambda lab, name: lab.lose(name)),
    "is cut off from the network, and runs on": Death(lambda lab, name: lab.cut_off(name)),
    "gets another board": Death(
        lambda lab, name: lab.replace_board(name), Replacements.tell_another_machine, is_same=False
    ),
    "and its disk are dead, and it gets another BMC": Death(_lose_with_bmc, Replacements.tell_another_bmc),
}
"""One that is cut off answers nobody, and refuses nobody either. Another board comes with the disks of the former."""
