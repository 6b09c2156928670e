"""`python -m lab.site.ipmi CONFIG`: the BMCs that speak IPMI, before servers of sushy-emulator.

Protocol, sessions and boot flags are those of the fake in the tests; power and boot are the emulator's, which counts
the writes. It keeps a boot override for good, so each power-on sets one.
"""

import json
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from base.clock import SYSTEM_CLOCK, Clock
from cluster.values.address import IPV6, parse_address
from lab.site.systems import RESET, ask
from lab.twin import PASSWORD, USERNAME
from testing.fakes.ipmi.bmc import FakeIpmiBmc
from testing.fakes.ipmi.links import answer_until
from wires.bmc.client import DISABLED, HDD, NO_TARGET, UEFI, BootOverride, Identity, Power

_NONE = BootOverride(NO_TARGET, DISABLED)
_RESETS = {Power.ON: "On", Power.OFF: "ForceOff"}


@dataclass
class EmulatedServer:
    """Implements `testing.fakes.ipmi.bmc.Server`."""

    machine: Identity
    clock: Clock = SYSTEM_CLOCK
    _override: Callable[[], BootOverride] = field(default=lambda: _NONE)

    def power(self) -> Power:
        """Read the power state.

        Raises:
            OSError: The emulator does not answer.
        """
        return Power(ask("GET", self.machine.uuid)["PowerState"])

    def request_power(self, want: Power) -> None:
        """Switch the server. Its firmware boots what the flags name, and without valid ones its disk, by UEFI."""
        if self.power() is want:
            return
        if want is Power.ON:
            override = self._override()
            boots = BootOverride(HDD, mode=UEFI) if override == _NONE else override
            boot = {"BootSourceOverrideTarget": boots.target, "BootSourceOverrideMode": boots.mode}
            ask("PATCH", self.machine.uuid, body={"Boot": boot})
        ask("POST", self.machine.uuid, RESET, {"ResetType": _RESETS[want]})

    def request_shutdown(self) -> None:
        """Have its operating system shut down."""
        ask("POST", self.machine.uuid, RESET, {"ResetType": "GracefulShutdown"})

    def boot_by(self, override: Callable[[], BootOverride]) -> None:
        """Let each power-on ask for the boot override."""
        self._override = override


class LabBmc(FakeIpmiBmc[EmulatedServer]):
    """A BMC that is silent while the emulator is."""

    def answers(self, datagram: bytes) -> list[bytes]:
        """Return the answers to a datagram."""
        try:
            return super().answers(datagram)
        except OSError as error:
            print(f"{self.server.machine.serial}: {error}", flush=True)
            return []


def bmc_of(uuid: str, name: str) -> LabBmc:
    """Return the BMC of a server of the emulator."""
    server = EmulatedServer(Identity(uuid, f"LAB-{name}"))
    return LabBmc(server, users={USERNAME.encode(): PASSWORD.encode()})


def main() -> None:
    """Serve until the process is ended."""
    sockets = {}
    for server in json.loads(Path(sys.argv[1]).read_text()):
        address = parse_address(server["address"])
        family = socket.AF_INET6 if address and address.version == IPV6 else socket.AF_INET
        one = socket.socket(family, socket.SOCK_DGRAM)
        one.bind((server["address"], server["port"]))
        sockets[one] = bmc_of(server["uuid"], server["name"]).answers
    answer_until(sockets, lambda: False)


if __name__ == "__main__":
    main()
