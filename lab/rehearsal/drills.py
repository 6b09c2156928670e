"""Drills: something around a cluster in production changes, and its operator does what the documents say."""

import shutil
from dataclasses import dataclass

from cluster.plan import ClusterPlan
from lab import site
from lab.inventory import Site
from lab.rehearsal.refusals import UP, refuse
from lab.rehearsal.report import Report
from lab.rehearsal.stack import Stack
from lab.rehearsal.status import StatusProofs
from lab.twin import PASSWORD
from testing.documents import commands

NEW_PASSWORD = "another-twin-only"  # noqa: S105
PAGE = "how-to/what-changed.md"
REFRESH = ("refresh", "--yes", "--skip-preview")


@dataclass(frozen=True)
class Drills:
    """The drills of one cluster. Each proves that it wrote nothing to a BMC."""

    stack: Stack
    plan: ClusterPlan
    report: Report
    wanted: Site

    def run(self) -> None:
        """Run all."""
        for title, drill in (
            ("drill: the BMCs have another password", self._passwords),
            ("drill: a BMC is dead", self._a_dead_bmc),
            ("drill: another provisioner", self._another_provisioner),
            ("drill: the state is lost", self._the_state_is_lost),
            ("drill: another VIP", self._another_vip),
        ):
            with self.report.step(title):
                before = site.bmc_writes()
                drill()
                self.report.prove(f"writes to BMCs in the {title}", wanted=0, seen=site.bmc_writes() - before)

    def _passwords(self) -> None:
        for password in (NEW_PASSWORD, PASSWORD):
            site.change_bmcs(self.wanted, password=password)
            refuse(self.stack, self.report, "a changed password", "the login in the state was refused", REFRESH)
            (self.stack.project / "new-password").write_text(password)
            for server in self.plan.servers:
                self.stack.follow(commands(PAGE, "<new-password"), host=server.name)
            self.stack.run(*UP)
        self._nothing_changes(self.stack)

    def _a_dead_bmc(self) -> None:
        name = self.plan.servers[-1].name
        site.change_bmcs(self.wanted, dead={name})
        StatusProofs(self.stack, self.report).misses_the_bmcs({name})
        text = self.stack.follow(commands(PAGE, "okd-baremetal status"))
        seen = "kept the recorded values" in text
        self.report.prove("a refresh keeps what was recorded of a dead BMC", wanted=True, seen=seen)
        site.change_bmcs(self.wanted)
        self._nothing_changes(self.stack)

    def _another_provisioner(self) -> None:
        self.stack.run("stack", "export", "--file", "state.json", quiet=True)
        other = self.stack.copy("another-provisioner")
        self._forget(other)
        other.follow(commands(PAGE, "pulumi stack import"))

    def _the_state_is_lost(self) -> None:
        # In a copy: what `destroy` has to restore is recorded anew there.
        other = self.stack.copy("lost-state")
        self._forget(other)
        other.follow(commands("how-to/recover.md", "import_production"))
        self._nothing_changes(other)

    def _another_vip(self) -> None:
        path = self.stack.install_config
        right, vip = path.read_text(), self.plan.api.address
        path.write_text(right.replace(str(vip), str(vip + 1)))
        refuse(self.stack, self.report, "another API VIP", f"the cluster was installed with {vip}:", UP)
        path.write_text(right)

    def _nothing_changes(self, stack: Stack) -> None:
        stack.run(*UP, "--expect-no-changes")

    def _forget(self, stack: Stack) -> None:
        """Lose the state, and what Pulumi keeps of it on this machine."""
        for name in ("state", "home"):
            shutil.rmtree(stack.project.parent / name)
            (stack.project.parent / name).mkdir()
