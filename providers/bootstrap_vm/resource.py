"""`BootstrapVm`: domain, overlay disk and Ignition volume of the machine that starts a cluster."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi.dynamic import Resource

from providers.bootstrap_vm.provider import BootstrapVmProvider


@dataclass(frozen=True, kw_only=True)
class BootstrapVmArgs:
    """Inputs of `BootstrapVm`."""

    name: str
    owner: str
    """`<project>/<stack>`, the mark in libvirt's metadata without which a domain is not ours."""
    libvirt_uri: str
    pool: pulumi.Input[str]
    base_volume: pulumi.Input[str]
    base_sha256: str
    """Empty: not compared."""
    bridge: str
    network: pulumi.Input[str]
    """libvirt network over that bridge; empty: the bridge directly."""
    mac: str
    disk_gib: int
    memory_mib: int
    vcpus: int
    emulated: bool
    vip: str
    nodes: Sequence[str]
    """Addresses of the control plane: while none of them answers, the VM may be built again."""
    stack: str
    payload_sha256: str
    ignition_sha256: str
    ours: pulumi.Input[str]
    """Our Ignition config; secret, since what is composed of it is."""
    deadline_s: float
    """For the graceful end."""
    urn: pulumi.Input[str]
    running: bool = True


class BootstrapVm(Resource, module="baremetal", name="BootstrapVm"):
    """The bootstrap VM, started and running."""

    running: pulumi.Output[bool]
    """False after `pulumi refresh` when somebody turned it off."""

    def __init__(self, name: str, args: BootstrapVmArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(BootstrapVmProvider(), name, {**vars(args)}, opts)
