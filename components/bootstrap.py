"""The bootstrap: its files and its VM. It is declared in phase `bootstrap` alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from assets.ignition import composed_sha256, own_config
from assets.render import render_bootstrap
from cluster.plan import ClusterPlan
from components.assets import rendered
from components.component import Component
from components.provisioner import Provisioner
from providers.bootstrap_vm.resource import BootstrapVm, BootstrapVmArgs


@dataclass(frozen=True)
class BootstrapArgs:
    """Inputs of `Bootstrap`."""

    plan: ClusterPlan
    provisioner: Provisioner


class Bootstrap(Component):
    """Files and VM of the bootstrap."""

    def __init__(self, name: str, args: BootstrapArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("baremetal:bootstrap:Bootstrap", name, opts)
        self.plan, self.provisioner = args.plan, args.provisioner
        self.files = render_bootstrap(args.plan)
        self.assets = rendered(name, self.files, pulumi.ResourceOptions(parent=self))
        self.register_outputs({})

    def start(self, after: Sequence[pulumi.Resource]) -> BootstrapVm:
        """Start the VM. Nothing runs before every server was identified and consented to: hence `after`."""
        plan, options = self.plan, self.plan.options
        ours = own_config(self.files)
        args = BootstrapVmArgs(
            name=plan.bootstrap.name,
            owner=f"{pulumi.get_project()}/{pulumi.get_stack()}",
            libvirt_uri=plan.libvirt_uri,
            pool=self.provisioner.pool,
            base_volume=self.provisioner.base_volume,
            base_sha256=self.provisioner.base_sha256,
            bridge=plan.bootstrap.bridge,
            network=self.provisioner.network,
            mac=plan.bootstrap.mac,
            disk_gib=options.bootstrap.disk_gib,
            memory_mib=options.bootstrap.memory_mib,
            vcpus=options.bootstrap.vcpus,
            emulated=options.bootstrap.emulated,
            vip=str(plan.api.address),
            nodes=[str(server.address) for server in plan.control_plane],
            stack=pulumi.get_stack(),
            payload_sha256=options.payload.bootstrap,
            ignition_sha256=composed_sha256(options.payload.bootstrap, ours),
            ours=pulumi.Output.secret(ours),
            deadline_s=options.handoff.shutdown_s,
            urn=self.urn_of(BootstrapVm, self.name),
        )
        return BootstrapVm(self.name, args, pulumi.ResourceOptions(parent=self, depends_on=[*self.assets, *after]))
