"""What an installation is given: its host, and everything outside the engine that it uses."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from base.clock import Clock
from base.errors import Fault
from base.progress import Report
from providers.host_provisioning.installation.boot_procedures import BootMedia, BootProcedure
from providers.host_provisioning.installation.evidence import Evidence
from wires.bmc.client import BmcClient
from wires.bmc.steps import Waits


@dataclass(frozen=True)
class Target:
    """One host to install.

    Args:
        name: Name in the install-config.
        uuid: Identity that the BMC must report, a UUID or serial; if empty, any machine is accepted.
        address: Address at which the installed system answers.
        reinstall: Install the host even if it runs from its disk.
        untouchable: Why it may only be adopted; None if it may be installed.
    """

    name: str
    uuid: str
    address: str
    reinstall: bool = False
    untouchable: Fault | None = None


Missing = Callable[[Target], str | None]
"""Returns what the installed system lacks to be up; None if it is up."""


@dataclass(frozen=True)
class Adapters:
    """Everything outside the engine that an installation uses.

    Args:
        boot_procedure: How the server gets to its boot ISO.
        missing: Reads what the installed system lacks.
        guard: Lock on the server, held during the whole installation.
        take_out: Takes the server, which is off, out of the cluster before it is wiped; None if it has no part in it.
    """

    bmc: BmcClient
    clock: Clock
    media: BootMedia
    boot_procedure: BootProcedure
    missing: Missing
    report: Report
    guard: AbstractContextManager[None]
    evidence: Evidence
    take_out: Callable[[], Waits] | None = None
