"""Proofs of a provisioning network: who answers there, and who boots the installer from it, and how often."""

from dataclasses import dataclass

from cluster.install_config.platform import MANAGED
from cluster.values.boot_method import BootMethod
from lab.inventory import Site
from lab.rehearsal.proofs import settle
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.refusals import UP, refuse
from lab.rehearsal.report import Report
from lab.rehearsal.stack import Stack
from lab.site.provisioning import foreign_dhcp

FETCHED, IN_MEMORY, READY = ": has fetched the root", ": has its live ISO on /dev/pmem", "okd-lab: ready "
"""What a guest says of its live system from the network, and by UEFI HTTP, and of a boot from its disk."""
BOOT_S = 120.0


@dataclass(frozen=True)
class NetworkBootProofs:
    """Proofs of one cluster with a provisioning network."""

    provisioner: Provisioner
    stack: Stack
    report: Report
    site: Site

    def refuses_a_stranger(self) -> None:
        """Prove that `up` ends before anything boots while another DHCP server is on a Managed network."""
        if self.site.plan.provisioning.mode != MANAGED or not self.site.plan.booted_from_network:
            return
        with self.report.step("a stranger's DHCP is refused"), foreign_dhcp(self.site) as mac:
            refuse(self.stack, self.report, "another DHCP server on the provisioning network", mac, UP)

    def each_once(self) -> None:
        """Prove that each server that fetches the installer itself has done so once, in its way, and no other has."""
        servers = self.site.plan.servers
        by_ipxe = {server.name: int(server.boot_method is BootMethod.IPXE) for server in servers}
        by_http = {server.name: int(server.boot_method is BootMethod.UEFI_HTTP) for server in servers}
        for wanted, said, how in ((by_ipxe, FETCHED, "over the network"), (by_http, IN_MEMORY, "by UEFI HTTP")):
            if any(wanted.values()):
                seen = {name: self._said(name, said) for name in wanted}
                self.report.prove_each(f"live systems fetched {how}", wanted=wanted, seen=seen)

    def again_from_disk(self) -> None:
        """Prove that an installed server whose firmware boots iPXE again boots its disk."""
        if not (booted := [server for server in self.site.plan.servers if server.boot_method is BootMethod.IPXE]):
            return
        server = booted[-1]
        with self.report.step(f"{server.name} boots from the network again"):
            before = self._said(server.name, READY)
            self.provisioner.boot_from_network(server)
            ready = settle(lambda: self._said(server.name, READY) - before, bool, BOOT_S)
            self.report.prove("boots from its disk", wanted=1, seen=ready, machine=server.name)
            fetched = self._said(server.name, FETCHED)
            self.report.prove("live systems fetched, ever", wanted=1, seen=fetched, machine=server.name)

    def _said(self, machine: str, what: str) -> int:
        return sum(what in line for line in self.provisioner.console(machine))
