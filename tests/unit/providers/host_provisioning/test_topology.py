"""Which control plane a server may join, by what OKD takes it for; tests/wire/test_growth.py has a real etcd."""

import itertools
from typing import Any

import pytest

from base.errors import ProvisioningError
from base.progress import Progress
from providers.etcd.health import DEGRADED
from providers.host_provisioning.etcd_guard import IN_PRODUCTION, EtcdQuorum
from providers.host_provisioning.topology import ASK, LOWER, ControlPlane, Infrastructure
from testing.fakes.clock import FakeClock
from testing.fakes.etcd import EtcdApi, numbered, told_of_members
from wires.api.resources import ETCD, ETCD_MEMBERS, INFRASTRUCTURE, NODE_LIST

VIP = "192.0.2.5"
ONE, PAIR, EXTERNAL, ARBITER, MANY = (
    "SingleReplica",
    "DualReplica",
    "External",
    "HighlyAvailableArbiter",
    "HighlyAvailable",
)
ALONE = f"OKD takes its control plane of one for {{}}, so that etcd does not grow. Fix: whoever changed its status has to make that {ONE} again; or {LOWER}"  # noqa: E501
STILL = f"OKD still takes its control plane of {{}} for {ONE}"
PLATFORM = f"OKD makes three servers of one only on platform None, this is BareMetal. Fix: {LOWER}"
UNASKED = f"nobody has asked OKD to take its control plane for {MANY}. Fix: {ASK}"
FIXED = f"OKD takes its control plane for {{}}, which does not grow. Fix: {LOWER}"


def infrastructure(status: str, spec: str = "", platform: str = "None") -> dict[str, Any]:
    """Return the object as the API has it; openshift/api config/v1 types_infrastructure.go, 2a3d73913."""
    wish = {"controlPlaneTopology": spec} if spec else {}
    observed = {"controlPlaneTopology": status, "platformStatus": {"type": platform}, "platform": platform}
    return {"spec": {"platformSpec": {"type": platform}, **wish}, "status": observed}


def wanted(status: str, spec: str, platform: str, voters: int) -> str | None:
    """Return the begin of the refusal that ADR 82 has; None: the server may join."""
    if status in (PAIR, EXTERNAL):
        return FIXED.format(status)
    if status != ONE:
        return ALONE.format(status) if voters == 1 else None
    if voters > 2:
        return STILL.format(voters)
    if platform != "None":
        return PLATFORM
    return None if spec == MANY else UNASKED


@pytest.mark.parametrize(
    ("status", "spec", "platform", "voters"),
    [*itertools.product((ONE, PAIR, EXTERNAL, ARBITER, MANY), ("", ONE, MANY), ("None", "BareMetal"), (1, 2, 3, 4))],
)
def test_each_pair_of_what_is_and_what_is_wanted(status: str, spec: str, platform: str, voters: int) -> None:
    found = Infrastructure.model_validate(infrastructure(status, spec, platform))
    said = ". Fix: ".join(found.obstacle(voters) or ())
    refusal = wanted(status, spec, platform, voters)
    assert said.startswith(refusal) and ". Fix: " in said if refusal else not said


def control_plane(
    found: dict[str, Any] | None, *voters: str, nodes: tuple[str, ...] = ("only-a",), down: bool = False
) -> ControlPlane:
    resources = {
        ETCD_MEMBERS: told_of_members(numbered(voters)),
        ETCD: {"status": {"conditions": [{"type": DEGRADED, "status": "False"}]}},
        NODE_LIST: {"items": [{"metadata": {"name": name}} for name in nodes]},
    }
    api = EtcdApi(resources | ({INFRASTRUCTURE: found} if found else {}), down)
    quorum = EtcdQuorum(api, VIP, FakeClock(0), list[Progress]().append)
    return ControlPlane(("only-a", "only-b", "only-c"), quorum)


def refusal(of: ControlPlane) -> str:
    with pytest.raises(ProvisioningError) as error:
        of.prove("only-b")
    return str(error.value)


GROWS = infrastructure(ONE, MANY)


@pytest.mark.parametrize("voters", [("192.0.2.21",), ("192.0.2.21", "192.0.2.22")], ids=["second", "third"])
def test_a_server_joins_once_an_administrator_has_asked_okd_for_three(voters: tuple[str, ...]) -> None:
    control_plane(GROWS, *voters, nodes=("only-a", "only-b")).prove("only-c")


def test_until_then_it_is_refused_with_the_command() -> None:
    assert refusal(control_plane(infrastructure(ONE), "192.0.2.21")) == f"only-b: not wiped: {UNASKED}"


@pytest.mark.parametrize(
    ("status", "voters", "why"),
    [(MANY, ("192.0.2.21",), ALONE.format(MANY)), (ONE, ("192.0.2.21", "192.0.2.22", "192.0.2.23"), STILL.format(3))],
    ids=["one", "three"],
)
def test_the_members_of_etcd_that_vote_are_counted(status: str, voters: tuple[str, ...], why: str) -> None:
    found = control_plane(infrastructure(status, MANY), *voters)
    assert refusal(found).startswith(f"only-b: not wiped: {why}")


def test_compute_keeps_a_control_plane_of_one() -> None:
    """OKD would never make it highly available: no dedicated worker nodes are present, says the enhancement."""
    what = "OKD makes three servers of one only without compute, and has worker-0 and worker-1"
    nodes = ("only-a", "worker-1", "worker-0")
    assert refusal(control_plane(GROWS, "192.0.2.21", nodes=nodes)) == f"only-b: not wiped: {what}. Fix: {LOWER}"


def test_compute_is_nothing_to_a_control_plane_of_three() -> None:
    three = ("192.0.2.21", "192.0.2.22", "192.0.2.23")
    control_plane(infrastructure(MANY), *three, nodes=("only-a", "worker-0")).prove("only-b")


def test_a_cluster_that_says_nothing_of_it_is_highly_available() -> None:
    control_plane(None, "192.0.2.21", "192.0.2.22", "192.0.2.23").prove("only-b")


def test_nothing_joins_an_api_that_does_not_answer() -> None:
    assert refusal(control_plane(GROWS, "192.0.2.21", down=True)).endswith(IN_PRODUCTION)
