"""Which addresses of a plan go into the spec of each resource, of a cluster with two IP families."""

from collections import defaultdict
from collections.abc import Iterable

import pytest

from cluster.plan import Role
from cluster.values.address import Address
from providers.network_preflight.model import NetworkPreflightSpec
from providers.vip_held.model import VipHeldSpec
from testing import clusters
from testing.specs import specs_of

DUAL = clusters.plan("dual-stack")
MACHINES: dict[str, list[tuple[Address, ...]]] = {
    "API VIP": [DUAL.api.addresses],
    "Ingress VIP": [DUAL.ingress.addresses],
    "bootstrap": [DUAL.bootstrap.addresses],
    "control plane": [server.addresses for server in DUAL.control_plane],
    "compute": [server.addresses for server in DUAL.compute],
}
SPECS: dict[str, dict[str, str]] = {
    "NetworkPreflightSpec": dict.fromkeys(MACHINES, "all"),
    "ClusterPowerSpec": {"API VIP": "all", "Ingress VIP": "all", "control plane": "all", "compute": "all"},
    "MachinesSpec": {"control plane": "first", "compute": "first"},
    "HostProvisioningSpec": {"API VIP": "first", "bootstrap": "all", "control plane": "all", "compute": "all"},
    "VipHandoffSpec": {"API VIP": "all", "bootstrap": "first", "control plane": "first"},
    "VipHeldSpec": {"Ingress VIP": "all", "compute": "all"},
    "BootstrapVmSpec": {"API VIP": "first", "bootstrap": "first", "control plane": "first"},
    "OkdInstalledSpec": {"API VIP": "first"},
    "ClusterUpgradeSpec": {"API VIP": "first"},
    "ServerObjectsSpec": {"API VIP": "first", "control plane": "all"},
}
"""The machines whose addresses are in a spec. The first one suffices to ask a machine; proofs need all."""


def known(text: str, machines: Iterable[tuple[Address, ...]]) -> str | None:
    """Return which addresses of each machine are in a spec; None if none are."""
    (found,) = {tuple(f'"{address}"' in text for address in addresses) for addresses in machines}
    return "all" if all(found) else "first" if found[0] else None


def test_each_spec_has_the_addresses_of_both_families_where_it_needs_them() -> None:
    texts = defaultdict[str, str](str)
    for spec in specs_of(DUAL):
        texts[type(spec).__name__] += spec.model_dump_json()
    found = {
        name: {who: which for who, machines in MACHINES.items() if (which := known(text, machines))}
        for name, text in texts.items()
    }
    assert {name: of_spec for name, of_spec in found.items() if of_spec} == SPECS


@pytest.mark.parametrize(("cluster", "role"), [("dual-stack", Role.COMPUTE), ("compact", Role.CONTROL_PLANE)])
def test_the_ingress_vip_is_held_by_the_servers_that_run_its_routers(cluster: str, role: Role) -> None:
    plan = clusters.plan(cluster)
    servers = {server.name for server in plan.of(role)}
    assert NetworkPreflightSpec.of(plan).ingress.holders.keys() == servers
    assert VipHeldSpec.of(plan, plan.ingress.address).nodes.keys() == servers
