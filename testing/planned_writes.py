"""The writes that the tables beside the providers list for one server that comes, is installed, and goes."""

from dataclasses import dataclass

from pydantic import SecretStr

from base.writes import Write
from cluster.values.role import Role
from providers.bmc_host import writes as bmc_host
from providers.bmc_host.model import BmcHostOuts, BmcHostSpec
from providers.host_provisioning import writes as host_provisioning
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec, HostSpec
from review.preview import read_preview
from review.write_plan import WritePlan
from testing import preview_steps
from wires.bmc.access import BmcAccess
from wires.bmc.identity import MachineId

ROLE = Role.CONTROL_PLANE.value


@dataclass(frozen=True)
class PlannedServer:
    """A server of the control plane.

    Args:
        name: Of the host.
        access: To its BMC.
        consent: UUID or serial that its consent names.
        node: Address of its node.
    """

    name: str
    access: BmcAccess
    consent: str
    node: str

    @property
    def host(self) -> BmcHostSpec:
        """The inputs of its `BmcHost`."""
        return BmcHostSpec(host=self.name, bmc=self.access, password=SecretStr(""), consent=self.consent)

    @property
    def installed(self) -> HostProvisioningSpec:
        """The inputs of its `HostProvisioning`."""
        return HostProvisioningSpec(
            role=Role.CONTROL_PLANE,
            hosts={self.name: HostSpec(bmc=self.access, address=self.node, root_device={})},
            passwords={self.name: SecretStr("")},
            media_port=0,
            base_iso_sha256="",
            ignition_sha256={},
            identities={self.name: MachineId(uuid=self.consent)},
            payload_sha256="",
            stack="lab",
            api_name="api.okd.lab.test",
        )

    def writes(self, outs: BmcHostOuts) -> set[Write]:
        """Return what is planned for all of its life; `outs` has how it was found."""
        return {
            *bmc_host.planned(None, BmcHostOuts(), self.host),
            *host_provisioning.planned(None, HostProvisioningOuts(), self.installed, ()),
            *bmc_host.planned(self.host, outs, None),
        }

    def write_plan(self) -> WritePlan:
        """Return the write plan of the update that takes it over, and installs it."""
        steps = (preview_steps.step("create", name, new=spec) for name, spec in self._resources())
        return WritePlan.of(read_preview(preview_steps.preview(*steps), "a preview"))

    def _resources(self) -> tuple[tuple[str, BmcHostSpec], tuple[str, HostProvisioningSpec]]:
        return (self.name, self.host), (ROLE, self.installed)


def urn(kind: str, name: str) -> str:
    """Return the URN of a resource of a write plan."""
    urn: str = preview_steps.step_of("create", kind, name, None, {})["urn"]
    return urn
