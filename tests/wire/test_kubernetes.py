"""This program's probes and handoff against the lab's payload with a real Kubernetes.

`make kubernetes` builds what it needs, and runs it. `make test` does not.
"""

import http.client
import subprocess
from pathlib import Path

import pytest

from lab.binaries import ensure_binary
from lab.inventory import STACK, load_site
from lab.payload import Payload, make_kubernetes_payload, write_payload
from lab.rehearsal import okd
from lab.rehearsal.client import Client
from lab.rehearsal.kube import Kube, Operator
from lab.rehearsal.okd_api import VERSIONS
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.report import Report
from lab.rehearsal.writer import EVERY_S, Writer
from payload.kubeconfig import api_ca, read_kubeconfig
from payload.reading import payload_ca
from providers.server_objects.engine import ServerObjectsEngine
from providers.server_objects.model import ServerObjectsSpec
from providers.vip_handoff.okd import CONFIG_MAP, Okd
from testing.certificates import Authority, Pair
from testing.documents import commands
from testing.fakes.clock import FakeClock
from testing.fakes.fleet.certificates import expired
from testing.namespaces import in_own_network, needs_root
from testing.scene.cluster import DOMAIN, Cluster, cluster_of
from testing.scene.fault import ASKED, NODES, Measured
from testing.scene.handoff import LiveHandoff, handoff_of
from testing.scene.ignited import ignite
from testing.scene.machine import Machine, until
from wires.api.api import Api
from wires.api.https import CertificateExpiredError
from wires.api.kubernetes import KubeApi
from wires.api.resources import ConfigMap

pytestmark = [needs_root, pytest.mark.kubernetes]
WITHOUT_NODE = ("okd-worker-0", "okd-worker-1")


def boot(machine: Machine, config: str, vip: str, units: str = "lab-") -> None:
    """Start what its config has of these units, with the programs, names and route that a guest has."""
    for name in ("etcd", "kubernetes"):
        (machine.folder / "bin" / name).symlink_to(ensure_binary(name))
    (machine.folder / "etc/hosts").write_text(f"127.0.0.1 localhost\n{vip} api-int.{DOMAIN}\n")
    (machine.folder / "etc/nsswitch.conf").write_text("hosts: files\n")
    machine.run("ip", "route", "add", "default", "via", "192.168.111.1")
    ignite(machine, config, units)


def serving(cluster: Cluster, payload: Payload, ca_pem: str) -> float:
    """Boot the bootstrap; return the seconds until its API, which is verified by a CA, serves through the VIP."""
    vip, api = str(cluster.vips[0]), Api(DOMAIN, ca_pem)
    boot(cluster.bootstrap, payload.bootstrap, vip)
    cluster.bootstrap_keepalived = cluster.bootstrap.start_keepalived(cluster.vips)
    return until("the bootstrap's API through the VIP", lambda: api.is_ready(vip))


def bootstrapped(cluster: Cluster, payload: Payload, handoff: LiveHandoff) -> float:
    """Boot the bootstrap; return the seconds until its API serves, which only this payload's kubeconfig can ask."""
    vip, seconds = str(cluster.vips[0]), serving(cluster, payload, handoff.ca_pem)
    with_the_ca_of_the_config_server = Api(DOMAIN, payload_ca(payload.master.encode()))
    assert "certificate verify failed" in str(with_the_ca_of_the_config_server.problem(vip))
    assert handoff.signal
    assert handoff.signal(vip) == "ConfigMap kube-system/bootstrap: missing, wanted status 'complete'"
    return seconds


def left_alone(cluster: Cluster, payload: Payload) -> float:
    """Boot the nodes; return the seconds until the VIP has left the bootstrap by itself."""
    for name, node in cluster.nodes.items():
        boot(node, payload.role_master, str(cluster.vips[0]))
        cluster.start_node(name, healthy=False)
    return cluster.until_held_by(*NODES)


def linked(operators: okd.Okd, cluster: Cluster, api: KubeApi) -> str:
    """Have OKD's operators and this program make the objects of all nodes; return why the version is Failing then."""
    until("OKD's own objects are there", lambda: stepped(operators))
    spec = ServerObjectsSpec.of(cluster.plan, "prod")
    own = {name: made for name, made in spec.objects.items() if name.partition("/")[2] not in WITHOUT_NODE}

    class OperatorsClock(FakeClock):
        def sleep(self, seconds: float) -> None:
            stepped(operators)
            super().sleep(seconds)

    engine = ServerObjectsEngine(api, spec.changed(objects=own), OperatorsClock(0), lambda _: None, pytest.fail)
    engine.ensure((), deadline_s=60)
    assert (operators.metal3.touched, operators.metal3.kept_out) == ([], [])
    until("metal3's operator is done", lambda: stepped(operators))
    until("the version is Failing", lambda: stepped(operators) and bool(failure(operators)))
    return failure(operators)


def failure(operators: okd.Okd) -> str:
    version = operators.api.client.call("GET", f"{VERSIONS}/version")
    (failing,) = [each for each in version["status"]["conditions"] if each["type"] == "Failing"]
    return str(failing["message"])


def stepped(operators: okd.Okd) -> bool:
    try:
        operators.step()
    except http.client.HTTPException:
        return False
    return True


def a_certificate_of_its_own(cluster: Cluster, stack: Path) -> None:
    """Give the API a certificate of another CA, and do what the document says; later, one that has expired."""
    vip, authority = str(cluster.vips[0]), Authority.create("of the site")
    pair = authority.issue([f"api.{DOMAIN}"])

    def show(shown: Pair) -> None:
        for node in cluster.nodes.values():
            for kind, pem in (("crt", shown.certificate), ("key", shown.key)):
                (node.folder / f"opt/openshift/tls/kube-apiserver-lb-server.{kind}").write_text(pem)

    show(pair)

    def problem() -> str:
        kubeconfig = read_kubeconfig(str(stack))
        assert kubeconfig
        try:
            KubeApi.by(kubeconfig, f"api.{DOMAIN}").get(vip, CONFIG_MAP, ConfigMap)
        except OSError as error:
            return str(error)
        return ""

    until("the API has its new certificate", lambda: "CERTIFICATE_VERIFY_FAILED" in problem())
    (stack.parents[1] / "ca.pem").write_text(authority.pem)
    block = commands("how-to/what-changed.md", "ca.pem").replace("<stack>", stack.name)
    subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=stack.parents[1], check=True)
    assert problem() == ""
    show(expired(authority, pair))
    until("the API shows one that has expired", lambda: problem() == str(CertificateExpiredError()))
    show(authority.issue([f"api.{DOMAIN}"]))
    until("the API shows the renewed one", lambda: problem() == "")


def test_the_vip_leaves_by_itself_and_the_handoff_awaits_okds_signal(tmp_path: Path, measured: Measured) -> None:
    payload = make_kubernetes_payload(load_site())
    stack = tmp_path / "stacks" / STACK
    write_payload(payload, stack / "payload")
    # An absolute path as the stack's name: joined to the folder of all stacks, it remains unchanged.
    kubeconfig = read_kubeconfig(str(stack))
    assert kubeconfig
    operator = Operator.of(stack / "payload/auth/kubeconfig")

    def scenario() -> None:
        with cluster_of("rehearsal", tmp_path, "") as cluster, handoff_of(cluster) as handoff:
            handoff.ca_pem = api_ca(payload.master.encode(), kubeconfig)
            handoff.signal = Okd(KubeApi.by(kubeconfig, f"api.{DOMAIN}")).missing
            kube = Kube(Client(str(cluster.vips[0]), f"api.{DOMAIN}", operator.tls))
            written = Kube(Client(str(cluster.vips[0]), f"api.{DOMAIN}", operator.tls))
            writer = Writer(written, EVERY_S)
            serves = bootstrapped(cluster, payload, handoff)
            writer.start()
            left = left_alone(cluster, payload)
            outs = handoff.move()
            writer.stop()
            assert (handoff.states, handoff.sent) == (["gate", "watch", "await", "let go", "done"], ASKED)
            assert (outs.completion, outs.probes_failed) == ("complete", 0)
            assert list(kube.ready_since()) == NODES
            assert (writer.lost(), writer.problems) == ([], [])
            writes = f"{len(writer.acknowledged)} writes, {writer.retries} retries"
            measured(f"Kubernetes: API after {serves:.1f} s, VIP left after {left:.1f} s, {writes}, {outs.seconds}")
            proofs = Proofs(cluster.plan, payload_ca(payload.master.encode()), Report("kubernetes"), operator)
            operators = proofs.okd(operator)
            lacks = linked(operators, cluster, KubeApi.by(kubeconfig, f"api.{DOMAIN}"))
            assert lacks == "Cluster operator ingress is not available", "there is no compute here"
            operators.api.client.close()
            operators.etcd_operator.etcd.client.close()
            for store in (kube, written):
                store.client.close()
            a_certificate_of_its_own(cluster, stack)

    in_own_network(scenario)
