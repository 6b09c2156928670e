"""Inputs and outputs of `BmcHost`."""

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import SecretStr

from base.spec import MACHINE, REPLACES, Outs, Spec
from cluster.values.role import Role
from wires.bmc.access import BmcAccess
from wires.bmc.client import BootOverride, Identity

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan
    from cluster.plan.model import PlannedHost


class BmcHostSpec(Spec):
    """One server behind its BMC."""

    host: Annotated[str, REPLACES, MACHINE]
    """Name in the install-config."""
    bmc: BmcAccess
    password: SecretStr
    consent: str
    """System UUID or serial of the one machine whose disk may be wiped; an empty one fails the preview. A spare needs
    none."""
    deadline_s: float = 300
    """Time for each step of the BMC, in seconds."""
    running: bool = False
    """If true, create records the server and leaves it running: it belongs to a cluster whose state was lost."""
    protected: bool = False
    """If true, delete refuses to switch the server off, also where `--ignore-protect` passes Pulumi's own refusal."""
    fenced: bool = False
    """If true, another server switches this one on when it finds it off: see that it stays off."""
    spare: bool = False
    """If true, each update and refresh only records the host again; nothing on it is ever changed."""

    def asks_since(self, old: Self) -> bool:
        """Return whether an update from `old` asks the BMC; changed protection, or a moved login, does not."""
        before = self.changed(protected=old.protected, bmc=self.bmc.changed(login=old.bmc.login))
        return self == old or before != old

    @classmethod
    def of(cls, plan: "ClusterPlan", host: "PlannedHost") -> Self:
        """Build the spec of one host of a plan."""
        options, spare = plan.options, host.role is None
        return cls(
            host=host.name,
            bmc=BmcAccess.of(plan.options, host, ca=plan.bmc_ca),
            password=host.bmc.password,
            consent="" if spare else options.consent[host.name],
            deadline_s=options.deadlines.bmc_s,
            protected=options.protects_cluster and host.role is not None and host.role.holds_etcd,
            running=options.import_production and not spare,
            fenced=plan.is_fenced and host.role is Role.CONTROL_PLANE,
            spare=spare,
        )


class AsFound(Outs):
    """The boot override, media and Secure Boot of a server before this program changed anything."""

    override: BootOverride = BootOverride()
    media: str = ""
    """Image in its virtual CD drives, without the digest of a boot ISO; empty if none."""
    secure_boot: str = ""
    """Secure Boot, `on` or `off`. Empty: it was not read, because the host does not want it."""


class BmcHostOuts(Outs):
    """The machine as its BMC reports it."""

    uuid: str = ""
    """System UUID, in lower case; a reinstallation keeps it."""
    serial: str = ""
    model: str = ""
    manufacturer: str = ""
    bios_version: str = ""
    """Firmware version of the system."""
    bmc_version: str = ""
    """Firmware version of the BMC."""
    found: AsFound = AsFound()

    @property
    def identity(self) -> Identity:
        """The machine in the state."""
        return Identity(self.uuid, self.serial, self.model, self.manufacturer)
