"""What a preview refuses of a change to a cluster in production, by the providers themselves."""

from collections.abc import Iterator
from typing import Any

from assets.render import Rendered, render
from base.errors import ConfigError
from base.spec import Outs, Spec
from cluster.plan import ClusterPlan, Role
from providers.host_provisioning.model import HostProvisioningSpec
from providers.host_provisioning.provider import HostProvisioningProvider
from providers.machines.model import HostMachine, MachinesOuts, MachinesSpec
from providers.machines.provider import MachinesProvider
from providers.network_preflight.model import NetworkPreflightOuts, NetworkPreflightSpec
from providers.network_preflight.provider import NetworkPreflightProvider
from providers.provisioner_preflight.model import ProvisionerPreflightOuts, ProvisionerPreflightSpec
from providers.provisioner_preflight.provider import ProvisionerPreflightProvider
from providers.pulumi.dynamic import Provider
from providers.vip_handoff.model import VipHandoffOuts
from providers.vip_handoff.provider import VipHandoffProvider
from testing import plans
from testing.preview_steps import handoff, records
from wires.bmc.identity import MachineId

Resource = tuple[Provider[Any, Any], Spec, Outs]


def refusals(before: ClusterPlan, after: ClusterPlan) -> list[str]:
    """Return the faults of a change; all servers of the plan before it are installed."""
    old, new = _resources(before), _resources(after)
    return [line for name in old if name in new for line in _refused(old[name], new[name])]


def _resources(plan: ClusterPlan) -> dict[str, Resource]:
    machines = {host: HostMachine(uuid=machine) for host, machine in plan.options.consent.items()}
    rendered = render(plan)
    preflight = ProvisionerPreflightSpec.of(plan, plans.STACK, rendered.paths)
    provisioner: Provider[Any, Any] = ProvisionerPreflightProvider()
    return {
        "preflight": (provisioner, preflight, ProvisionerPreflightOuts()),
        "machines": (MachinesProvider(), MachinesSpec.of(plan), MachinesOuts(machines=machines)),
        "network": (NetworkPreflightProvider(), NetworkPreflightSpec.of(plan), NetworkPreflightOuts()),
        "api": (VipHandoffProvider(), handoff(plan), VipHandoffOuts()),
        **{role.value: _installation(plan, role, rendered) for role in Role if plan.of(role)},
    }


def _installation(plan: ClusterPlan, role: Role, rendered: Rendered) -> Resource:
    spec = HostProvisioningSpec.of(plan, role, rendered, plans.STACK)
    identities = {host: MachineId(uuid=plan.options.consent[host]) for host in spec.hosts}
    return HostProvisioningProvider(), spec.changed(identities=identities), records(plan, *spec.hosts)


def _refused(old: Resource, new: Resource) -> Iterator[str]:
    provider, before, outs = old
    _, after, _ = new
    yield from map(str, provider._faults(before, after))
    try:
        provider._plan(before, outs, after)
    except ConfigError as error:
        yield from str(error).splitlines()
