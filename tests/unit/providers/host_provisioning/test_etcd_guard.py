"""Whether a server of the control plane may be wiped in production, by the answers of an API."""

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from base.errors import ProvisioningError
from base.progress import Progress
from providers.etcd.health import UnlistedError
from providers.host_provisioning.etcd_guard import (
    ANSWER,
    BEFORE_PRODUCTION,
    IN_PRODUCTION,
    RUNNING,
    EtcdQuorum,
)
from testing.certificate_requests import node
from testing.fakes.clock import FakeClock
from wires.api.resources import R
from wires.bmc.client import Identity

UUID, SHARED = "c0ffee00-0000-4000-8000-000000000001", "03000200-0400-0500-0006-000700080009"
VIP = "192.0.2.5"
NODE = "/api/v1/nodes/master-2"
MEMBERS = "/api/v1/namespaces/openshift-etcd/configmaps/etcd-endpoints"
ETCD = "/apis/operator.openshift.io/v1/etcds/cluster"
MACHINES = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines"


def etcd(*conditions: dict[str, str]) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": "EtcdMembersAvailable", "status": "True"}, *conditions]}}


def degraded(status: str, message: str) -> dict[str, str]:
    return {"type": "EtcdMembersDegraded", "status": status, "message": message}


UNASKED = {
    "type": "EtcdMembersControllerDegraded",
    "status": "True",
    "message": "etcdserver: request timed out",
}
"""As the operator reports that it could not list the members; it leaves the other conditions as they were."""
OUT: dict[str, dict[str, Any]] = {
    MEMBERS: {"data": {"8e9e05c52164694d": "192.0.2.21", "91bc3c398fb3c146": "192.0.2.22"}},
    ETCD: etcd(degraded("False", "No unhealthy members found")),
}
"""After the server was taken out."""
NODES = {"data": {"master-0": "192.0.2.21", "master-1": "192.0.2.22"}}
"""As the etcd operator of 4.23 (b4786ae33) wrote it with a real API, while it could not list the members of etcd."""
UNLISTED = "the etcd operator could not ask the members, and lists nodes in place of them"


@dataclass
class FakeApi:
    """Answers from a few resources, by path."""

    resources: dict[str, dict[str, Any]] = field(default_factory=lambda: dict(OUT))
    down: bool = False

    def get(self, address: str, path: str, model: type[R]) -> R | None:
        assert address == VIP
        if self.down:
            raise ConnectionRefusedError("refused")
        asked = urlsplit(path)
        resource = self.resources.get(asked.path)
        if resource and asked.query:
            resource = {"items": [each for each in resource["items"] if is_selected(each, asked.query)]}
        return model.model_validate(resource) if resource else None


def is_selected(resource: dict[str, Any], query: str) -> bool:
    """Return whether a label selector of the form `key in (one,other)` selects a resource; without one, each is."""
    (selector,) = parse_qs(query).get("labelSelector", [""])
    named = re.fullmatch(r"(\S+) in \((\S+)\)", selector)
    return not named or resource["metadata"]["labels"].get(named[1]) in named[2].split(",")


def quorum(api: FakeApi, *, in_production: bool = True) -> EtcdQuorum:
    return EtcdQuorum(api, VIP, FakeClock(), list[Progress]().append, in_production=in_production)


def refused(api: FakeApi) -> str | None:
    etcd, addresses = quorum(api), ("192.0.2.23", "2001:db8::23")
    try:
        etcd.refuse("master-2", lambda: etcd.presence("master-2", addresses))
    except ProvisioningError as error:
        return str(error)
    return None


def test_a_server_that_was_taken_out_may_be_wiped() -> None:
    assert refused(FakeApi()) is None


@pytest.mark.parametrize(
    ("resources", "why"),
    [
        pytest.param({NODE: {"metadata": {"name": "master-2"}}}, "node master-2 exists", id="node"),
        pytest.param(
            {MEMBERS: {"data": {"8e9e05c52164694d": "192.0.2.21", "fd422379fda50e48": "192.0.2.23"}}},
            "master-2 is a member of etcd (192.0.2.23)",
            id="member",
        ),
        pytest.param(
            {MEMBERS: {"data": {"8e9e05c52164694d": "2001:db8::23"}}},
            "master-2 is a member of etcd (2001:db8::23)",
            id="member-by-its-other-address",
        ),
        pytest.param(
            {MEMBERS: {"data": {}}},
            "ConfigMap openshift-etcd/etcd-endpoints names no member of etcd",
            id="no-members",
        ),
        pytest.param(
            {MEMBERS: {}}, "ConfigMap openshift-etcd/etcd-endpoints names no member of etcd", id="no-config-map"
        ),
        pytest.param({MEMBERS: NODES}, UNLISTED, id="nodes-in-place-of-members"),
        pytest.param(
            {ETCD: etcd(degraded("True", "1 of 2 members are available, master-1 is unhealthy"))},
            "a member of etcd does not answer: 1 of 2 members are available, master-1 is unhealthy",
            id="no-quorum-to-spare",
        ),
        pytest.param(
            {ETCD: etcd(degraded("Unknown", ""))}, "a member of etcd does not answer: Unknown", id="unknown"
        ),
        pytest.param(
            {ETCD: etcd(degraded("False", "No unhealthy members found"), UNASKED)},
            "the etcd operator cannot report on the members: etcdserver: request timed out",
            id="a-report-of-before",
        ),
        pytest.param({ETCD: etcd()}, "etcd's condition EtcdMembersDegraded is missing", id="no-condition"),
        pytest.param({ETCD: {}}, "etcd's condition EtcdMembersDegraded is missing", id="no-operator"),
    ],
)
def test_a_server_that_the_cluster_counts_on_is_not_wiped(resources: dict[str, Any], why: str) -> None:
    fix = (
        "take the server out first (docs/how-to/replace-a-control-plane-server.md); or, if an earlier `pulumi up` "
        "has reinstalled it already, remove its line from `reinstall`"
    )
    if not why.startswith(("node master-2", "master-2 is a member")):
        fix = "have the etcd operator report all members first (`oc get clusteroperator etcd`), "
        fix += "and take no other one out"
    assert refused(FakeApi({**OUT, **resources})) == f"master-2: not wiped: {why}. Fix: {fix}"


@pytest.mark.parametrize(
    ("addresses", "resources", "why"),
    [
        pytest.param(["192.0.2.22"], {}, None, id="back"),
        pytest.param(["192.0.2.23"], {}, "it is not yet a member of etcd", id="out"),
        pytest.param(["192.0.2.22"], {MEMBERS: {}}, "it is not yet a member of etcd", id="no-config-map"),
        pytest.param(
            ["192.0.2.22"],
            {ETCD: etcd(degraded("True", "2 of 3 members are available, master-0 is unhealthy"))},
            "a member of etcd does not answer: 2 of 3 members are available, master-0 is unhealthy",
            id="another-is-lost",
        ),
    ],
)
def test_a_server_is_back_once_all_members_answer(
    addresses: list[str], resources: dict[str, Any], why: str | None
) -> None:
    assert quorum(FakeApi({**OUT, **resources})).absence(addresses) == why


def test_a_node_that_is_listed_in_place_of_a_member_is_not_back() -> None:
    with pytest.raises(UnlistedError, match=UNLISTED):
        quorum(FakeApi({**OUT, MEMBERS: NODES})).absence(["192.0.2.22"])


def machine(role: str, address: str, phase: str = "Running") -> dict[str, Any]:
    labels = {"machine.openshift.io/cluster-api-machine-role": role}
    status = {"phase": phase, "addresses": [{"type": "InternalIP", "address": address}]}
    return {"metadata": {"labels": labels}, "status": status}


OUT_YET = "it is not yet a member of etcd"


@pytest.mark.parametrize(
    ("machines", "why"),
    [
        pytest.param([machine("master", "192.0.2.21")], None, id="no-machine-of-its-own"),
        pytest.param([machine("master", "192.0.2.23")], OUT_YET, id="its-machine"),
        pytest.param(
            [machine("master", "192.0.2.21"), machine("arbiter", "192.0.2.23")], OUT_YET, id="its-machine-as-arbiter"
        ),
        pytest.param([machine("master", "192.0.2.21", "Provisioning")], OUT_YET, id="none-runs"),
        pytest.param([machine("worker", "192.0.2.24")], OUT_YET, id="only-compute-s-runs"),
    ],
)
def test_a_server_that_lacks_its_machine_is_not_admitted_yet(machines: list[dict[str, Any]], why: str | None) -> None:
    """The operator: `Ignoring node (master-3) for scale-up: no Machine found referencing this node's internal IP`."""
    assert quorum(FakeApi({**OUT, MACHINES: {"items": machines}})).absence(["192.0.2.23"]) == why


def test_an_operator_that_lists_nodes_is_asked_again() -> None:
    api = FakeApi({**OUT, MEMBERS: NODES})
    clock = FakeClock()
    etcd = EtcdQuorum(api, VIP, clock, lambda _: api.resources.update(OUT))
    etcd.refuse_members({"master-2": ["192.0.2.23"]})
    assert clock.now() > FakeClock().now()


def test_in_phase_bootstrap_only_a_member_is_refused() -> None:
    api = FakeApi({**OUT, NODE: {"metadata": {"name": "master-2"}}})
    etcd = quorum(api, in_production=False)
    etcd.refuse_members({"master-2": ["192.0.2.23"]})
    with pytest.raises(ProvisioningError, match=r"master-2 is a member of etcd \(192\.0\.2\.22\)"):
        etcd.refuse_members({"master-2": ["192.0.2.22"]})
    api.resources[MEMBERS] = NODES
    with pytest.raises(ProvisioningError, match=UNLISTED):
        etcd.refuse_members({"master-2": ["192.0.2.23"]})


def test_all_members_that_are_to_be_wiped_are_named_at_once() -> None:
    """One in each run, as they were named before, took as many runs as servers (simulation, seed 51359)."""
    servers = {"master-0": ["192.0.2.21"], "master-1": ["192.0.2.22"], "master-2": ["192.0.2.23"]}
    with pytest.raises(ProvisioningError) as error:
        quorum(FakeApi(OUT), in_production=False).refuse_members(servers)
    seen = "master-0 is a member of etcd (192.0.2.21) and master-1 is a member of etcd (192.0.2.22)"
    told = f"master-0 and master-1 and master-2: not wiped: {seen}. Fix: reinstall or replace one of them in each "
    assert str(error.value).startswith(f"{told}`pulumi up`, and take the server out first")


def test_an_api_that_does_not_answer_allows_nothing() -> None:
    why = f"the API cannot be asked through {VIP}: refused"
    assert str(refused(FakeApi(down=True))).startswith(f"master-2: not wiped: {why}. Fix: have the API answer first")


@pytest.mark.parametrize("member", ["192.0.2.22", "192.0.2.23"], ids=["member", "no-member"])
@pytest.mark.parametrize(
    ("of_node", "own", "is_node"),
    [
        pytest.param(UUID, UUID, True, id="it"),
        pytest.param(UUID, UUID.replace("c0", "d1"), False, id="another-machine"),
        pytest.param(SHARED, SHARED, None, id="many-boards-report-it"),
        pytest.param(UUID, "", None, id="the-bmc-reports-none"),
    ],
)
def test_a_machine_is_known_by_its_node_else_by_its_member(
    of_node: str, own: str, is_node: bool | None, member: str
) -> None:
    api = FakeApi({**OUT, NODE: node("master-2", ready="Unknown", uuid=of_node)})
    is_part = (member == "192.0.2.22") if is_node is None else is_node
    assert quorum(api).has("master-2", Identity(own, "SN-1"), [member]) is is_part


@pytest.mark.parametrize(
    ("reported", "fences"),
    [
        pytest.param(etcd({"type": RUNNING, "status": "True"}), True, id="running"),
        pytest.param(etcd({"type": RUNNING, "status": "False"}), False, id="not-yet"),
        pytest.param(etcd(), False, id="unsaid"),
        pytest.param(None, False, id="no-operator"),
    ],
)
def test_servers_fence_each_other_once_etcd_runs_on_them(reported: dict[str, Any] | None, fences: bool) -> None:
    assert quorum(FakeApi({ETCD: reported} if reported else {})).fences() is fences


@pytest.mark.parametrize(("in_production", "way"), [(True, IN_PRODUCTION), (False, BEFORE_PRODUCTION)])
def test_servers_that_may_fence_each_other_are_not_touched(in_production: bool, way: str) -> None:
    """The way on differs by phase, as of each wipe: `pulumi destroy` is none for a cluster in production."""
    with pytest.raises(ProvisioningError) as caught:
        quorum(FakeApi(down=True), in_production=in_production).fences()
    assert caught.value.fault.what.startswith(f"etcd cannot be asked through {VIP}, and two servers that run it")
    assert caught.value.fault.fix == f"have the API answer first, {ANSWER}{way}"
