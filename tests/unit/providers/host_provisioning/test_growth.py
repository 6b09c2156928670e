"""A cluster that grows: which servers its installed ones hear, by the files that both are rendered from."""

import pytest

from assets.render import render
from cluster.plan import ClusterPlan, Role
from cluster.plan.model import PlannedHost
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec, InstallationRecord
from providers.host_provisioning.records import InstallationPlan, planned_faults
from testing import clusters, plans

ADDED = clusters.SPARES[0]


def spec(plan: ClusterPlan, role: Role = Role.CONTROL_PLANE) -> HostProvisioningSpec:
    return HostProvisioningSpec.of(plan, role, render(plan), "prod")


def faults(before: ClusterPlan, after: ClusterPlan, role: Role = Role.CONTROL_PLANE) -> list[str]:
    """Return what a preview says against one plan after an installation by another one."""
    old, new = spec(before, role), spec(after, role)
    installed = {name: InstallationRecord(uuid=name, iso_sha256="ab", at="") for name in old.hosts}
    plan = InstallationPlan.of(old, HostProvisioningOuts(installed=installed, installed_vrrp=old.vrrp), new)
    return [fault.what for fault in planned_faults(plan, old, new)]


def first_of(plan: ClusterPlan) -> ClusterPlan:
    """Return a plan without the second spare of the control plane."""
    return plan.changed(hosts=tuple(host for host in plan.hosts if host.name != clusters.SPARES[1]))


@pytest.mark.parametrize("options", [{}, {"vrrp": {"api": "multicast"}}], ids=["unicast", "multicast"])
def test_a_spare_that_was_planned_joins(options: dict[str, object]) -> None:
    before = first_of(clusters.plan("spares", **options))
    assert faults(before, clusters.grown(before)) == []


def test_two_planned_spares_join_a_control_plane_of_one() -> None:
    before = clusters.plan("single", phase="production", snapshots="/saved")
    assert faults(before, clusters.grown(before)) == []


@pytest.mark.parametrize("planned", [0, 1])
def test_spares_that_one_server_was_not_installed_with_are_refused_by_name(planned: int) -> None:
    after = clusters.grown(plan := clusters.plan("single", phase="production", snapshots="/saved"))
    before = plan.changed(hosts=plan.hosts[: 1 + planned])
    assert faults(before, after) == [
        f"{name}: not listed as a VRRP peer (unicast) by okd-master-0, so two hosts would claim a VIP"
        for name in plans.HOSTS[1 + planned : 3]
    ]


def test_the_fix_wipes_no_server_with_the_only_member_of_etcd() -> None:
    """Found by simulation (seed 50111): it was adopted after a killed run, so nobody knows what its files list."""
    after = clusters.grown(before := clusters.plan("single", phase="production", snapshots="/saved"))
    old, new = spec(before), spec(after)
    installed = {name: InstallationRecord(uuid=name, iso_sha256="", at="") for name in old.hosts}
    found = planned_faults(InstallationPlan.of(old, HostProvisioningOuts(installed=installed), new), old, new)
    assert ["set controlPlane.replicas back to 1, " in fault.fix for fault in found] == [True, True]


def test_a_server_that_was_not_planned_is_refused_by_name() -> None:
    before = plans.plan()
    after = first_of(plans.five_masters(before))
    servers = " and ".join(plans.HOSTS[:3])
    assert faults(before, after) == [
        f"{ADDED}: not listed as a VRRP peer (unicast) by {servers}, so two hosts would claim a VIP"
    ]


def test_a_spare_with_another_address_than_at_the_installation_is_refused() -> None:
    before = first_of(clusters.plan("spares"))
    moved = tuple(
        host.changed(addresses=plans.five_masters(before).control_plane[-1].addresses) if host.name == ADDED else host
        for host in before.hosts
    )
    (fault,) = faults(before, clusters.grown(before.changed(hosts=moved)))
    assert fault.startswith(f"{ADDED}: not listed as a VRRP peer (unicast) by okd-master-0 and ")


def test_a_server_in_front_of_installed_ones_is_refused() -> None:
    before = first_of(clusters.plan("spares"))
    grown = clusters.grown(before)
    after = grown.changed(hosts=(grown.hosts[-1], *grown.hosts[:-1]))
    assert faults(before, after) == [
        f"{ADDED}: its priority for the API VIP would be that of okd-master-0, which is installed"
    ]


def test_spares_of_compute_join_by_unicast_too() -> None:
    before = clusters.plan("spares", vrrp={"ingress": "unicast"})
    after = plans.plan(vrrp={"ingress": "unicast"})
    assert faults(before, after, Role.COMPUTE) == []


def test_a_spare_needs_an_address_of_each_family() -> None:
    plan = clusters.plan("dual-stack")
    both = plan.control_plane[-1].addresses
    for addresses, listed in ((both, True), (both[:1], False), (both[1:], False), ((), False)):
        last = plan.control_plane[-1].model_dump() | {"role": None, "spare_of": Role.CONTROL_PLANE}
        spare = PlannedHost.model_validate({**last, "addresses": addresses})
        hosts = tuple(spare if host.name == spare.name else host for host in plan.hosts)
        assert (spare in plan.changed(hosts=hosts).claimants(Role.CONTROL_PLANE)) is listed
