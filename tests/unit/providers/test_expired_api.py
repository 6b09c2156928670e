"""What each reader of a cluster's API says once that, or its client, is not let in, with real TLS."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from base.errors import OkdBaremetalError
from cli.status.answers import Question, Row
from cli.status.cluster import Cluster, health_rows, member_rows, node_rows, request_rows
from cli.status.release import release_rows
from payload.kubeconfig import read_kubeconfig
from providers.cluster_power.engine import ClusterPowerEngine
from providers.cluster_power.model import ClusterPowerSpec
from providers.cluster_upgrade.engine import ClusterUpgradeEngine
from providers.cluster_upgrade.model import ClusterUpgradeSpec
from providers.etcd.access import EtcdAccess
from providers.etcd.snapshot import EtcdSnapshots
from providers.host_provisioning.departure import Departure
from providers.host_provisioning.drain import Drain
from providers.host_provisioning.etcd_guard import EtcdQuorum
from providers.host_provisioning.removal import Removal
from providers.node_joining import joining_of
from providers.okd_installed.engine import OkdInstalledEngine
from providers.server_objects.engine import ServerObjectsEngine
from providers.server_objects.model import ServerObjectsSpec
from providers.vip_handoff.okd import Okd
from testing import clusters
from testing.certificates import authority
from testing.fakes.clock import FakeClock
from testing.fakes.fleet.certificates import MOVED, expired
from testing.fakes.https_server import https_server
from testing.fakes.okd_release import image_of
from testing.kubeconfigs import kubeconfig, write_kubeconfig
from wires.api.https import CertificateExpiredError
from wires.api.kubernetes import KubeApi
from wires.api.resources import KubernetesReader
from wires.certificates import Life

UNAUTHORIZED = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}"
NAME, VIP, HOST = "api.okd.lab.test", "127.0.0.1", "okd-master-0"
PLAN = clusters.plan("rehearsal", phase="production")


def no_call(*_: object) -> NoReturn:
    pytest.fail("nothing is done before the API has answered")


def silent(_: object) -> None:
    """Show nothing."""


@pytest.fixture
def kind() -> str:
    """Return what is wrong with the API's certificate."""
    return "expired"


@pytest.fixture
def api(payload: Path, kind: str) -> Iterator[KubeApi]:
    """Yield the client of an API whose certificate is not valid now."""
    pair = MOVED[kind](authority("test-ca"), authority("test-ca").issue([NAME]))
    write_kubeconfig(payload)
    (payload / "api.pem").write_text(pair.key + pair.certificate)
    kubeconfig = read_kubeconfig("prod")
    assert kubeconfig
    with https_server(str(payload / "api.pem")) as server:
        yield replace(KubeApi.by(kubeconfig, NAME), port=server.port)
        assert server.requests == []


def asleep(api: KubeApi) -> None:
    spec = ClusterPowerSpec.of(PLAN, "prod").changed(api_vip=VIP)
    engine = ClusterPowerEngine(spec, no_call, no_call, api, FakeClock(), silent, silent)
    engine._prepare(no_call, may_be_silent=False)


@pytest.fixture
def let_in() -> bytes:
    """Return what the API answers the stranger."""
    return UNAUTHORIZED


@pytest.fixture
def stranger(payload: Path, let_in: bytes) -> Iterator[KubeApi]:
    """Yield the client of an API that does not let it in, since the client's certificate has expired."""
    content, pair = kubeconfig(authority("test-ca")), authority("test-ca").issue([NAME])
    client = expired(authority("test-ca"), authority("test-ca").issue_client("system:admin"))
    content["users"][0]["user"] = {
        "client-certificate-data": b64encode(client.certificate.encode()).decode(),
        "client-key-data": b64encode(client.key.encode()).decode(),
    }
    write_kubeconfig(payload, content)
    (payload / "api.pem").write_text(pair.key + pair.certificate)
    read = read_kubeconfig("prod")
    assert read
    with https_server(str(payload / "api.pem"), let_in) as server:
        yield replace(KubeApi.by(read, NAME), port=server.port)
        assert server.requests


def joining(api: KubeApi) -> str | None:
    kubeconfig = read_kubeconfig("prod")
    assert kubeconfig
    spec = ClusterPowerSpec.of(PLAN, "prod").changed(api_vip=VIP, urn="urn::power")
    real = joining_of(spec, kubeconfig, {})
    return replace(real, api=api, nodes=replace(real.nodes, api=api)).missing(HOST, VIP)


def upgrade(api: KubeApi) -> ClusterUpgradeEngine:
    version = "4.21.3"
    spec = ClusterUpgradeSpec(
        stack="prod",
        api_name=NAME,
        api_vip=VIP,
        version=version,
        image=image_of(version),
        snapshots="",
        deadline_s=60.0,
    )
    return ClusterUpgradeEngine(api, spec, no_call, FakeClock(), silent)


def access(api: KubeApi) -> EtcdAccess:
    return EtcdAccess(api, VIP, no_call)


def quorum(api: KubeApi) -> EtcdQuorum:
    return EtcdQuorum(api, VIP, FakeClock(), silent)


def departure(api: KubeApi) -> Departure:
    return Departure(HOST, (VIP,), NAME, api, access(api), quorum(api), FakeClock())


def drain(api: KubeApi) -> Drain:
    return Drain(HOST, VIP, api, FakeClock(), silent)


def taken_out(api: KubeApi) -> None:
    for _ in (engine := departure(api)).take_out():
        engine.clock.sleep(60)


def removal(api: KubeApi) -> Removal:
    return Removal(HOST, "", no_call, drain(api), FakeClock(), silent, silent, 60.0)


def objects(api: KubeApi) -> None:
    spec = ServerObjectsSpec.of(PLAN, "prod").changed(api_vip=VIP)
    ServerObjectsEngine(api, spec, FakeClock(), silent, silent).ensure((), deadline_s=60)


class Here(Cluster):
    """A cluster whose API is on this machine."""

    @property
    def vip(self) -> str:
        return VIP


def row(rows: Callable[[Cluster, KubernetesReader], Iterator[Row]], api: KubeApi) -> str:
    cluster = Here("prod", PLAN, datetime.now(UTC))
    (answer,) = Question("of the", "API", lambda: rows(cluster, api)).answer()
    return answer.says


READERS: dict[str, Callable[[KubeApi], object]] = {
    "sleep": asleep,
    "join or wake": joining,
    "upgrade": lambda api: upgrade(api).reach(),
    "refresh of an upgrade": lambda api: upgrade(api).running(),
    "upgrade that is followed": lambda api: upgrade(api)._missing(),
    "snapshot": lambda api: EtcdSnapshots(access(api), Path("snapshots"), silent, partial(datetime.now, UTC)).take(),
    "proof before a wipe": lambda api: departure(api).prove(),
    "member out": taken_out,
    "back in etcd": lambda api: departure(api).missing(),
    "fencing": lambda api: quorum(api).fences(),
    "node that leaves": lambda api: removal(api).take_out(),
    "drain": lambda api: drain(api).run(60),
    "installation": lambda api: OkdInstalledEngine(api, VIP, FakeClock(), silent, silent).prove(deadline_s=60),
    "objects of servers": objects,
    "handoff": lambda api: Okd(api).missing(VIP),
    "handoff of two that fence": lambda api: Okd(api).not_handed_over(VIP),
    "status: nodes": partial(row, node_rows),
    "status: members": partial(row, member_rows),
    "status: health of etcd": partial(row, health_rows),
    "status: requests": partial(row, request_rows),
    "status: release": partial(row, release_rows),
}
"""What asks the API, each as its provider or command has it; a text that is returned is shown."""


def said(reader: str, api: KubeApi) -> str:
    try:
        return str(READERS[reader](api))
    except OkdBaremetalError as error:
        return str(error)


@pytest.mark.parametrize("reader", READERS)
def test_each_reader_says_that_the_certificate_has_expired(reader: str, api: KubeApi) -> None:
    assert str(CertificateExpiredError()) in said(reader, api)


ANSWER_FIRST = (
    *("sleep", "upgrade", "refresh of an upgrade", "snapshot"),
    *("proof before a wipe", "fencing", "node that leaves"),
    *("member out", "installation", "objects of servers"),
)
"""The readers whose fix begins with `answer_first`."""


@pytest.mark.parametrize("kind", ["early", "expired"])
@pytest.mark.parametrize("reader", ANSWER_FIRST)
def test_a_wrong_clock_has_no_cluster_restored_or_destroyed(reader: str, api: KubeApi) -> None:
    text = said(reader, api)
    assert "Fix: first correct the clock of this machine, or renew the API's certificate, " in text
    assert not re.search("API answer|destroy", text)


@pytest.mark.parametrize("reader", READERS)
def test_each_reader_says_that_its_own_certificate_has_expired(reader: str, stranger: KubeApi) -> None:
    wanted = r"status 401: the certificate of auth/kubeconfig's client expired on \d{4}-\d\d-\d\d .* UTC: see docs/"
    assert re.search(wanted, said(reader, stranger))


WHY = 'nodes is forbidden: User "system:anonymous" cannot list resource "nodes"'
STATUS = json.dumps({"kind": "Status", "status": "Failure", "message": WHY, "code": 403}).encode()
FORBIDDEN = b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%s" % (len(STATUS), STATUS)


@pytest.mark.parametrize("let_in", [FORBIDDEN], ids=["403"])
@pytest.mark.parametrize("reader", READERS)
def test_each_reader_says_why_its_client_may_not(reader: str, stranger: KubeApi) -> None:
    """As behind a balancer that ends TLS, and so keeps the client's certificate to itself."""
    assert f"status 403: {WHY}" in said(reader, stranger)


@pytest.mark.parametrize("let_in", [UNAUTHORIZED, FORBIDDEN], ids=["401", "403"])
@pytest.mark.parametrize("reader", ANSWER_FIRST)
def test_who_is_not_let_in_is_told_to_get_another_kubeconfig(reader: str, stranger: KubeApi) -> None:
    """No wait makes a credential good, and no cluster is restored or destroyed for it."""
    text = said(reader, stranger)
    assert "Fix: first get an auth/kubeconfig that is allowed to do this, " in text
    assert not re.search("API answer|destroy", text)


def test_a_client_that_the_api_does_not_know_is_told_so(stranger: KubeApi) -> None:
    """Or this machine's clock is slow: the line says what the clock makes of it."""
    year = timedelta(days=365)
    valid = Life(stranger.client.begins, datetime.now(UTC) + year)
    wanted = r"status 401: the certificate of auth/kubeconfig's client is unknown to it, and valid until \d{4}-"
    assert re.search(wanted, said("handoff", replace(stranger, client=valid)))
