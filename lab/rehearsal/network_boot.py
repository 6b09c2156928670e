"""Proofs of a provisioning network: which servers answer there, and which boot the installer from it, how often."""

import re
from dataclasses import dataclass

from assets.boot_server import boot_server
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
"""Words on a guest's console: a live system over the network, one by UEFI HTTP, and a boot from the disk."""
WENT_ON = "for the iPXE command line.*BdsDxe: failed to "
"""What edk2 says on iPXE's last line, once that has ended: of it, or of the next boot option, which loads nothing.

iPXE takes its line back by backspaces, right before edk2's words.
"""
FETCHES = re.compile(r": fetches (http://[^/]+)/")
"""The server that a live system over the network names on the console."""
BOOT_S = 120.0


@dataclass(frozen=True)
class NetworkBootProofs:
    """Proofs of one cluster with a provisioning network."""

    provisioner: Provisioner
    stack: Stack
    report: Report
    site: Site

    def refuses_foreign_dhcp(self) -> None:
        """Prove that `up` ends before anything boots while another DHCP server is on a Managed network."""
        plan = self.site.plan
        # The preflight asks for DHCP by IPv4 only.
        if plan.provisioning.mode != MANAGED or plan.boots_over_ipv6 or not plan.booted_from_network:
            return
        with self.report.step("another DHCP server is refused"), foreign_dhcp(self.site) as mac:
            refuse(self.stack, self.report, "another DHCP server on the provisioning network", mac, UP)

    def fetched_once(self) -> None:
        """Prove that each server that fetches the installer did so once, by its boot method, and no other did.

        iPXE's clients name whom they asked: the bootstrap VM, the holder of the VIP there, or this program.
        """
        servers = self.site.plan.servers
        by_ipxe = {server.name: int(server.boot_method is BootMethod.IPXE) for server in servers}
        by_http = {server.name: int(server.boot_method is BootMethod.UEFI_HTTP) for server in servers}
        for wanted, words, how in ((by_ipxe, FETCHED, "over the network"), (by_http, IN_MEMORY, "by UEFI HTTP")):
            if any(wanted.values()):
                seen = {name: self._console_lines(name, words) for name in wanted}
                self.report.prove_each(f"live systems fetched {how}", wanted=wanted, seen=seen)
        plan = self.site.plan
        if asked := {server.name: boot_server(plan, server.role) for server in servers if by_ipxe[server.name]}:
            consoles = {name: "\n".join(self.provisioner.console(name)) for name in asked}
            told = {name: ", ".join(FETCHES.findall(text)) for name, text in consoles.items()}
            self.report.prove_each("live systems were fetched from", wanted=asked, seen=told)

    def reboots_from_disk(self) -> None:
        """Prove that an installed server whose firmware boots iPXE again boots its disk.

        With UEFI, only that its firmware goes on: edk2 then tries HTTP over both families, and each other card by PXE
        and HTTP, each for up to a minute, and had not come to the disk after four minutes (2026-11-28).
        """
        if not (booted := [server for server in self.site.plan.servers if server.boot_method is BootMethod.IPXE]):
            return
        server = booted[-1]
        is_legacy = server.boot_mode == "legacy"
        then, what = (READY, "boots from its disk") if is_legacy else (WENT_ON, "goes on")
        with self.report.step(f"{server.name} boots from the network again"):
            before = self._console_lines(server.name, then)
            self.provisioner.boot_from_network(server)
            seen = settle(lambda: self._console_lines(server.name, then) - before, bool, BOOT_S)
            self.report.prove(what, wanted=1, seen=seen, machine=server.name)
            fetched = self._console_lines(server.name, FETCHED)
            self.report.prove("live systems fetched in all", wanted=1, seen=fetched, machine=server.name)

    def _console_lines(self, machine: str, words: str) -> int:
        """Return the number of console lines that contain these words, a pattern."""
        return sum(bool(re.search(words, line)) for line in self.provisioner.console(machine))
