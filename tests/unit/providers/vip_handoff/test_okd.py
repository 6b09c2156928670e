"""OKD's own completion signal, read from a real TLS server on loopback with the installer's kubeconfig."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from payload.kubeconfig import Kubeconfig, read_kubeconfig
from providers.vip_handoff.okd import HANDED_OVER, Okd
from testing.certificates import authority
from testing.fakes.https_server import UNAVAILABLE, https_server
from testing.kubeconfigs import kubeconfig, write_kubeconfig
from wires.api.kubernetes import KubeApi

DOMAIN, LOCAL = "okd.lab.test", "127.0.0.1"
CONFIG_MAP = "ConfigMap kube-system/bootstrap: "


def answer(resource: object) -> bytes:
    content = json.dumps(resource).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)


def both(status: str, *conditions: tuple[str, str]) -> bytes:
    """Return a resource that is both the ConfigMap and the etcd operator's."""
    listed = [{"type": name, "status": value, "reason": "x"} for name, value in conditions]
    return answer({"kind": "x", "data": {"status": status}, "status": {"conditions": listed}})


def okd(port: int, kubeconfig: Kubeconfig | None) -> Okd:
    assert kubeconfig
    return Okd(replace(KubeApi.by(kubeconfig, f"api.{DOMAIN}"), port=port))


def missing(port: int, kubeconfig: Kubeconfig | None) -> str | None:
    return okd(port, kubeconfig).missing(LOCAL)


@pytest.mark.parametrize(
    ("answered", "problem"),
    [
        pytest.param(both("complete", ("EtcdBootstrapMemberRemoved", "True")), None, id="complete"),
        pytest.param(b"HTTP/1.1 404 Not Found\r\n\r\n", f"{CONFIG_MAP}missing, wanted", id="no-config-map"),
        pytest.param(both("progressing"), f"{CONFIG_MAP}status 'progressing', wanted", id="not-yet"),
        pytest.param(answer({"data": {}}), f"{CONFIG_MAP}status None, wanted", id="no-status"),
        pytest.param(both("complete"), "etcd's condition EtcdBootstrapMemberRemoved: missing", id="no-condition"),
        pytest.param(
            both("complete", ("Degraded", "True"), ("EtcdBootstrapMemberRemoved", "False")),
            "etcd's condition EtcdBootstrapMemberRemoved: False, wanted True",
            id="member",
        ),
        pytest.param(UNAVAILABLE, "cannot be asked through 127.0.0.1: status 503", id="503"),
        pytest.param(answer(["hunter2"]), "the answer is not the requested resource", id="no-resource"),
        pytest.param(b"hunter2\r\n", "the answer is not HTTP", id="no-http"),
    ],
)
def test_the_signal_is_read_from_okds_answers(
    answered: bytes, problem: str | None, payload: Path, certificate: str
) -> None:
    write_kubeconfig(payload)
    with https_server(certificate, answered, client_ca=authority("test-ca").pem) as server:
        lacking = missing(server.port, read_kubeconfig("prod"))
        assert set(server.names) == {"api.okd.lab.test"}
    assert lacking is None if problem is None else problem in str(lacking)
    assert "hunter2" not in str(lacking)


@pytest.mark.parametrize(
    ("answered", "problem"),
    [
        pytest.param(both("", (HANDED_OVER, "True")), None, id="handed-over"),
        pytest.param(
            both("complete", (HANDED_OVER, "False"), ("EtcdRunningInCluster", "True")),
            f"etcd's condition {HANDED_OVER}: False, wanted True",
            id="running",
        ),
        pytest.param(
            both("complete"), f"etcd's condition {HANDED_OVER}: missing, wanted True", id="an-older-release"
        ),
        pytest.param(b"HTTP/1.1 404 Not Found\r\n\r\n", f"etcd's condition {HANDED_OVER}: missing", id="no-operator"),
        pytest.param(UNAVAILABLE, "OKD cannot be asked through 127.0.0.1: status 503", id="503"),
    ],
)
def test_the_hand_over_to_pacemaker_is_read_from_etcds_operator(
    answered: bytes, problem: str | None, payload: Path, certificate: str
) -> None:
    write_kubeconfig(payload)
    with https_server(certificate, answered, client_ca=authority("test-ca").pem) as server:
        kept = okd(server.port, read_kubeconfig("prod")).not_handed_over(LOCAL)
    assert kept is None if problem is None else problem in str(kept)


def test_an_api_that_refuses_the_client_is_a_missing_signal(payload: Path, certificate: str) -> None:
    write_kubeconfig(payload, kubeconfig(authority("other-ca")))
    with https_server(certificate, client_ca=authority("test-ca").pem) as server:
        lacking = missing(server.port, read_kubeconfig("prod"))
        assert server.requests == []
    assert "OKD cannot be asked through 127.0.0.1: " in str(lacking)


def test_an_api_of_another_cluster_is_sent_nothing(payload: Path, certificate: str) -> None:
    content = kubeconfig(authority("test-ca"))
    other = kubeconfig(authority("other-ca"))["users"][0]["user"]["client-certificate-data"]
    content["clusters"][0]["cluster"]["certificate-authority-data"] = other
    write_kubeconfig(payload, content)
    with https_server(certificate) as server:
        assert "certificate verify failed" in str(missing(server.port, read_kubeconfig("prod")))
        assert server.requests == []
