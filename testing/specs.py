"""The specs of all resources of a cluster, made from its plan as the graph makes them; and specs that differ."""

import importlib
import pkgutil
from typing import Any

import providers
from assets.render import render
from base.spec import Spec
from cluster.options import Release
from cluster.plan import ClusterPlan, Role
from providers.bmc_host.model import BmcHostSpec
from providers.bootstrap_vm.model import BootstrapVmSpec, VmBase
from providers.cluster_upgrade.model import ClusterUpgradeSpec
from providers.destroy_guard.model import DestroyGuardSpec
from providers.host_provisioning.model import HostProvisioningSpec
from providers.machines.model import MachinesSpec
from providers.network_preflight.model import NetworkPreflightSpec
from providers.okd_installed.model import OkdInstalledSpec
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.pulumi.dynamic import Provider
from providers.rendered_asset.model import RenderedAssetSpec
from providers.server_objects.model import ServerObjectsSpec
from providers.vip_handoff.model import VipHandoffSpec
from providers.vip_held.model import VipHeldSpec

STACK = "prod"
RELEASE = Release(version="4.21.3", image=f"quay.io/okd/scos-release@sha256:{'5e' * 32}")
VM_BASE = VmBase(pool="default", volume="base.qcow2", sha256="b5" * 32, network="net", provisioning="pxe")


def provider_classes() -> list[type[Provider[Any, Any]]]:
    """Return the provider of every resource."""
    for module in pkgutil.walk_packages(providers.__path__, "providers."):
        importlib.import_module(module.name)
    return [provider for provider in Provider.__subclasses__() if provider.__module__.startswith("providers.")]


def specs_of(plan: ClusterPlan) -> list[Spec]:
    """Return the specs of all resources of both phases."""
    rendered = render(plan)
    return [
        ProvisionerPreflightSpec.of(plan, STACK, rendered.paths),
        *(RenderedAssetSpec.of(file) for files in rendered.folders.values() for file in files),
        MachinesSpec.of(plan),
        *(BmcHostSpec.of(plan, host) for host in (*plan.servers, *plan.spares)),
        NetworkPreflightSpec.of(plan),
        BootstrapVmSpec.of(plan, rendered.bootstrap, VM_BASE, f"okd-baremetal/{STACK}", STACK),
        VipHandoffSpec.of(plan, STACK),
        *(HostProvisioningSpec.of(plan, role, rendered, STACK) for role in Role if plan.of(role)),
        *(VipHeldSpec.of(plan, vip) for vip in plan.ingress.addresses),
        OkdInstalledSpec.of(plan, STACK),
        ServerObjectsSpec.of(plan, STACK),
        ClusterUpgradeSpec.of(plan, STACK, plan.options.upgrade or RELEASE),
        DestroyGuardSpec.of(plan),
    ]
