"""What of a plan the preflight probes."""

import pytest

from cluster.plan import ClusterPlan
from cluster.values.bmc_url import parse_bmc_url
from cluster.values.phase import Phase
from providers.network_preflight.model import Mode, NetworkPreflightOuts, NetworkPreflightSpec, ProvisioningSegment
from providers.network_preflight.provider import NetworkPreflightProvider
from testing import plans


def plan(mode: str, *from_the_network: str) -> ClusterPlan:
    """Return a plan with a provisioning network, from which some servers boot; such a file is refused today."""
    base = plans.plan()
    network = base.provisioning.changed(mode=mode, bridge="pxe0")
    url = parse_bmc_url("redfish+https://192.0.2.9/redfish/v1/Systems/1")
    hosts = tuple(
        host.changed(bmc=host.bmc.changed(url=url)) if host.name in from_the_network else host for host in base.hosts
    )
    return base.changed(provisioning=network, hosts=hosts)


@pytest.mark.parametrize("mode", ["Managed", "Unmanaged"])
def test_dhcp_is_probed_for_the_servers_that_boot_from_the_network(mode: Mode) -> None:
    first, _, third = (server.boot_mac for server in plans.plan().control_plane)
    segment = NetworkPreflightSpec.of(plan(mode, "okd-master-2", "okd-master-0")).provisioning
    assert segment == ProvisioningSegment(mode=mode, bridge="pxe0", macs=(first, third))


@pytest.mark.parametrize(("mode", "hosts"), [("Disabled", ["okd-master-0"]), ("Managed", []), ("Unmanaged", [])])
def test_dhcp_is_not_probed_where_no_server_boots_from_the_network(mode: str, hosts: list[str]) -> None:
    assert NetworkPreflightSpec.of(plan(mode, *hosts)).provisioning is None


def test_compute_that_leaves_may_hold_the_ingress_vip_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[NetworkPreflightSpec]()

    def checked(spec: NetworkPreflightSpec) -> NetworkPreflightOuts:
        asked.append(spec)
        return NetworkPreflightOuts()

    monkeypatch.setattr("providers.network_preflight.provider._checked", checked)
    fewer = plans.plan().hosts[:-1]
    before, after = plans.plan(phase="production"), plans.plan(phase="production").changed(hosts=fewer)
    old, new = NetworkPreflightSpec.of(before), NetworkPreflightSpec.of(after)
    provider, both = NetworkPreflightProvider(), {"okd-worker-0", "okd-worker-1"}
    outs = provider._update(old, NetworkPreflightOuts(), new)
    provider._update(old, NetworkPreflightOuts(), new.changed(phase=Phase.BOOTSTRAP))
    assert [{*spec.ingress.holders} for spec in asked] == [both, {"okd-worker-0"}]
    assert outs.leaving == {"okd-worker-1": old.ingress.holders["okd-worker-1"]}
    again = provider._update(new, outs, new.changed(domain="other.test"))  # its drain failed, and the file changed
    assert ({*asked[-1].ingress.holders}, again.leaving) == (both, outs.leaving)
    assert provider._update(new, outs, old).leaving == {}, "it is back in the file"
    assert asked[0].api == new.api
