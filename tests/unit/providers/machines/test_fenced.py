"""Another machine in place of a server that its peer fences: refused before anything is touched, once installed."""

import pytest

from cluster.plan import ClusterPlan
from cluster.plan.model import PlannedHost
from cluster.values.bmc_url import parse_bmc_url
from testing import clusters, plans
from testing.fakes.engine import Site, Stack
from testing.server_changes import BMC, NEW

LEFT = plans.HOSTS[0]
REFUSED = (
    f"consent.{LEFT}: its peer fences the machine that was installed, and would switch it on again. "
    "Fix: name the former machine again; to install the cluster again, destroy it first"
)


@pytest.fixture
def stack() -> Stack:
    """A stack of two servers that fence each other, and the machines that their consents name."""
    site = Site()
    for server in clusters.plan("fenced").servers:
        site.add(plans.CONSENT[server.name], server.bmc.address)
    return Stack(site)


def replaced(site: Site) -> ClusterPlan:
    """Return the plan with another machine in place of one of the two."""
    plan, address = clusters.plan("fenced"), BMC.format("192.0.2.90")
    site.add(NEW, address)

    def changed(host: PlannedHost) -> PlannedHost:
        bmc = host.bmc.changed(address=address, url=parse_bmc_url(address))
        return host.changed(bmc=bmc) if host.name == LEFT else host

    consent = {**plan.options.consent, LEFT: NEW}
    return plan.changed(hosts=tuple(map(changed, plan.hosts)), options=plan.options.changed(consent=consent))


def test_once_installed_its_replacement_is_refused_by_the_preview(stack: Stack) -> None:
    """It was refused by `HostProvisioning` alone, after `BmcHost` had switched the new machine off."""
    assert stack.up(clusters.plan("fenced")) == []
    stack.site.settle()
    assert stack.preview(replaced(stack.site)) == [REFUSED]
    assert stack.site.writes() == {}


def test_before_that_another_machine_may_take_its_place(stack: Stack) -> None:
    plan = clusters.plan("fenced")
    assert stack.up(plan) == []
    for key in [key for key in stack.state if key[0] == "HostProvisioning"]:
        del stack.state[key]
    assert stack.preview(replaced(stack.site)) == []


def test_another_name_of_the_same_machine_is_no_replacement(stack: Stack) -> None:
    plan = clusters.plan("fenced")
    assert stack.up(plan) == []
    uuid = stack.site.machines[plans.CONSENT[LEFT]].machine.uuid
    named = plan.options.changed(consent={**plan.options.consent, LEFT: uuid})
    assert stack.preview(plan.changed(options=named)) == []
