"""The provisioner's long-lived libvirt objects: storage pool, the bootstrap's base volume, bridge networks."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from boot_media.base_image import base_path
from cluster.options import BaseImage
from cluster.plan import ClusterPlan
from components.component import Component
from providers.bootstrap_vm.model import VmBase

BAREMETAL, PROVISIONING = "baremetal", "provisioning"
"""Names of the libvirt networks."""


@dataclass(frozen=True)
class ProvisionerArgs:
    """Inputs of `Provisioner`."""

    plan: ClusterPlan
    after: Sequence[pulumi.Resource]
    """Resources that must exist before the first connection to libvirt."""
    before_upload: pulumi.ResourceHookBinding | None = None
    """Hooks of the base volume, which has its image from them."""


class Provisioner(Component):
    """The base of the bootstrap VM, declared in both phases because it outlives the VM.

    With `provisioner.manage: true`, pulumi-libvirt creates it. Otherwise the operator has, and nothing is declared.
    """

    base: VmBase

    def __init__(self, name: str, args: ProvisionerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("provisioner", name, opts)
        options, image = args.plan.options, args.plan.options.provisioner.base_image
        if options.provisioner.manage and image:
            objects = (BAREMETAL, PROVISIONING, options.provisioner.pool_path)
            self.base = VmBase(options.bootstrap.pool, image.volume(args.plan.name), image.sha256, *objects)
            self._manage(args, image)
        else:
            vm = options.bootstrap
            self.base = VmBase(vm.pool, vm.base_volume, vm.base_sha256, network="")
        self.register_outputs({})

    def _manage(self, args: ProvisionerArgs, image: BaseImage) -> None:
        # Imported only on request: the package is no longer maintained.
        import pulumi_libvirt as libvirt  # noqa: PLC0415

        plan, options = args.plan, args.plan.options
        # Another image replaces the volume, also in production.
        first = pulumi.ResourceOptions(parent=self, protect=False, depends_on=[*args.after])
        provider = libvirt.Provider(self.name, uri=plan.libvirt_uri, opts=first)
        # libvirt cannot have two objects of one name, so the old one goes first.
        child = pulumi.ResourceOptions(parent=self, protect=False, provider=provider, delete_before_replace=True)
        pool = libvirt.Pool(
            f"{self.name}-pool",
            name=self.base.pool,
            type="dir",
            target=libvirt.PoolTargetArgs(path=options.provisioner.pool_path),
            opts=child,
        )
        # The volume's name contains the image's digest. Another image is therefore another resource, and Pulumi
        # deletes the old volume only after the VM has left it. A changed `source` of the same image is ignored:
        # replacing the volume would remove it from under the VM. An upload that failed is the exception, which the
        # engine calls "#initerror": the plugin cannot update a volume, and the stack would stay where it is.
        lifecycle = pulumi.ResourceOptions(
            ignore_changes=["source"], replace_on_changes=["#initerror"], hooks=args.before_upload
        )
        libvirt.Volume(
            self.base.volume,
            name=self.base.volume,
            pool=pool.name,
            # The hook has fetched a URL: an upload that is cut off would hang the plugin.
            source=image.source if image.is_local else str(base_path(image.sha256)),
            format="qcow2",
            opts=pulumi.ResourceOptions.merge(child, lifecycle),
        )
        for name, bridge in _bridges(plan).items():
            libvirt.Network(
                f"{self.name}-{name}", name=name, mode="bridge", bridge=bridge, autostart=True, opts=child
            )


def _bridges(plan: ClusterPlan) -> dict[str, str | None]:
    """Return the bridges that the bootstrap VM has a card on, by the names of their libvirt networks."""
    bridges: dict[str, str | None] = {BAREMETAL: plan.bootstrap.bridge}
    if plan.clients_of_bootstrap:
        bridges[PROVISIONING] = plan.provisioning.bridge
    return bridges
