"""OkdInstalled as a resource: it asks through the VIP, with the payload's kubeconfig."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.errors import IncompleteError, PayloadError
from payload.kubeconfig import read_kubeconfig
from providers.asleep import STACK
from providers.okd_installed.model import OkdInstalledOuts
from providers.okd_installed.provider import OkdInstalledProvider
from testing.certificates import authority
from testing.fakes.https_server import https_server
from testing.kubeconfigs import write_kubeconfig
from wires.api.kubernetes import KubeApi

PROPS: dict[str, Any] = {
    "stack": "prod",
    "api_name": "api.okd.lab.test",
    "api_vip": "127.0.0.1",
    "deadline_s": 0.0,
    "urn": "urn::okd",
}


def test_it_reads_okds_report_with_the_kubeconfig(
    payload: Path, certificate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One answer is both the version and the list of operators."""
    write_kubeconfig(payload)
    failing = {"type": "Degraded", "status": "True", "message": "no route"}
    operator = {
        "metadata": {"name": "console"},
        "status": {"conditions": [{"type": "Available", "status": "True"}, failing]},
    }
    content = json.dumps({"status": {}, "items": [operator]}).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)
    made = KubeApi.by
    with https_server(certificate, answer, client_ca=authority("test-ca").pem) as server:

        def at_its_port(*words: Any) -> KubeApi:
            return replace(made(*words), port=server.port)

        monkeypatch.setattr(KubeApi, "by", at_its_port)
        with pytest.raises(IncompleteError) as caught:
            OkdInstalledProvider().create(PROPS)
        assert set(server.names) == {"api.okd.lab.test"}
        paths = [request.split()[1].decode() for request in server.requests]
    assert paths == [
        "/apis/config.openshift.io/v1/clusterversions/version",
        "/apis/config.openshift.io/v1/clusteroperators",
    ]
    unready = "after 0 s; 1 of 1 operators are not ready\n    console: Degraded: no route"
    assert f"OKD: the version is not Available yet, {unready}" in str(caught.value)


class Done:
    """An engine of a cluster that is complete, and tells the CA of its routers."""

    def __init__(self, *_: object) -> None:
        self.pem = authority("routers").pem

    def prove(self, *, deadline_s: float) -> OkdInstalledOuts:
        return OkdInstalledOuts(version="4.21.0")

    def router_ca(self) -> str:
        return self.pem


def test_the_kubeconfig_gets_the_routers_ca(payload: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_kubeconfig(payload)
    monkeypatch.setattr("providers.okd_installed.provider.OkdInstalledEngine", Done)
    OkdInstalledProvider().create(PROPS)
    written = read_kubeconfig("prod")
    assert written is not None
    assert written.ca_pem.startswith(authority("routers").pem)


def test_it_cannot_ask_without_the_kubeconfig(payload: Path) -> None:
    with pytest.raises(PayloadError, match="auth/kubeconfig: missing, but `wait: install` asks OKD with it"):
        OkdInstalledProvider().update("x", PROPS, PROPS)


def test_it_is_not_waited_for_while_the_cluster_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would ask a cluster that is off, until its deadline; one that is in the state keeps its inputs meanwhile."""
    assert OkdInstalledProvider().check({}, PROPS).failures == []
    monkeypatch.setattr(STACK, "sleeps", True)
    (failure,) = OkdInstalledProvider().check({}, PROPS).failures
    assert failure.reason == (
        "wait: set for the first time with `power` off, so nothing can answer it. Fix: wake the cluster first: "
        "`pulumi config set power on && pulumi up`; or take the change back"
    )
    assert OkdInstalledProvider().check(PROPS, PROPS).failures == []
