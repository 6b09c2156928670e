"""What `components/cluster.py` declares for one run, in its order; `tests/program` compares it with the graph."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from base.spec import Outs, Spec
from cluster.plan import ClusterPlan, Role
from providers.bmc_host.model import BmcHostOuts, BmcHostSpec
from providers.bmc_host.provider import BmcHostProvider
from providers.bootstrap_vm.model import BootstrapVmSpec, VmBase
from providers.bootstrap_vm.provider import BootstrapVmProvider
from providers.cluster_power.model import ClusterPowerSpec
from providers.cluster_power.provider import ClusterPowerProvider
from providers.host_provisioning.model import HostProvisioningSpec
from providers.host_provisioning.provider import HostProvisioningProvider
from providers.machines.model import MachinesSpec
from providers.machines.provider import MachinesProvider
from providers.network_preflight.model import NetworkPreflightSpec
from providers.network_preflight.provider import NetworkPreflightProvider
from providers.vip_handoff.model import VipHandoffSpec
from providers.vip_handoff.provider import VipHandoffProvider
from providers.vip_held.model import VipHeldSpec
from providers.vip_held.provider import VipHeldProvider
from testing import plans
from tests.simulation.site import Site, Wanted, plan_of, rendered
from tests.simulation.stack import AnyProvider, Declared
from wires.bmc.identity import MachineId

MACHINES, POWER, NETWORK, VM, API, INGRESS = "machines", "power", "network", "bootstrap", "api", "ingress"

LEFT_OUT = {
    "RenderedAsset": "writes one file of the provisioner; the files of a machine reach it by the other resources",
    "ProvisionerPreflight": "only reads, and refuses before anything is changed",
    "OkdInstalled": "only reads, once all promises have been kept",
    "ServerObjects": "has its own world, of platform baremetal: `testing/fakes/metal3.py`",
    "ClusterUpgrade": "has its own world, of one ClusterVersion: `testing/fakes/okd_release.py`",
    "DestroyGuard": "only refuses; `protect` refuses a `destroy` in a history",
}
"""The kinds of resources that no history has, and why."""


@cache
def program(site: Site, wanted: Wanted) -> tuple[Declared, ...]:
    """Return the resources of a run."""
    plan = plan_of(site.policy, wanted)
    is_production, protect = wanted.phase == "production", plan.options.protects_cluster
    before = POWER if is_production else MACHINES
    hosts = {f"{'host' if host.role else 'spare'}/{host.name}": BmcHostSpec.of(plan, host) for host in plan.hosts}
    power = _declared(POWER, ClusterPowerProvider(), ClusterPowerSpec.of(plan, plans.STACK), MACHINES)
    first = (
        _declared(MACHINES, MachinesProvider(), MachinesSpec.of(plan), protect=protect),
        *((power,) if is_production else ()),
        *(_declared(name, BmcHostProvider(), spec, before, protect=spec.protected) for name, spec in hosts.items()),
        _declared(NETWORK, NetworkPreflightProvider(), NetworkPreflightSpec.of(plan), *hosts, protect=protect),
    )
    handoff = VipHandoffSpec.of(plan, plans.STACK)
    if not is_production:
        return (
            *first,
            _declared(VM, BootstrapVmProvider(), _vm(site, plan, wanted), NETWORK, *hosts),
            _declared(API, VipHandoffProvider(), handoff, VM),
            _installed(site, plan, Role.CONTROL_PLANE, wanted, API, protect=protect),
        )
    held = VipHeldSpec.of(plan, plan.ingress.address)
    return (
        *first,
        _installed(site, plan, Role.CONTROL_PLANE, wanted, protect=protect),
        _declared(API, VipHandoffProvider(), handoff, Role.CONTROL_PLANE.value, NETWORK, protect=protect),
        *((_installed(site, plan, Role.COMPUTE, wanted, API, *hosts, protect=protect),) if plan.compute else ()),
        _declared(INGRESS, VipHeldProvider(), held, Role.COMPUTE.value if plan.compute else API, protect=protect),
    )


def _declared(name: str, provider: AnyProvider, spec: Spec, *after: str, protect: bool = False) -> Declared:
    return Declared(name, provider, lambda _: spec, after, protect)


def _vm(site: Site, plan: ClusterPlan, wanted: Wanted) -> BootstrapVmSpec:
    base = VmBase("default", site.base_volume, "", network="")
    files = rendered(site.policy, replace(wanted, phase="bootstrap")).bootstrap
    return BootstrapVmSpec.of(plan, files, base, f"{plans.PROJECT}/{plans.STACK}", plans.STACK)


def _installed(site: Site, plan: ClusterPlan, role: Role, wanted: Wanted, *after: str, protect: bool) -> Declared:
    plain = HostProvisioningSpec.of(plan, role, rendered(site.policy, wanted), plans.STACK)

    def spec(outs: Mapping[str, Outs]) -> Spec:
        identities = {}
        for name in plain.hosts:
            found = outs.get(f"host/{name}")
            if isinstance(found, BmcHostOuts):
                identities[name] = MachineId(uuid=found.uuid, serial=found.serial)
        return plain.changed(identities=identities)

    servers = (f"host/{name}" for name in plain.hosts)
    return Declared(role.value, HostProvisioningProvider(), spec, (*after, *servers), protect)
