"""What a plan asks of the provisioner."""

import pytest

from cluster.install_config.platform import DISABLED, MANAGED, UNMANAGED
from cluster.plan import ClusterPlan
from cluster.values.bmc_url import parse_bmc_url
from cluster.values.role import Role
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from testing import plans

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
