"""What a plan asks of the provisioner."""

from dataclasses import replace

import pytest

from assets.render import render
from cluster.install_config.platform import DISABLED, MANAGED, UNMANAGED
from cluster.plan import ClusterPlan
from cluster.values.bmc_url import parse_bmc_url
from cluster.values.role import Role
from payload.stack_payload import StackPayload
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from testing import clusters, plans

BOTH = {"externalBridge": "baremetal", "provisioningBridge": "provisioning"}
ONE = {"externalBridge": "baremetal"}


def plan(mode: str, by_network: Role | None) -> ClusterPlan:
    """Return a plan with that provisioning network, whose servers of one role boot from the network."""
    base, url = plans.plan(), parse_bmc_url("redfish://192.0.2.9/redfish/v1/Systems/1")
    provisioning = base.provisioning.changed(mode=mode, bridge="provisioning")
    hosts = tuple(
        host.changed(bmc=host.bmc.changed(url=url)) if host.role is by_network else host for host in base.hosts
    )
    return base.changed(provisioning=provisioning, hosts=hosts)


@pytest.mark.parametrize(
    ("mode", "by_network", "bridges"),
    [
        pytest.param(MANAGED, Role.CONTROL_PLANE, BOTH, id="the-vm-serves-the-control-plane"),
        pytest.param(MANAGED, Role.COMPUTE, ONE, id="the-control-plane-serves-compute"),
        pytest.param(MANAGED, None, ONE, id="virtual-cds"),
        pytest.param(UNMANAGED, Role.CONTROL_PLANE, ONE, id="the-site-serves"),
        pytest.param(DISABLED, Role.CONTROL_PLANE, ONE, id="a-bridge-that-nothing-needs"),
    ],
)
def test_the_provisioning_bridge_is_wanted_if_the_vm_has_a_card_on_it(
    mode: str, by_network: Role | None, bridges: dict[str, str]
) -> None:
    assert ProvisionerPreflightSpec.of(plan(mode, by_network), "prod", []).bridges == bridges


def test_the_payload_that_it_checks_is_that_of_the_plan() -> None:
    """The same as `okd-baremetal plan` checks: with another platform or other VIPs, one of the two would pass."""
    plan = clusters.plan("baremetal")
    paths = sorted(render(plan).paths)
    spec = ProvisionerPreflightSpec.of(plan, plans.STACK, paths)
    wanted = StackPayload.of(plan, plans.STACK, paths).expected
    assert (wanted.platform, wanted.address) == ("baremetal", "192.168.111.5")
    assert spec.stack_payload.expected == replace(wanted, values=dict(wanted.values), paths=tuple(paths))
