"""How hosts join the cluster: whose requests are approved when, and what a host waits for."""

import base64
from typing import Any

import pytest

from providers.joining.approvals import MOST_WARNINGS
from testing.certificate_requests import (
    BOOTSTRAPPER,
    NODES,
    REQUESTS,
    client_pem,
    client_request,
    node,
    serving_pem,
    serving_request,
)
from tests.unit.providers.joining.rig import AT, VIP, W0, W1, Rig, machine, rig
from wires.api.resources import ChangedError

CLIENT_W0, SERVING_W0 = client_request("w0"), serving_request("w0", W0)


def test_a_host_becomes_a_ready_node_by_its_two_requests() -> None:
    made = rig(CLIENT_W0, kubelets={W0: "internal error"})
    assert made.missing() == "there is no node w0 yet"
    assert made.cluster.approved == ["csr-client"]

    made.cluster.nodes.append(node("w0", ready="False", message="no CNI configuration file"))
    made.cluster.requests.append({**SERVING_W0})
    assert made.missing() == "node w0 is not ready: no CNI configuration file"
    assert made.cluster.approved == ["csr-client", "csr-serving"]

    made.cluster.nodes[:] = [node("w0")]
    assert made.missing() == "the kubelet of w0 has no serving certificate (internal error)"
    made.kubelets.clear()
    assert made.missing() is None
    assert made.log == [
        "w0: approved csr-client (kubernetes.io/kube-apiserver-client-kubelet)",
        "w0: approved csr-serving (kubernetes.io/kubelet-serving)",
    ]
    assert made.warnings == []


def test_an_approval_names_the_checked_request_and_this_program() -> None:
    made = rig(CLIENT_W0)
    made.missing()
    ((path, change),) = made.cluster.changes
    assert path == f"{REQUESTS}/csr-client/approval"
    assert change == {
        "metadata": {"uid": "uid-of-csr-client", "resourceVersion": "7"},
        "status": {
            "conditions": [
                {
                    "type": "Approved",
                    "status": "True",
                    "reason": "ApprovedByOkdBaremetal",
                    "message": "w0 is being installed",
                }
            ]
        },
    }
    signer = "kubernetes.io/kube-apiserver-client-kubelet"
    assert made.records == {"w0": [{"request": "csr-client", "signer": signer, "at": AT}]}


def test_requests_are_read_before_nodes() -> None:
    """Read after them, a second request of a node that joined in between would pass for a first one."""
    made = rig()
    made.missing()
    assert made.cluster.reads == [REQUESTS, NODES]


def test_a_request_that_has_changed_meanwhile_is_checked_again() -> None:
    made = rig(CLIENT_W0)
    made.cluster.refuses = ChangedError("status 409")
    made.missing()
    assert (made.records, made.log, made.warnings) == ({}, [], [])
    made.cluster.refuses = None
    made.missing()
    assert made.cluster.approved == ["csr-client"]


def test_an_approval_that_the_api_refuses_is_a_warning() -> None:
    made = rig(CLIENT_W0)
    made.cluster.refuses = ConnectionError("status 403")
    made.missing()
    why = "the API refuses its approval: status 403"
    assert made.warnings == [f"csr-client of {BOOTSTRAPPER} is not approved: {why}"]


@pytest.mark.parametrize(
    "conditions",
    [[{"type": "Approved", "reason": "AutoApproved"}], [{"type": "Denied"}], [{"type": "Failed"}]],
    ids=["approved", "denied", "failed"],
)
def test_a_request_that_was_decided_is_not_touched(conditions: list[dict[str, str]]) -> None:
    made = rig({**CLIENT_W0, "status": {"conditions": conditions}})
    made.missing()
    assert (made.cluster.changes, made.warnings, made.records) == ([], [], {})


def test_with_the_option_off_nothing_is_approved_and_the_node_is_awaited() -> None:
    made = rig(CLIENT_W0, approves=False)
    assert made.missing() == "there is no node w0 yet"
    made.cluster.nodes.append(node("w0"))
    assert made.missing() is None
    assert (made.cluster.changes, made.warnings) == ([], [])


def of_w0(**changes: Any) -> dict[str, Any]:
    return client_request("w0", **changes)


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        pytest.param(client_request("w9"), "for node w9, which is not awaited", id="not-in-the-plan"),
        pytest.param(of_w0(content=b"hello"), "not a certificate request in PEM (ValueError)", id="malformed"),
        pytest.param(of_w0(username="mallory"), f"requestor: mallory, wanted {BOOTSTRAPPER}", id="another-requestor"),
        pytest.param(of_w0(groups=[]), "groups: none, wanted ", id="no-groups"),
        pytest.param(
            of_w0(usages=["client auth"]), "usages: client auth, wanted client auth and digital", id="other-usages"
        ),
        pytest.param(SERVING_W0, "there is no node w0 yet", id="serving-too-early"),
        pytest.param(
            serving_request("w1", content=serving_pem("w0", W0)),
            "there is no node w0 yet",
            id="serving-for-another-node",
        ),
        pytest.param(
            serving_request("w0", content=serving_pem("w1", W1)),
            "for node w1, which is not awaited",
            id="serving-of-another-node",
        ),
    ],
)
def test_a_request_that_claims_to_be_the_host_s_is_refused_once_in_the_log(
    request_: dict[str, Any], why: str
) -> None:
    made = rig(request_)
    made.missing()
    made.missing()
    assert made.cluster.changes == []
    (warning,) = made.warnings
    who = request_["spec"]["username"]
    assert warning.startswith(f"{request_['metadata']['name']} of {who} is not approved: {why}")


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(client_request("w1"), id="of-a-host-that-is-not-installed-yet"),
        pytest.param(serving_request("w9", "192.0.2.99"), id="renewal-of-another-node"),
        pytest.param(client_request("w9", username="system:node:w9"), id="client-renewal-of-another-node"),
        pytest.param(of_w0(signerName="kubernetes.io/kube-apiserver-client"), id="another-signer"),
        pytest.param(of_w0(signerName="example.com/x", content=b"hello"), id="another-kind"),
    ],
)
def test_a_request_of_no_concern_is_neither_approved_nor_mentioned(request_: dict[str, Any]) -> None:
    made = rig(request_)
    made.missing()
    assert (made.cluster.changes, made.warnings) == ([], [])


@pytest.mark.parametrize("host", ["w0", "w9", ""])
def test_a_flood_of_foreign_requests_is_few_short_lines(host: str) -> None:
    """S19: 3,000 requests gave 3,000 warnings, each as long as its sender liked."""
    content, groups = client_pem(host), ["\x1b" * 10_000]
    flood = [client_request(host, content=content, name=f"csr-{n}", groups=groups) for n in range(10 * MOST_WARNINGS)]
    made = rig(*flood)
    for _ in range(3):
        made.missing()
    assert len(made.warnings) == MOST_WARNINGS + 1
    assert made.warnings[-1].endswith(" are not mentioned: `oc get csr` lists them")
    assert all(len(line) <= 1000 and line.isprintable() for line in made.warnings)
    made.cluster.requests.clear()
    made.missing()
    assert made.joining._refused == {}, "memory ends with the requests"


def test_a_flood_for_no_host_does_not_hide_the_refusal_of_a_host_s_own() -> None:
    """S19."""
    flood = [client_request("w9", name=f"csr-{number}") for number in range(100)]
    made = rig(*flood, client_request("w0", name="own", groups=["other"]))
    made.missing()
    assert made.warnings[-1].startswith(f"own of {BOOTSTRAPPER} is not approved: groups: ")


def test_a_second_client_request_for_a_node_that_has_joined_is_refused() -> None:
    made = rig(of_w0(name="csr-2"), nodes=(node("w0", ready="False"),))
    assert made.missing() == "node w0 is not ready: False"
    assert made.cluster.changes == []
    assert "node w0 has joined already; delete that node first" in made.warnings[0]


def test_a_host_that_has_joined_is_no_longer_waited_for() -> None:
    made = rig(nodes=(node("w0"),))
    assert made.missing() is None
    made.cluster.requests += [serving_request("w0", W0)]
    assert made.missing("w1", W1) == "there is no node w1 yet"
    assert (made.cluster.changes, made.warnings) == ([], [])


BOTH = ("w0", "w1")


def test_hosts_that_join_together_wait_until_all_of_them_ask() -> None:
    made = rig(CLIENT_W0, together=BOTH)
    assert made.missing() == "joins once w1 asks to, too"
    made.cluster.requests.append(client_request("w1", name="csr-w1"))
    assert made.missing() == "joins once w1 asks to, too", "nobody has seen w1 run from its disk"
    assert (made.cluster.approved, made.warnings) == ([], [])
    made.missing("w1", W1)
    made.missing("w1", W1)
    assert sorted(made.cluster.approved) == ["csr-client", "csr-w1"]


def test_what_a_system_that_is_gone_has_asked_for_lets_no_other_join() -> None:
    """It stays in the API for a day; its server was wiped again, and may never ask (simulation, seed 60026)."""
    made = rig(CLIENT_W0, client_request("w1", name="csr-gone"), together=BOTH)
    made.joining.forget("w1")
    made.missing("w1", W1)
    assert made.missing() == "joins once w1 asks to, too"
    assert (made.cluster.approved, made.warnings) == ([], [])
    made.cluster.requests.append(client_request("w1", name="csr-w1"))
    for _ in BOTH:
        made.missing()
    assert sorted(made.cluster.approved) == ["csr-client", "csr-w1"]


def test_a_host_that_has_joined_is_not_waited_for() -> None:
    """A run that was killed after one of them had joined."""
    made = rig(client_request("w1", name="csr-w1"), nodes=(node("w0"),), together=BOTH)
    assert made.missing("w1", W1) == "there is no node w1 yet"
    assert made.cluster.approved == ["csr-w1"]


def test_what_a_node_asks_for_is_not_held_by_those_that_join_with_it() -> None:
    made = rig(of_w0(), SERVING_W0, nodes=(node("w0"),), together=BOTH, kubelets={W0: "none"})
    made.missing()
    assert made.cluster.approved == ["csr-serving"]


def test_a_request_of_another_account_does_not_let_the_others_join() -> None:
    made = rig(CLIENT_W0, client_request("w1", name="csr-w1", username="another"), together=BOTH)
    made.missing("w1", W1)
    assert made.missing() == "joins once w1 asks to, too"
    assert made.cluster.approved == []


def test_hosts_share_one_poll_of_the_api() -> None:
    made = rig(nodes=(node("w0"),))
    assert [made.joining.missing("w0", W0), made.joining.missing("w1", W1)] == [None, "there is no node w1 yet"]
    assert made.cluster.reads == [REQUESTS, NODES]


def test_an_api_that_does_not_answer_is_what_is_missing() -> None:
    made = rig(CLIENT_W0)
    made.cluster.down = ConnectionRefusedError("refused")
    assert made.missing() == f"the API cannot be asked through {VIP}: refused"
    made.cluster.down = None
    assert made.missing() == "there is no node w0 yet"
    assert made.cluster.approved == ["csr-client"]


def test_an_up_after_an_interrupted_one_records_its_approvals() -> None:
    first = rig(CLIENT_W0)
    first.missing()
    first.cluster.requests[0]["status"]["conditions"][0]["lastUpdateTime"] = "2026-11-21T23:00:00Z"
    second = Rig(first.cluster)
    for _ in range(2):
        second.missing()
    signer = "kubernetes.io/kube-apiserver-client-kubelet"
    assert second.records == {"w0": [{"request": "csr-client", "signer": signer, "at": "2026-11-21T23:00:00Z"}]}
    assert len(first.cluster.changes) == 1


@pytest.mark.parametrize("changed", ["uid", "resourceVersion"])
def test_a_request_that_is_exchanged_after_it_was_read_is_not_approved(
    monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    made = rig(CLIENT_W0)
    patch = made.cluster.patch

    def late(_address: str, path: str, change: dict[str, Any]) -> None:
        made.cluster.requests[0]["metadata"] = {**CLIENT_W0["metadata"], changed: "another"}
        made.cluster.requests[0]["spec"] = {**CLIENT_W0["spec"], "request": base64.b64encode(b"evil").decode()}
        patch(_address, path, change)

    monkeypatch.setattr(made.cluster, "patch", late)
    made.missing()
    assert made.cluster.requests[0]["status"] == {}
    assert made.records == {}


def test_approving_the_requests_of_a_host_asks_no_kubelet() -> None:
    made = rig(CLIENT_W0, kubelets={W0: "down"})
    made.joining.approve_requests("w0")
    assert made.cluster.approved == ["csr-client"]


@pytest.mark.parametrize("names", [("older", "newer"), ("newer", "older")])
def test_of_two_requests_of_a_server_that_wakes_the_newer_one_is_approved(names: tuple[str, ...]) -> None:
    """Its kubelet was started again, and has lost the key of the older one."""
    uuid, created = "c0ffee00-0000-4000-8000-000000000001", {"older": f"{AT[:17]}01Z", "newer": f"{AT[:17]}09Z"}
    made = rig(*(of_w0(name=name) for name in names), nodes=(node("w0", uuid=uuid),))
    for request_ in made.cluster.requests:
        name = request_["metadata"]["name"]
        request_["metadata"] = {**request_["metadata"], "creationTimestamp": created[name]}
    made.joining.nodes.woken = {"w0": machine(uuid)}
    for _ in range(2):
        made.missing()
    assert made.cluster.approved == ["newer"]
