"""Inputs and outputs of `BootstrapVm`."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, SecretStr

from assets.file import Files
from assets.ignition import composed_sha256, own_config
from base.spec import MACHINE, REPLACES, Mark, Model, Outs, Spec, marked_fields
from cluster.values.balancer import Balancer

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan

BUILT_FROM = Mark("an input whose change needs a new VM")


@dataclass(frozen=True)
class VmBase:
    """The libvirt objects that the VM is built on."""

    pool: str
    volume: str
    """Volume of the pool that the VM's disk is an overlay of."""
    sha256: str
    """Digest of that volume; if empty, it is not compared."""
    network: str
    """libvirt network over the VM's bridge; if empty, the VM uses the bridge directly."""
    provisioning: str = ""
    """The same over the bridge of the provisioning network."""
    pool_path: str | None = None
    """The folder of a pool that the stack makes itself. None: the pool is the operator's."""


class ProvisioningCard(Model):
    """The VM's card on the provisioning network."""

    mac: str
    bridge: str
    network: str
    """libvirt network over that bridge; if empty, the VM uses the bridge directly."""


class BootstrapVmSpec(Spec):
    """The bootstrap VM."""

    name: Annotated[str, REPLACES, MACHINE]
    owner: Annotated[str, BUILT_FROM]
    """`<project>/<stack>`, as the domain's metadata in libvirt records it."""
    libvirt_uri: Annotated[str, REPLACES]
    pool: Annotated[str, REPLACES, BUILT_FROM]
    pool_path: str | None = None
    """The folder of a pool that the stack makes itself. None: the pool is the operator's."""
    base_volume: Annotated[str, BUILT_FROM]
    base_sha256: str = ""
    """Digest of the base volume; if empty, it is not compared."""
    bridge: Annotated[str, BUILT_FROM]
    network: Annotated[str, BUILT_FROM] = ""
    """libvirt network over that bridge; if empty, the VM uses the bridge directly."""
    mac: Annotated[str, BUILT_FROM]
    provisioning: Annotated[ProvisioningCard | None, BUILT_FROM] = None
    """None: nothing of the control plane boots from the network."""
    disk_gib: Annotated[int, BUILT_FROM] = 32
    memory_mib: Annotated[int, BUILT_FROM]
    vcpus: Annotated[int, BUILT_FROM]
    emulated: Annotated[bool, BUILT_FROM]
    balancer: Balancer = Balancer.CLUSTER
    vip: str
    """The address that only this VM may have before the handoff: the API VIP; its own where the site balances."""
    address: str = ""
    """Its own address; empty in a state of an earlier release."""
    nodes: tuple[str, ...]
    """Addresses of the control plane; the VM may be rebuilt while none of them answers."""
    stack: str
    payload_sha256: str
    ignition_sha256: Annotated[str, BUILT_FROM]
    """Digest of the composed Ignition config."""
    own_ignition: SecretStr = Field(alias="ours")
    """This program's part of the Ignition config; secret, because the composed config is."""
    deadline_s: float
    """Time for a graceful shutdown, in seconds."""
    running: bool = True

    @classmethod
    def of(cls, plan: "ClusterPlan", files: Files, base: VmBase, owner: str, stack: str) -> Self:
        """Build the spec of a plan's bootstrap VM, with its rendered files."""
        options, own_ignition = plan.options, own_config(files)
        return cls(
            name=plan.bootstrap.name,
            owner=owner,
            libvirt_uri=plan.libvirt_uri,
            pool=base.pool,
            pool_path=base.pool_path,
            base_volume=base.volume,
            base_sha256=base.sha256,
            bridge=plan.bootstrap.bridge,
            network=base.network,
            mac=plan.bootstrap.mac,
            provisioning=_provisioning_card(plan, base),
            disk_gib=options.bootstrap.disk_gib,
            memory_mib=options.bootstrap.memory_mib,
            vcpus=options.bootstrap.vcpus,
            emulated=options.bootstrap.emulated,
            balancer=plan.balancer,
            vip=str(plan.bootstrap.address if plan.balancer is Balancer.SITE else plan.api.address),
            address=str(plan.bootstrap.address),
            nodes=tuple(str(server.address) for server in plan.control_plane),
            stack=stack,
            payload_sha256=options.payload.bootstrap,
            ignition_sha256=composed_sha256(options.payload.bootstrap, own_ignition),
            own_ignition=SecretStr(own_ignition),
            deadline_s=options.handoff.shutdown_s,
        )

    @property
    def disk_volume(self) -> str:
        """Name of the volume with its disk."""
        return f"{self.name}.qcow2"

    @property
    def ignition_volume(self) -> str:
        """Name of the volume with its Ignition config."""
        return f"{self.name}.ign"

    @property
    def volumes(self) -> tuple[str, ...]:
        """Names of its own volumes."""
        return self.disk_volume, self.ignition_volume

    @property
    def claim(self) -> str:
        """What `vip` is, for messages."""
        return "address of the bootstrap VM" if self.balancer is Balancer.SITE else "API VIP"

    def is_another(self, old: Self) -> bool:
        """Return whether a change from `old` builds a VM with a disk of its own."""
        replaced = any(getattr(self, it) != getattr(old, it) for it in marked_fields(type(self), REPLACES))
        return replaced or self.build != old.build

    @property
    def build(self) -> str:
        """Digest of the inputs whose change needs a new VM. What is None is left out, as in earlier releases."""
        inputs = self.model_dump_json(include={*marked_fields(type(self), BUILT_FROM)}, exclude_none=True)
        return hashlib.sha256(inputs.encode()).hexdigest()


def _provisioning_card(plan: "ClusterPlan", base: VmBase) -> ProvisioningCard | None:
    """Return the card by which the VM serves network boot."""
    own = plan.provisioning
    if not (plan.clients_of_bootstrap and own.mac and own.bridge):
        return None
    return ProvisioningCard(mac=own.mac, bridge=own.bridge, network=base.provisioning)


class BootstrapVmOuts(Outs):
    """The VM as libvirt reports it."""

    running: bool = True
    """False if it was off, or gone, at the last `pulumi refresh`."""
