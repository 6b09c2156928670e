"""The bootstrap VM as it shall be."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pydantic import SecretStr

from assets.file import Files
from assets.ignition import composed_sha256, own_config
from providers.base.spec import Outs, Spec

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan

BUILT_FROM = {
    *("owner", "pool", "base_volume", "bridge", "network", "mac", "disk_gib", "memory_mib", "vcpus", "emulated"),
    "ignition_sha256",
}
"""Inputs that a running VM cannot take over."""


@dataclass(frozen=True)
class VmBase:
    """What the VM is built on."""

    pool: str
    volume: str
    """The volume of the pool that its disk is laid over."""
    sha256: str
    """Of that volume; empty: it is not compared."""
    network: str
    """libvirt network over the bridge of the VM; empty: the bridge itself."""


class BootstrapVmSpec(Spec):
    """The bootstrap VM."""

    name: str
    owner: str
    """`<project>/<stack>`: the mark in libvirt's metadata without which a domain is not ours."""
    libvirt_uri: str
    pool: str
    base_volume: str
    base_sha256: str = ""
    """Empty: not compared."""
    bridge: str
    network: str = ""
    """libvirt network over that bridge; empty: the bridge directly."""
    mac: str
    disk_gib: int = 32
    memory_mib: int
    vcpus: int
    emulated: bool
    vip: str
    nodes: tuple[str, ...]
    """Addresses of the control plane: while none of them answers, the VM may be built again."""
    stack: str
    payload_sha256: str
    ignition_sha256: str
    """Of the composed Ignition config."""
    ours: SecretStr
    """Our part of it; secret, since what is composed of it is."""
    deadline_s: float
    """For the graceful end."""
    running: bool = True

    @classmethod
    def of(cls, plan: "ClusterPlan", files: Files, base: VmBase, owner: str, stack: str) -> Self:
        """The bootstrap VM of a plan, with its rendered files."""
        options, ours = plan.options, own_config(files)
        return cls(
            name=plan.bootstrap.name,
            owner=owner,
            libvirt_uri=plan.libvirt_uri,
            pool=base.pool,
            base_volume=base.volume,
            base_sha256=base.sha256,
            bridge=plan.bootstrap.bridge,
            network=base.network,
            mac=plan.bootstrap.mac,
            disk_gib=options.bootstrap.disk_gib,
            memory_mib=options.bootstrap.memory_mib,
            vcpus=options.bootstrap.vcpus,
            emulated=options.bootstrap.emulated,
            vip=str(plan.api.address),
            nodes=tuple(str(server.address) for server in plan.control_plane),
            stack=stack,
            payload_sha256=options.payload.bootstrap,
            ignition_sha256=composed_sha256(options.payload.bootstrap, ours),
            ours=SecretStr(ours),
            deadline_s=options.handoff.shutdown_s,
        )

    @property
    def build(self) -> str:
        """Digest of everything that a running VM cannot take over."""
        return hashlib.sha256(self.model_dump_json(include=BUILT_FROM).encode()).hexdigest()


class BootstrapVmOuts(Outs):
    """What was seen of it."""

    running: bool = True
    """False after `pulumi refresh` when somebody turned it off."""
