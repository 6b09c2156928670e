"""Proofs of what each server was installed as: its disk, its firmware, its addresses."""

from dataclasses import dataclass

from lab.disks import wanted_of
from lab.inventory import Site
from lab.nics import machine_mac
from lab.paths import DNS
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import Report
from lab.rehearsal.stack import Stack

BOOTED_BY = " s: booted by "


@dataclass(frozen=True)
class ServerProofs:
    """Proofs of the servers of one cluster."""

    provisioner: Provisioner
    stack: Stack
    report: Report
    site: Site

    def have_the_disks_of_their_hints(self) -> None:
        """Prove that each server was installed to the disk that its hints choose."""
        hosts, right, servers = self.stack.outputs()["hosts"], [], self.site.plan.servers
        for server in servers:
            wanted = wanted_of(server.root_device_hints.given)
            right += [server.name] * (wanted.label in hosts[server.name].get("disk", ""))
        names = [server.name for server in servers]
        machine = next(iter(set(names) - set(right)), "")
        what = "installed to the disk of their hints"
        self.report.prove(what, wanted=", ".join(names), seen=", ".join(right), machine=machine)

    def booted_by_their_firmware(self) -> None:
        """Prove that each server booted its ISO and its disk by the firmware of its bootMode, as its guest says."""
        wanted = {server.name: server.boot_mode for server in self.site.plan.servers}
        seen = {name: self._booted_by(name) for name in wanted}
        self.report.prove_each("boot mode of ISO and disk, as the guests see it", wanted=wanted, seen=seen)

    def _booted_by(self, name: str) -> str:
        """Return the one boot mode of all boots of a server, at least two; else the modes of its boots."""
        lines = [line for line in self.provisioner.console(name) if BOOTED_BY in line]
        modes = [line.rpartition(BOOTED_BY)[2].strip() for line in lines]
        return modes[0] if len(modes) > 1 and len({*modes}) == 1 else "only " + " then ".join(modes)

    def have_their_addresses(self) -> None:
        """Prove that each server whose `networkConfig` sets its address has that address."""
        leases = (DNS / "leases").read_text()
        plan = self.site.plan
        for server in plan.servers:
            if server.name not in self.site.statics:
                continue
            name, lines = server.name, self.provisioner.console(server.name)
            shown = all(any(f" {address}/" in line for line in lines) for address in server.addresses)
            self.report.prove(f"address of {name} by its networkConfig", wanted=True, seen=shown, machine=name)
            served = name not in self.site.unserved  # its firmware asks for one
            leased = {*map(str, server.addresses)} & {*leases.split()}
            asked = machine_mac(server, plan) in leases or bool(leased)
            self.report.prove(f"lease of DHCP for {name}", wanted=served, seen=asked)
