import base64
import json
import subprocess
import warnings
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from assets.render import render
from base.errors import PayloadError
from lab.inventory import load_site
from lab.payload import Payload, make_kubernetes_payload, make_payload, write_payload
from lab.payload.tls import CONTROLLERS, SERVER_CAS, TLS
from lab.shell import LabError
from payload.bootstrap_checks import PLATFORM_MANIFEST, ROOT_CA
from payload.checks import Expected, check_payload
from payload.kubeconfig import check_kubeconfig, read_kubeconfig
from payload.origin_checks import CONFIG_MANIFEST
from testing.ignition_configs import configs, content
from testing.ignition_validate import validate

OURS = ("/etc/lab/", "/usr/local/bin/lab-", "/opt/openshift/", "/etc/kubernetes/")
ENCAPSULATED = "/etc/ignition-machine-config-encapsulated.json"
FIRST_BOOT = "machine-config-daemon-firstboot.service"
UNITS_OF_NODE = {
    *("firstboot-osupdate.target", "kubelet-dependencies.target", "machine-config-daemon-pull.service", FIRST_BOOT),
    *("nodeip-configuration.service", "nmstate-configuration.service"),
}
AFTER_OTHERS = {
    "lab-kube-controller-manager.service",
}
"""Units that start after others of the payload."""
PULL_SECRETS = {"bootstrap": "/root/.docker/config.json", "node": "/var/lib/kubelet/config.json"}
REAL_NAMES = {
    *(CONFIG_MANIFEST, PLATFORM_MANIFEST, ROOT_CA, ENCAPSULATED),
    "/etc/systemd/system-generators/node-image-generator",
    *(f"/etc/systemd/system/node-image-{name}" for name in ("overlay.target", "pull.service", "finish.service")),
    "/etc/systemd/system/release-image.service",
    *PULL_SECRETS.values(),
}
"""Paths of a real payload that this one has too."""


@pytest.fixture(scope="module")
def stand_in() -> Payload:
    return make_payload(load_site(), retire_after_s=42)


@pytest.fixture(scope="module")
def kubernetes() -> Payload:
    return make_kubernetes_payload(load_site())


@pytest.fixture(scope="module", params=["stand_in", "kubernetes"])
def payload(request: pytest.FixtureRequest) -> Payload:
    payload: Payload = request.getfixturevalue(request.param)
    return payload


def entries(config: str, section: str, kind: str) -> list[dict[str, Any]]:
    return [entry for text in configs(config) for entry in json.loads(text).get(section, {}).get(kind, [])]


def files(config: str) -> dict[str, dict[str, Any]]:
    return {file["path"]: file for file in entries(config, "storage", "files")}


def units(config: str) -> list[dict[str, Any]]:
    return entries(config, "systemd", "units")


def users(config: str) -> list[dict[str, Any]]:
    return entries(config, "passwd", "users")


@pytest.mark.parametrize("role", ["master", "worker"])
def test_pointer_names_the_config_server_and_its_ca(payload: Payload, role: str) -> None:
    pointer = json.loads(getattr(payload, role))
    assert pointer.keys() == {"ignition"}
    assert pointer["ignition"]["version"] == "3.2.0"
    assert pointer["ignition"]["config"]["merge"] == [{"source": f"https://api-int.okd.lab.test:22623/config/{role}"}]
    (authority,) = pointer["ignition"]["security"]["tls"]["certificateAuthorities"]
    assert x509.load_pem_x509_certificate(content(authority)).subject.rfc4514_string() == "CN=root-ca"


def test_bootstrap_has_platform_none(payload: Payload) -> None:
    manifest = files(payload.bootstrap)[PLATFORM_MANIFEST]
    assert manifest["mode"] == 0o644
    text = content(manifest["contents"]).decode()
    assert "platformStatus:\n    type: None\n" in text
    assert "apiServerInternalURI: https://api-int.okd.lab.test:6443\n" in text


def test_the_payload_passes_the_programs_checks(payload: Payload) -> None:
    contents = {name: getattr(payload, name).encode() for name in ("bootstrap", "master", "worker")}
    plan = load_site().plan
    expected = Expected(plan.domain, plan.payload_values, render(plan).paths)
    assert check_payload(Path("payload"), contents, expected, datetime.now(UTC)) == []
    other = replace(expected, values={**plan.payload_values, "compute[0].replicas": "7"})
    (fault,) = check_payload(Path("payload"), contents, other, datetime.now(UTC))
    assert fault.what.endswith("made from another install-config: compute[0].replicas 2, not 7")


def test_bootstrap_stays_small(payload: Payload) -> None:
    # Under emulation, reading fw_cfg takes quadratic time.
    assert len(payload.bootstrap) < 100_000


@pytest.mark.parametrize("config", ["bootstrap", "role_master", "role_worker"])
def test_no_name_collides_with_the_programs_own(payload: Payload, config: str) -> None:
    text = getattr(payload, config)
    assert all(path.startswith(OURS) or path in REAL_NAMES for path in files(text))
    names = {unit["name"] for unit in units(text)}
    assert {name for name in names if not name.startswith("lab-")} == (
        set() if config == "bootstrap" else UNITS_OF_NODE
    )
    assert all("\n[Install]\n" in unit["contents"] for unit in units(text))
    paths = {*files(text), *(f"/etc/systemd/system/{name}" for name in names)}
    assert names
    assert paths & render(load_site().plan).paths == set()


def test_every_machine_has_the_encapsulated_config(payload: Payload) -> None:
    for config, name in (
        ("bootstrap", "bootstrap-fips"),
        ("role_master", "rendered-master"),
        ("role_worker", "rendered-worker"),
    ):
        file = files(getattr(payload, config))[ENCAPSULATED]
        assert (file["mode"], json.loads(content(file["contents"]))["metadata"]) == (0o600, {"name": name})


def test_a_bootstrap_boots_into_another_target_first_and_a_node_reboots(payload: Payload) -> None:
    bootstrap = files(payload.bootstrap)
    assert bootstrap["/etc/systemd/system-generators/node-image-generator"]["mode"] == 0o755
    finish = content(bootstrap["/etc/systemd/system/node-image-finish.service"]["contents"]).decode()
    assert "Requires=node-image-pull.service\n" in finish
    assert "isolate multi-user.target\n" in finish
    for role in ("role_master", "role_worker"):
        (unit,) = [unit for unit in units(getattr(payload, role)) if unit["name"] == FIRST_BOOT]
        assert f"ConditionPathExists={ENCAPSULATED}\n" in unit["contents"]
        assert "ExecStart=/usr/bin/systemctl --no-block --force reboot\n" in unit["contents"]


@pytest.mark.parametrize("role", ["role_master", "role_worker"])
def test_each_boot_of_a_node_pulls_before_what_kubelet_runs(payload: Payload, role: str) -> None:
    texts = {unit["name"]: unit["contents"].splitlines() for unit in units(getattr(payload, role))}
    assert "ExecStart=/bin/sleep infinity" in texts[FIRST_BOOT]
    assert "RequiredBy=firstboot-osupdate.target" in texts[FIRST_BOOT]
    nodeip = texts["nodeip-configuration.service"]
    assert "After=NetworkManager-wait-online.service firstboot-osupdate.target" in nodeip
    assert "ExecStart=/usr/local/bin/lab-pull.sh" in nodeip
    assert "RequiredBy=kubelet-dependencies.target" in nodeip
    nmstate = texts["nmstate-configuration.service"]
    assert "After=NetworkManager-wait-online.service nodeip-configuration.service" in nmstate
    assert "WantedBy=network-online.target" in nmstate
    for name in texts.keys() - UNITS_OF_NODE - AFTER_OTHERS:
        assert "Wants=kubelet-dependencies.target" in texts[name]
        (after,) = [line.split() for line in texts[name] if line.startswith("After=")]
        assert after[:2] == ["After=network-online.target", "kubelet-dependencies.target"]


def test_a_worker_listens_as_kubelet(stand_in: Payload) -> None:
    served = content(files(stand_in.role_worker)["/etc/lab/router.cfg"]["contents"]).decode()
    assert "frontend kubelet\n    bind 0.0.0.0:10250\n" in served
    texts = {unit["name"]: unit["contents"] for unit in units(stand_in.role_worker)}
    assert "ExecStart=/usr/sbin/haproxy -db -f /etc/lab/router.cfg\n" in texts["lab-router.service"]


@pytest.mark.parametrize(
    ("config", "machine"), [("bootstrap", "bootstrap"), ("role_master", "node"), ("role_worker", "node")]
)
def test_each_machine_has_the_pull_secret(payload: Payload, config: str, machine: str) -> None:
    file = files(getattr(payload, config))[PULL_SECRETS[machine]]
    assert file["mode"] == 0o600
    assert content(file["contents"]).decode() == load_site().config.pull_secret.get_secret_value()


@pytest.mark.parametrize("config", ["bootstrap", "role_master", "role_worker"])
def test_only_root_can_read_the_keys(payload: Payload, config: str) -> None:
    keys = [file for file in files(getattr(payload, config)).values() if b"PRIVATE KEY" in content(file["contents"])]
    assert keys
    assert all(file["mode"] == 0o600 for file in keys)


@pytest.mark.parametrize("config", ["bootstrap", "role_master", "role_worker"])
def test_core_has_the_sites_ssh_key(payload: Payload, config: str) -> None:
    site = load_site()
    assert users(getattr(payload, config)) == [{"name": "core", "sshAuthorizedKeys": [site.config.ssh_key]}]
    without = replace(site, config=site.config.changed(ssh_key=""))
    assert users(getattr(make_payload(without), config)) == []


CONFIGS = {field.name for field in fields(Payload)} - {"kubeconfig", "arbiter", "role_arbiter"}


@pytest.mark.parametrize("config", sorted(CONFIGS))
def test_ignition_accepts_each_config_without_a_warning(payload: Payload, config: str) -> None:
    assert "".join(map(validate, configs(getattr(payload, config)))) == ""


def test_the_config_server_serves_the_config_that_it_came_with(payload: Payload, tmp_path: Path) -> None:
    """The script that composes the config runs with the files that the config itself contains."""
    master = files(payload.role_master)
    script = content(master["/usr/local/bin/lab-config-server.sh"]["contents"]).decode()
    for name in ("master.frame", "master.ign.gz"):
        (tmp_path / name).write_bytes(content(master[f"/etc/lab/config/{name}"]["contents"]))
    here = script.replace("/etc/lab/config", str(tmp_path)).replace("/run/lab", str(tmp_path / "run"))
    subprocess.run(["bash", "-c", here], check=True)
    assert (tmp_path / "run" / "master.ign").read_text() == payload.role_master
    assert content(master["/etc/lab/config/worker.ign"]["contents"]).decode() == payload.role_worker


def test_server_certificate_holds_every_name_and_address(payload: Payload) -> None:
    certificate = x509.load_pem_x509_certificate(content(files(payload.bootstrap)["/etc/lab/server.crt"]["contents"]))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["api.okd.lab.test", "api-int.okd.lab.test", "localhost"]
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    assert addresses == [f"192.168.111.{number}" for number in range(20, 24)]


def test_members_know_when_to_remove_the_bootstrap(stand_in: Payload) -> None:
    text = content(files(stand_in.role_master)["/etc/lab/cluster.env"]["contents"]).decode()
    assert text.splitlines() == [
        "DOMAIN=okd.lab.test",
        "FAMILY=4",
        'MACHINE_NETWORKS="192.168.111.0/24"',
        "ETCD_PORT=6443",
        "BOOTSTRAP_NAME=okd-bootstrap",
        "BOOTSTRAP_ADDRESS=192.168.111.20",
        "ETCD_MEMBERS=3",
        "API_SERVERS=3",
        "RETIRE_AFTER_S=42",
    ]


def test_only_behind_a_balancer_a_bootstrap_ends_its_api_by_itself(stand_in: Payload) -> None:
    behind = make_payload(load_site("balancer"))
    own, others = (
        content(files(payload.bootstrap)["/etc/lab/cluster.env"]["contents"]).decode().splitlines()
        for payload in (behind, stand_in)
    )
    assert {*own} - {*others} >= {"COMPLETE=bootstrap-complete"}
    assert not [line for line in others if line.startswith("COMPLETE=")]


def test_only_the_owner_can_read_the_written_files(kubernetes: Payload, tmp_path: Path) -> None:
    out = tmp_path / "payload"
    write_payload(kubernetes, out)
    write_payload(kubernetes, out)
    assert {path.name: oct(path.stat().st_mode)[-3:] for path in out.rglob("*") if path.is_file()} == {
        "bootstrap.ign": "600",
        "master.ign": "600",
        "worker.ign": "600",
        "kubeconfig": "600",
    }


def test_a_folder_that_cannot_be_made_is_one_line(stand_in: Payload, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="Fix: name another folder with --out"):
        write_payload(stand_in, tmp_path / "file" / "payload")


def test_the_api_has_a_certificate_of_its_own_for_each_name(kubernetes: Payload) -> None:
    master = files(kubernetes.role_master)
    certificates = {}
    for name in ("localhost", "service-network", "lb", "internal-lb"):
        pem = content(master[f"{TLS}/kube-apiserver-{name}-server.crt"]["contents"])
        certificate = x509.load_pem_x509_certificate(pem)
        named = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        issuer = certificate.issuer.rfc4514_string()
        addresses = [str(address) for address in named.get_values_for_type(x509.IPAddress)]
        certificates[name] = (issuer, named.get_values_for_type(x509.DNSName), addresses)
    assert certificates == {
        "localhost": ("CN=kube-apiserver-localhost-signer", ["localhost"], ["127.0.0.1"]),
        "service-network": (
            "CN=kube-apiserver-service-network-signer",
            ["kubernetes", "kubernetes.default.svc"],
            ["172.30.0.1"],
        ),
        "lb": ("CN=kube-apiserver-lb-signer", ["api.okd.lab.test"], []),
        "internal-lb": ("CN=kube-apiserver-lb-signer", ["api-int.okd.lab.test"], []),
    }


def test_the_operator_needs_the_kubeconfig_of_the_same_run(kubernetes: Payload, tmp_path: Path) -> None:
    bootstrap = kubernetes.bootstrap.encode()
    with pytest.raises(PayloadError, match="only this file has the CAs of this payload's API"):
        check_kubeconfig("rehearsal", bootstrap, "okd.lab.test", None)
    write_payload(kubernetes, tmp_path / "payload")
    kubeconfig = read_kubeconfig(str(tmp_path))
    check_kubeconfig("rehearsal", bootstrap, "okd.lab.test", kubeconfig)
    another = make_kubernetes_payload(load_site()).bootstrap.encode()
    with pytest.raises(PayloadError, match="of another run than bootstrap"):
        check_kubeconfig("rehearsal", another, "okd.lab.test", kubeconfig)


@pytest.mark.parametrize("config", ["role_master", "role_worker"])
def test_a_kubelet_joins_as_the_node_bootstrapper(kubernetes: Payload, config: str) -> None:
    kubeconfig = yaml.safe_load(content(files(getattr(kubernetes, config))["/etc/kubernetes/kubeconfig"]["contents"]))
    pem = base64.b64decode(kubeconfig["users"][0]["user"]["client-certificate-data"])
    with warnings.catch_warnings(action="ignore"):  # OKD's name is too long
        subject = x509.load_pem_x509_certificate(pem).subject.rfc4514_string()
    assert subject == (
        "CN=system:serviceaccount:openshift-machine-config-operator:node-bootstrapper,"
        "O=system:serviceaccounts,O=system:serviceaccounts:openshift-machine-config-operator"
    )


def test_with_a_kubelet_nothing_else_listens_on_its_port(kubernetes: Payload) -> None:
    assert "10250" not in content(files(kubernetes.role_worker)["/etc/lab/router.cfg"]["contents"]).decode()


def test_an_arbiter_has_etcd_alone_and_both_config_servers_serve_it() -> None:
    site = load_site("arbiter")
    payload = make_payload(site)
    for config in (payload.arbiter, payload.role_arbiter):
        assert "".join(map(validate, configs(config))) == ""
    own = files(payload.role_arbiter)
    assert "/etc/lab/config-server.cfg" not in own
    assert {"lab-etcd.service", "lab-router.service"} <= {unit["name"] for unit in units(payload.role_arbiter)}
    (etcd,) = [unit for unit in units(payload.role_arbiter) if unit["name"] == "lab-etcd.service"]
    assert "lab-etcd.sh arbiter\n" in etcd["contents"]
    assert "ETCD_MEMBERS=3\nAPI_SERVERS=2\n" in content(own["/etc/lab/cluster.env"]["contents"]).decode()
    for machine in (payload.bootstrap, payload.role_master):
        assert content(files(machine)["/etc/lab/config/arbiter.ign"]["contents"]).decode() == payload.role_arbiter
    certificate = x509.load_pem_x509_certificate(content(own["/etc/lab/server.crt"]["contents"]))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = map(str, names.get_values_for_type(x509.IPAddress))
    assert str(site.plan.arbiters[0].address) in addresses, "a node asks each member of etcd before it removes one"


def test_an_arbiter_that_leads_etcd_can_ask_the_api() -> None:
    payload = make_kubernetes_payload(load_site("arbiter"))
    asks = {f"{TLS}/{CONTROLLERS}.crt", f"{TLS}/{CONTROLLERS}.key", f"{TLS}/{SERVER_CAS}"}
    assert asks < files(payload.role_master).keys()
    assert {path for path in files(payload.role_arbiter) if path.startswith(TLS)} == asks


@pytest.mark.parametrize(
    ("stack", "topologies", "has_kubeconfig"),
    [
        ("rehearsal", ("HighlyAvailable", "HighlyAvailable"), False),
        ("arbiter", ("HighlyAvailableArbiter", "HighlyAvailable"), False),
        ("single", ("SingleReplica", "SingleReplica"), True),
        ("fenced", ("DualReplica", "HighlyAvailable"), True),
    ],
)
def test_the_topology_is_that_of_the_control_plane(
    stack: str, topologies: tuple[str, str], has_kubeconfig: bool
) -> None:
    """As openshift-install's determineTopologies has it; only OKD's report may end the bootstrap of one or two."""
    payload = make_payload(load_site(stack))
    manifest = yaml.safe_load(content(files(payload.bootstrap)[PLATFORM_MANIFEST]["contents"]))
    seen = manifest["status"]
    assert (seen["controlPlaneTopology"], seen["infrastructureTopology"]) == topologies
    assert bool(payload.kubeconfig) == has_kubeconfig
