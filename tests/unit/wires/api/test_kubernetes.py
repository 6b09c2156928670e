"""What a client makes and deletes in a Kubernetes API, and how it takes a refusal."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from payload.kubeconfig import read_kubeconfig
from testing.certificates import authority
from testing.fakes.https_server import https_server
from testing.kubeconfigs import write_kubeconfig
from wires.api.kubernetes import KubeApi
from wires.api.resources import EVICTION, POD, VERSION, ChangedError, FailingError, HeldError, RefusedError
from wires.api.writes import to_api

PATH = "/apis/metal3.io/v1alpha1/namespaces/openshift-machine-api/baremetalhosts/worker-0"
CALLS: dict[str, Callable[[KubeApi], None]] = {
    "POST": lambda api: api.create("127.0.0.1", PATH, {"kind": "BareMetalHost"}),
    "PATCH": lambda api: api.patch("127.0.0.1", PATH, {"kind": "BareMetalHost"}),
    "DELETE": lambda api: api.delete("127.0.0.1", PATH),
    "EVICT": lambda api: api.evict("127.0.0.1", POD.format("shop", "web-1"), "7c0a"),
}


def answer(status: int, content: str = "{}") -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(content), content.encode())


@pytest.fixture
def called(payload: Path, certificate: str) -> Callable[[str, bytes], bytes]:
    """Return what calls with a method, and returns the request that the API got."""
    write_kubeconfig(payload)
    kubeconfig = read_kubeconfig("prod")
    assert kubeconfig

    def call(method: str, response: bytes) -> bytes:
        with https_server(certificate, response, client_ca=authority("test-ca").pem) as server:
            CALLS[method](replace(KubeApi.by(kubeconfig, "api.okd.lab.test"), port=server.port))
            return server.requests[0]

    return call


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", PATH.rpartition("/")[0], 201),
        ("PATCH", PATH, 200),
        ("DELETE", PATH, 200),
        ("DELETE", PATH, 202),
        ("DELETE", PATH, 404),
        ("EVICT", f"{POD.format('shop', 'web-1')}{EVICTION}", 201),
        ("EVICT", f"{POD.format('shop', 'web-1')}{EVICTION}", 404),
    ],
)
def test_a_change_is_one_request(called: Callable[[str, bytes], bytes], method: str, path: str, status: int) -> None:
    verb = method.replace("EVICT", "POST")
    assert called(method, answer(status)).startswith(f"{verb} {path} HTTP/1.1\r\n".encode())


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize(
    ("status", "error"), [(409, ChangedError), (400, RefusedError), (403, RefusedError), (422, RefusedError)]
)
def test_a_refusal_is_told_from_a_change_that_may_be_repeated(
    called: Callable[[str, bytes], bytes], method: str, status: int, error: type[OSError]
) -> None:
    with pytest.raises(error, match=rf"^status {status}$") as caught:
        called(method, answer(status))
    assert type(caught.value) is error


@pytest.mark.parametrize("method", [method for method in CALLS if method != "EVICT"])
def test_a_failure_of_the_api_is_neither(called: Callable[[str, bytes], bytes], method: str) -> None:
    with pytest.raises(FailingError, match=r"^status 500: failed calling webhook$"):
        called(method, answer(500, json.dumps({"message": "failed calling webhook"})))


def test_a_refusal_has_the_reason_of_the_api_as_one_line(called: Callable[[str, bytes], bytes]) -> None:
    with pytest.raises(RefusedError, match=r"^status 403: denied:\\n bootMACAddress$"):
        called("PATCH", answer(403, json.dumps({"message": "denied:\n bootMACAddress"})))


def test_an_upgrade_is_a_write_of_that_version_and_image(
    called: Callable[[str, bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[str]()
    monkeypatch.setattr("wires.api.kubernetes.make", lambda write: made.append(str(write)))
    change = {"spec": {"desiredUpdate": {"version": "4.21.3", "image": "quay.io/okd@sha256:5e"}}}
    monkeypatch.setitem(CALLS, "PATCH", lambda api: api.patch("127.0.0.1", VERSION, change))
    called("PATCH", answer(200))
    assert made == ["API api.okd.lab.test: change clusterversions/version to 4.21.3 quay.io/okd@sha256:5e"]


def test_an_eviction_is_of_one_pod_and_by_its_budget(called: Callable[[str, bytes], bytes]) -> None:
    request = called("EVICT", answer(201, json.dumps({"kind": "Status", "status": "Success", "code": 201})))
    assert json.loads(request.partition(b"\r\n\r\n")[2]) == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": "shop", "name": "web-1"},
        "deleteOptions": {"preconditions": {"uid": "7c0a"}},
    }


def status_of(code: int, message: str, *causes: str) -> str:
    """Return a failure as apimachinery shows it; the cause of an eviction names its budget."""
    listed = [{"reason": "DisruptionBudget", "message": cause} for cause in causes]
    return json.dumps(
        {"kind": "Status", "status": "Failure", "message": message, "details": {"causes": listed}, "code": code}
    )


@pytest.mark.parametrize(
    ("status", "content", "why"),
    [
        pytest.param(
            429,
            status_of(429, "Cannot evict pod as it would violate", "The disruption budget web needs 2 healthy pods"),
            "The disruption budget web needs 2 healthy pods",
            id="budget",
        ),
        pytest.param(429, status_of(429, "too many requests"), "too many requests", id="overload"),
        pytest.param(429, "no JSON", "status 429", id="without-a-reason"),
        pytest.param(500, status_of(500, "failed calling webhook"), "failed calling webhook", id="webhook"),
        pytest.param(201, status_of(500, "more than one PodDisruptionBudget"), "more than one PodDisr", id="several"),
    ],
)
def test_a_pod_that_its_budget_holds_is_no_error_of_the_api(
    called: Callable[[str, bytes], bytes], status: int, content: str, why: str
) -> None:
    with pytest.raises(HeldError, match=f"^{why}"):
        called("EVICT", answer(status, content))


def test_an_internal_error_without_a_reason_is_one_of_the_api(called: Callable[[str, bytes], bytes]) -> None:
    with pytest.raises(ConnectionError, match=r"^status 500$") as error:
        called("EVICT", answer(500, "no JSON"))
    assert not isinstance(error.value, HeldError)


def test_a_pod_that_is_gone_is_evicted(called: Callable[[str, bytes], bytes]) -> None:
    called("EVICT", answer(404, status_of(404, 'pods "web-1" not found')))


@pytest.mark.parametrize(
    ("path", "action"),
    [
        (PATH, "change baremetalhosts/worker-0"),
        (
            "/apis/metal3.io/v1alpha1/provisionings/provisioning-configuration",
            "change provisionings/provisioning-con",
        ),
        (
            "/apis/certificates.k8s.io/v1/certificatesigningrequests//approval",
            "change certificatesigningrequests/…/a",
        ),
        ("/apis/certificates.k8s.io/v1/certificatesigningrequests/csr-1/approval", "change certificatesigningrequ"),
        (POD.format("shop", "web-1") + EVICTION, "change pods/…/eviction"),
        ("/api/v1/nodes/worker-0", "change nodes/worker-0"),
    ],
)
def test_a_write_names_kind_and_name_or_the_part(path: str, action: str) -> None:
    assert str(to_api("api.okd.test", path)).startswith(f"API api.okd.test: {action}")
    part = path.endswith(("/approval", EVICTION))
    assert ("…" in str(to_api("api.okd.test", path))) is part
