"""One server behind its BMC: what is wanted of it, and what it reports."""

from typing import TYPE_CHECKING, Self

from pydantic import SecretStr

from providers.base.spec import Outs, Spec
from wires.redfish.access import BmcAccess
from wires.redfish.bmc import BootOverride, Identity

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan, Server


class BmcHostSpec(Spec):
    """One server behind its BMC."""

    host: str
    """Name in the install-config."""
    bmc: BmcAccess
    password: SecretStr
    consent: str
    """System UUID or serial of the machine whose disk may be wiped; empty fails the preview."""
    deadline_s: float = 300
    """Time for the BMC to answer and to reach a state, in seconds."""
    running: bool = False
    """True: create records the server and leaves it running (a cluster whose state was lost)."""

    @classmethod
    def of(cls, plan: "ClusterPlan", server: "Server") -> Self:
        """One server of a plan."""
        options = plan.options
        return cls(
            host=server.name,
            bmc=BmcAccess.of(plan.options, server, ca=plan.bmc_ca),
            password=server.bmc.password,
            consent=options.consent[server.name],
            deadline_s=options.deadlines.bmc_s,
            running=options.import_production,
        )


class AsFound(Outs):
    """How a server was found."""

    override: BootOverride = BootOverride()
    media: str = ""
    """The image in its virtual CD drive; empty: none."""


class BmcHostOuts(Outs):
    """The machine as its BMC reports it."""

    uuid: str = ""
    serial: str = ""
    model: str = ""
    manufacturer: str = ""
    bios_version: str = ""
    bmc_version: str = ""
    found: AsFound = AsFound()
    """As found before anything was changed."""

    @property
    def identity(self) -> Identity:
        """The machine that the state has."""
        return Identity(self.uuid, self.serial, self.model, self.manufacturer)
