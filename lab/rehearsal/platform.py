"""Proofs that only this program reaches a server, and that nodes of platform baremetal run none of its services."""

import re
from dataclasses import dataclass

from lab import site
from lab.inventory import Site
from lab.payload.baremetal import KEEPALIVED, OWNERS
from lab.rehearsal.proofs import settle
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import Report

MASKED = "masked, inactive"
DEADLINE_S = 60.0
_UNIT = re.compile(r"okd-lab: unit (\S+) is (\w+, \w+)")
_OWNS = re.compile(r"okd-lab: (\S+) owns the servers")
_POD = re.compile(r"okd-lab: static pod (\S+) (starts|is left out)")
_SERVICES = "okd-lab: services of okd-baremetal here: "
NONE = "none"


@dataclass(frozen=True)
class PlatformProofs:
    """Proofs of one cluster; on platform none, only that no other machine reaches a BMC."""

    provisioner: Provisioner
    report: Report
    site: Site

    def masks_the_payload(self) -> None:
        """Prove that the running bootstrap masks each unit that owns servers, and has started only one static pod."""
        if not self.site.is_baremetal:
            return
        name = self.site.plan.bootstrap.name
        wanted = dict.fromkeys(OWNERS, MASKED)
        seen = settle(self._units, wanted.__eq__, DEADLINE_S)
        differs = ", ".join(f"{unit} {seen.get(unit, 'unknown')}" for unit in OWNERS if seen.get(unit) != MASKED)
        what = f"units of the payload that are not masked on the bootstrap, of {len(OWNERS)}"
        self.report.prove(what, wanted=NONE, seen=differs or NONE, machine=name)
        pods = {"coredns": "starts", KEEPALIVED: "is left out"}
        shown = settle(lambda: dict(_POD.findall(self._console(name))), pods.__eq__, DEADLINE_S)
        self.report.prove("static pods of the payload", wanted=pods, seen=shown, machine=name)

    def has_no_second_owner(self) -> None:
        """Prove that no unit of the payload ran, that nodes run the operator's services, and who reached BMCs."""
        if self.site.is_baremetal:
            name = self.site.plan.bootstrap.name
            ran = ", ".join(_OWNS.findall(self._console(name))) or NONE
            self.report.prove("owners of servers that ran on the bootstrap", wanted=NONE, seen=ran, machine=name)
            wanted = {server.name: NONE for server in self.site.plan.servers}
            seen = settle(lambda: {name: self._services(name) for name in wanted}, wanted.__eq__, DEADLINE_S)
            self.report.prove_each("services of this program on nodes", wanted=wanted, seen=seen)
        sent = ", ".join(f"{count} of {sender}" for sender, count in sorted(site.foreign_bmc_packets().items()))
        self.report.prove("packets to BMCs from other machines than the provisioner", wanted=NONE, seen=sent or NONE)

    def _units(self) -> dict[str, str]:
        return dict(_UNIT.findall(self._console(self.site.plan.bootstrap.name)))

    def _services(self, machine: str) -> str:
        found = [line.partition(_SERVICES)[2] for line in self._console(machine).splitlines() if _SERVICES in line]
        return found[-1].strip() if found else "unknown"

    def _console(self, machine: str) -> str:
        return "\n".join(self.provisioner.console(machine))
