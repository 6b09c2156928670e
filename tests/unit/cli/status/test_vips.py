"""Who holds the VIPs, on real kernels in a network of their own."""

from datetime import UTC, datetime
from ipaddress import IPv4Address

import pytest

from cli.status.answers import Level, Row
from cli.status.cluster import Cluster, vips
from testing import plans
from testing.namespaces import in_own_network, needs_root
from testing.scene.answering import answering

pytestmark = needs_root
API, INGRESS = "192.0.2.5", "192.0.2.4"
BOOTSTRAP, MASTER, WORKER = "52:54:00:00:00:09", "52:54:00:00:00:20", "52:54:00:00:00:30"
OWN = {BOOTSTRAP: "192.0.2.9", MASTER: "192.0.2.20", WORKER: "192.0.2.30"}
GOOD, WRONG = Level.GOOD, Level.WRONG
NODES = "okd-master-0, okd-master-1, okd-master-2"


def cluster(phase: str) -> Cluster:
    """Return the rehearsal's cluster, with addresses of a segment that tests can make."""
    plan = plans.plan(phase=phase)
    own = {"okd-master-0": OWN[MASTER], "okd-worker-0": OWN[WORKER]}
    hosts = tuple(
        host.changed(addresses=(IPv4Address(own.get(host.name, f"192.0.2.{100 + index}")),))
        for index, host in enumerate(plan.hosts)
    )
    moved = plan.changed(
        hosts=hosts,
        bootstrap=plan.bootstrap.changed(addresses=(IPv4Address(OWN[BOOTSTRAP]),)),
        api=plan.api.changed(addresses=(IPv4Address(API),)),
        ingress=plan.ingress.changed(addresses=(IPv4Address(INGRESS),)),
    )
    return Cluster("rehearsal", moved, datetime.now(UTC))


@pytest.mark.parametrize(
    ("phase", "holders", "api", "ingress"),
    [
        pytest.param(
            "bootstrap",
            {API: [BOOTSTRAP]},
            (GOOD, "held by okd-bootstrap"),
            (GOOD, "held by nobody, until phase production"),
            id="bootstrap",
        ),
        pytest.param(
            "production",
            {API: [MASTER], INGRESS: [WORKER]},
            (GOOD, "held by okd-master-0"),
            (GOOD, "held by okd-worker-0"),
            id="production",
        ),
        pytest.param(
            "production",
            {API: [BOOTSTRAP]},
            (WRONG, f"answered by {BOOTSTRAP}, wanted exactly one of {NODES}"),
            (WRONG, "answered by nobody, wanted exactly one of okd-worker-0, okd-worker-1"),
            id="the-bootstrap-in-production",
        ),
        pytest.param(
            "bootstrap",
            {API: [BOOTSTRAP, MASTER]},
            (WRONG, f"answered by {BOOTSTRAP} and {MASTER}, wanted exactly one of okd-bootstrap, {NODES}"),
            (GOOD, "held by nobody, until phase production"),
            id="two-machines",
        ),
    ],
)
def test_each_vip_has_the_one_machine_that_may_hold_it(
    phase: str, holders: dict[str, list[str]], api: tuple[Level, str], ingress: tuple[Level, str]
) -> None:
    answers = {mac: [own, *(vip for vip, macs in holders.items() if mac in macs)] for mac, own in OWN.items()}

    def work() -> list[Row]:
        with answering(answers):
            return [row for question in vips(cluster(phase)) for row in question.answer()]

    assert in_own_network(work) == [
        Row("vip", f"API {API}", *api),
        Row("vip", f"Ingress {INGRESS}", *ingress),
    ]
