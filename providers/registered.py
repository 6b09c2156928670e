"""The machines of the stack's hosts, in this process: `BmcHost` switches no machine off that is another host now.

A removal may fail, and its machine be added under another name before Pulumi repeats the deletion.
"""

from collections.abc import Mapping

from wires.bmc.client import Identity
from wires.bmc.identity import MachineId, is_one_machine

MACHINES: dict[str, MachineId] = {}
"""By host, as `Machines` has it. A run of Pulumi has one process for all resources, and deletes last."""


def register(machines: Mapping[str, MachineId]) -> None:
    """Take these machines for those of the stack's hosts."""
    MACHINES.clear()
    MACHINES.update(machines)


def other_host(host: str, machine: Identity) -> str | None:
    """Return a host other than `host` that is this machine."""
    return next((it for it, own in MACHINES.items() if it != host and is_one_machine(own.identity, machine)), None)
