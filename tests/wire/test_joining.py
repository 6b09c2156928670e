"""Servers join a Kubernetes API over HTTPS, with the kubeconfig's client certificate; attackers do not.

`site` is all that the tests know of the API: any Kubernetes API will do, if the kubeconfig is an administrator's,
who can send requests in the names of others, as `kubectl --as` does.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict
from urllib3 import HTTPHeaderDict

from base.clock import SYSTEM_CLOCK
from payload.kubeconfig import read_kubeconfig
from providers.joining.approvals import Joining
from providers.joining.nodes import SeenNodes
from testing.certificate_requests import (
    ACCOUNTS,
    NODES,
    REQUESTS,
    client_pem,
    client_request,
    node,
    serving_pem,
    serving_request,
)
from testing.certificates import authority
from testing.fakes.kube_api import kube_api
from testing.kubeconfigs import write_kubeconfig
from wires.api.https import pool_at
from wires.api.kubernetes import KubeApi
from wires.api.resources import ChangedError, RefusedError

LOCAL, HOST, OWN = "127.0.0.1", "worker-0", "192.0.2.31"


class Anything(BaseModel):
    """A resource with all its fields."""

    model_config = ConfigDict(extra="allow")


@dataclass
class Site:
    """A Kubernetes API, and who acts on it."""

    api: KubeApi
    address: str = LOCAL

    def send(self, request: dict[str, Any], groups: Sequence[str]) -> None:
        """Send a certificate request as the requestor that it names, who is in these groups."""
        kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
        spec = {key: request["spec"][key] for key in ("request", "signerName", "usages")}
        who = [("Impersonate-User", request["spec"]["username"]), *(("Impersonate-Group", each) for each in groups)]
        self._post(REQUESTS, {**kind, "metadata": {"name": request["metadata"]["name"]}, "spec": spec}, who)

    def register(self, name: str) -> None:
        """Register a node that is ready."""
        self._post(NODES, {"apiVersion": "v1", "kind": "Node", **node(name)}, [])

    def conditions(self, name: str) -> list[dict[str, Any]]:
        """Return the conditions of a request, as the API has them."""
        found = self.api.get(self.address, f"{REQUESTS}/{name}", Anything)
        assert found
        return list(found.model_dump()["status"].get("conditions", []))

    def _post(self, path: str, content: dict[str, Any], headers: list[tuple[str, str]]) -> None:
        pool = pool_at(self.address, self.api.port, self.api.server_name, self.api.tls, 3)
        own = HTTPHeaderDict({"Host": self.api.server_name, "Content-Type": "application/json"})
        for key, value in headers:
            own.add(key, value)
        answer = pool.request("POST", path, body=json.dumps(content), headers=own)
        assert answer.status == 201, answer.data


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificate: str) -> Iterator[Site]:
    """A stand-in; a real API may take its place."""
    monkeypatch.chdir(tmp_path)
    write_kubeconfig(tmp_path / "stacks" / "prod" / "payload")
    kubeconfig = read_kubeconfig("prod")
    assert kubeconfig
    with kube_api(certificate, authority("test-ca").pem) as port:
        yield Site(replace(KubeApi.by(kubeconfig, "api.okd.lab.test"), port=port))


@dataclass
class Waiting:
    """The installation of one host, while it waits for it."""

    site: Site
    joining: Joining
    log: list[str]
    warnings: list[str]

    def missing(self) -> str | None:
        """Look at the API now."""
        self.joining._next_poll_at = 0
        return self.joining.missing(HOST, OWN)


@pytest.fixture
def waiting(site: Site) -> Waiting:
    log, warnings = list[str](), list[str]()
    joining = Joining(
        api=site.api,
        nodes=SeenNodes(site.api, site.address, SYSTEM_CLOCK),
        hosts={HOST: [OWN], "worker-1": ["192.0.2.32"]},
        approves=True,
        kubelet=lambda _: None,
        log=log.append,
        warn=warnings.append,
        now=lambda: "now",
    )
    return Waiting(site, joining, log, warnings)


AS_NODE = ("system:nodes",)


def test_a_server_joins_by_its_two_requests(waiting: Waiting) -> None:
    site = waiting.site
    assert waiting.missing() == "there is no node worker-0 yet"
    site.send(client_request(HOST), ACCOUNTS)
    waiting.missing()
    (condition,) = site.conditions("csr-client")
    assert (condition["type"], condition["reason"]) == ("Approved", "ApprovedByOkdBaremetal")
    site.register(HOST)
    site.send(serving_request(HOST, OWN), AS_NODE)
    assert waiting.missing() is None
    assert [each["type"] for each in site.conditions("csr-serving")] == ["Approved"]
    assert waiting.log == [
        "worker-0: approved csr-client (kubernetes.io/kube-apiserver-client-kubelet)",
        "worker-0: approved csr-serving (kubernetes.io/kubelet-serving)",
    ]


@pytest.mark.parametrize(
    ("request_", "groups", "joined", "why"),
    [
        pytest.param(
            client_request("worker-9"),
            ACCOUNTS,
            False,
            "for node worker-9, which is not awaited",
            id="not-planned",
        ),
        pytest.param(client_request(HOST), ACCOUNTS, True, "node worker-0 has joined already", id="joined"),
        pytest.param(client_request(HOST, username="mallory"), ACCOUNTS, False, "requestor: mallory", id="requestor"),
        pytest.param(client_request(HOST), (*ACCOUNTS, "system:masters"), False, "groups: ", id="groups"),
        pytest.param(
            client_request(HOST, usages=["client auth", "server auth"]), ACCOUNTS, False, "usages: ", id="usages"
        ),
        pytest.param(client_request(HOST, content=serving_pem(HOST, OWN)), ACCOUNTS, False, "attributes: ", id="san"),
        pytest.param(serving_request(HOST, OWN), AS_NODE, False, "there is no node worker-0 yet", id="too-early"),
        pytest.param(
            serving_request(HOST, OWN, "192.0.2.5"),
            AS_NODE,
            True,
            "addresses: 192.0.2.31 and 192.0.2.5",
            id="the-vip",
        ),
        pytest.param(
            serving_request("worker-1", content=serving_pem(HOST, OWN)), AS_NODE, True, "requestor: ", id="other-node"
        ),
        pytest.param(serving_request(HOST, content=client_pem(HOST)), AS_NODE, True, "attributes: none", id="no-san"),
    ],
)
def test_a_request_that_is_not_the_servers_own_stays_pending(
    waiting: Waiting, request_: dict[str, Any], groups: Sequence[str], joined: bool, why: str
) -> None:
    if joined:
        waiting.site.register(HOST)
        waiting.joining.kubelet = lambda _: "no certificate"
    waiting.site.send(request_, groups)
    waiting.missing()
    name = request_["metadata"]["name"]
    assert waiting.site.conditions(name) == []
    (warning,) = waiting.warnings
    assert warning.startswith(f"{name} of {request_['spec']['username']} is not approved: {why}")


@pytest.mark.parametrize(
    ("read", "status", "error"),
    [({"uid": "another"}, 422, RefusedError), ({"resourceVersion": "1"}, 409, ChangedError)],
    ids=["another", "changed"],
)
def test_a_request_that_changed_after_it_was_checked_is_not_approved(
    site: Site, read: dict[str, str], status: int, error: type[OSError]
) -> None:
    site.send(client_request(HOST), ACCOUNTS)
    approval = {"type": "Approved", "status": "True", "reason": "x", "message": "x"}
    change = {"metadata": read, "status": {"conditions": [approval]}}
    with pytest.raises(OSError, match=f"status {status}") as caught:
        site.api.patch(site.address, f"{REQUESTS}/csr-client/approval", change)
    assert type(caught.value) is error
    assert site.conditions("csr-client") == []


def test_a_request_that_is_gone_cannot_be_approved(site: Site) -> None:
    with pytest.raises(OSError, match="status 404"):
        site.api.patch(site.address, f"{REQUESTS}/csr-9/approval", {"status": {"conditions": []}})
