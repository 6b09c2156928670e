"""What nodes, etcd and certificate requests say, by the answers of an API, in both phases."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from base.errors import SegmentError
from cli.status import cluster as readers
from cli.status.answers import Level, Row
from cli.status.cluster import Cluster
from testing import plans
from testing.fakes.etcd import numbered, told_of_members
from wires.api.resources import R
from wires.segment.neighbours import own_address

MASTERS = ["okd-master-0", "okd-master-1", "okd-master-2"]
NODES, REQUESTS = "/api/v1/nodes", "/apis/certificates.k8s.io/v1/certificatesigningrequests"
MEMBERS = "/api/v1/namespaces/openshift-etcd/configmaps/etcd-endpoints"
ETCD = "/apis/operator.openshift.io/v1/etcds/cluster"
WARNING, GOOD, WRONG = Level.WARNING, Level.GOOD, Level.WRONG


@dataclass
class FakeApi:
    """Answers from a few resources, by path."""

    resources: dict[str, dict[str, Any]] = field(default_factory=dict)

    def get(self, address: str, path: str, model: type[R]) -> R | None:
        assert address == "192.168.111.5"
        resource = self.resources.get(path)
        return model.model_validate(resource) if resource else None


def cluster(phase: str = "production") -> Cluster:
    return Cluster("rehearsal", plans.plan(phase=phase), datetime.now(UTC))


def node(name: str, ready: str = "True", **condition: str) -> dict[str, Any]:
    status = {"conditions": [{"type": "Ready", "status": ready, **condition}]}
    return {"metadata": {"name": name}, "status": {**status, "nodeInfo": {"kubeletVersion": "v1.33.3"}}}


def levels(rows: list[Row]) -> dict[str, Level]:
    return {row.name: row.level for row in rows}


@pytest.mark.parametrize(("phase", "level"), [("production", WRONG), ("bootstrap", WARNING)])
def test_a_server_without_a_ready_node_is_wrong_only_in_production(phase: str, level: Level) -> None:
    down = node("okd-master-1", "False", message="container runtime is down")
    api = FakeApi({NODES: {"items": [node("okd-master-0"), down, node("stranger")]}})
    rows = [*readers.node_rows(cluster(phase), api)]
    assert rows[0] == Row("node", "okd-master-0", GOOD, "Ready, kubelet v1.33.3")
    assert rows[1] == Row("node", "okd-master-1", level, "is not ready: container runtime is down")
    assert rows[2] == Row("node", "okd-master-2", level, "there is no such node")
    compute = ["okd-worker-0", "okd-worker-1"] if phase == "production" else []
    assert [row.name for row in rows] == [*MASTERS, *compute], "phase bootstrap does not install compute"


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (SegmentError("no interface of this machine is on its network"), WARNING),
        (own_address("192.168.111.5"), WRONG),
    ],
    ids=["elsewhere", "its-own"],
)
def test_a_vip_that_this_machine_cannot_see_is_a_warning(
    error: SegmentError, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(address: str, *, wait_s: float) -> frozenset[str]:
        raise error

    monkeypatch.setattr(readers, "macs_at", refuse)
    rows = [row for question in readers.vips(cluster()) for row in question.answer()]
    assert [(row.level, row.says) for row in rows] == [(level, str(error))] * 2


def addresses(*last: int) -> dict[str, Any]:
    return told_of_members(numbered(f"192.168.111.{number}" for number in last))


@pytest.mark.parametrize(
    ("members", "level", "says"),
    [
        pytest.param(addresses(21, 22, 23), GOOD, ", ".join(MASTERS), id="whole"),
        pytest.param(
            addresses(21, 22),
            WRONG,
            "okd-master-0, okd-master-1; wanted okd-master-0, okd-master-1, okd-master-2",
            id="one-is-missing",
        ),
        pytest.param(
            addresses(21, 22, 23, 99),
            WRONG,
            f"192.168.111.99, {', '.join(MASTERS)}; wanted {', '.join(MASTERS)}",
            id="a-stranger",
        ),
        pytest.param({}, WRONG, "none is named; wanted okd-master-0, okd-master-1, okd-master-2", id="none"),
    ],
)
def test_the_members_of_etcd_are_those_servers_that_hold_it(members: dict[str, Any], level: Level, says: str) -> None:
    assert [*readers.member_rows(cluster(), FakeApi({MEMBERS: members}))] == [Row("etcd", "members", level, says)]


@pytest.mark.parametrize(
    ("conditions", "level", "says"),
    [
        ([{"type": "EtcdMembersDegraded", "status": "False"}], GOOD, "all members answer"),
        (
            [{"type": "EtcdMembersDegraded", "status": "True", "message": "1 of 3 members are unhealthy"}],
            WRONG,
            "a member of etcd does not answer: 1 of 3 members are unhealthy",
        ),
        ([], WRONG, "etcd's condition EtcdMembersDegraded is missing"),
    ],
    ids=["healthy", "degraded", "not-reported"],
)
def test_etcds_health_is_what_its_operator_reports(conditions: list[dict[str, str]], level: Level, says: str) -> None:
    api = FakeApi({ETCD: {"status": {"conditions": conditions}}})
    assert [*readers.health_rows(cluster(), api)] == [Row("etcd", "health", level, says)]


def request(name: str, *conditions: dict[str, str]) -> dict[str, Any]:
    spec = {"request": "", "signerName": "kubernetes.io/kubelet-serving", "username": "system:node:okd-worker-0"}
    return {"metadata": {"name": name}, "spec": spec, "status": {"conditions": [*conditions]}}


def test_pending_certificate_requests_wait_for_a_person() -> None:
    approved = request("csr-a", {"type": "Approved"})
    api = FakeApi({REQUESTS: {"items": [approved, request("csr-b")]}})
    [row] = readers.request_rows(cluster(), api)
    assert (row.level, row.says) == (
        WARNING,
        "1 wait for a person, unless they are new: csr-b of system:node:okd-worker-0; see `oc get csr`",
    )
    assert [*readers.request_rows(cluster(), FakeApi({REQUESTS: {"items": [approved]}}))] == [
        Row("request", "pending", GOOD, "none")
    ]


def test_without_a_kubeconfig_the_api_is_not_asked_and_that_is_no_alarm() -> None:
    own = cluster()
    questions = [*readers.nodes(own), *readers.etcds(own), *readers.requests(own)]
    rows = [row for question in questions for row in question.answer()]
    assert {row.level for row in rows} == {WARNING}
    assert {row.says for row in rows} == {
        "not asked: stacks/rehearsal/payload/auth/kubeconfig is missing",
    }


def test_a_site_s_balancer_holds_its_addresses_itself() -> None:
    plan = plans.plan(phase="production")
    balanced = Cluster("rehearsal", plan.changed(balancer="site"), datetime.now(UTC))
    assert [*readers.vips(balanced)] == []
    assert [question.name for question in readers.vips(cluster())] == ["API 192.168.111.5", "Ingress 192.168.111.4"]
