"""Whether a payload belongs to this cluster and is still valid: each fault is one line with its file and fix."""

import base64
import gzip
import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from assets.ignition import Resource
from base.errors import PayloadError
from payload.checks import Expected, check_payload, read_bootstrap
from testing import plans
from testing.payloads import (
    CONFIG_MANIFEST,
    DOMAIN,
    MADE,
    MANIFEST,
    NOW,
    TLS,
    Files,
    certificate,
    issued,
    machine_config,
    manifest,
    payload,
    put,
    root_ca,
    without,
)

FOLDER = Path("stacks/lab/payload")
ROOT_CA = f"{TLS}/root-ca.crt"
EXPECTED = Expected(
    DOMAIN,
    plans.intent().payload_values,
    ("/etc/okd-baremetal/Corefile", "/etc/systemd/system/okd-coredns.service"),
    plans.intent(plans.options()).images.release,
)
LB_SIGNER = "kube-apiserver-lb-signer"
GENERATE = "`pulumi config rm payload --stack lab`, then `okd-baremetal payload lab`"
TAKE = "take the file that openshift-install wrote"
AGAIN = "generate the payload again"


def lines_of(contents: dict[str, bytes], now: datetime = NOW) -> list[str]:
    return [str(fault) for fault in check_payload(FOLDER, contents, EXPECTED, now)]


def plain(text: str) -> dict[str, str]:
    return {"source": f"data:,{quote(text)}"}


def zipped(text: str) -> dict[str, str]:
    packed = base64.b64encode(gzip.compress(text.encode())).decode()
    return {"source": f"data:;base64,{packed}", "compression": "gzip"}


def packed_by(pack: Callable[[str], dict[str, str]]) -> Callable[[Files], None]:
    """The manifest and every CA in another form of data URL."""

    def change(files: Files) -> None:
        for each in files["bootstrap"]["storage"]["files"]:
            texts = {MANIFEST: manifest(), ROOT_CA: root_ca()}
            if each["path"] in texts:
                each["contents"] = pack(texts[each["path"]])
        files["master"]["ignition"]["security"]["tls"]["certificateAuthorities"] = [pack(root_ca())]

    return change


def contents_of(files: Files, path: str, contents: dict[str, Any]) -> None:
    put(files, path, "")
    files["bootstrap"]["storage"]["files"][-1]["contents"] = contents


def pointing(files: Files, name: str, url: str | None) -> None:
    files[name]["ignition"]["config"]["merge"] = [{"source": url}] if url else []


def trusting(files: Files, name: str, pem: str) -> None:
    tls = {"certificateAuthorities": [{"source": Resource.inline(pem).source}]}
    files[name]["ignition"]["security"]["tls"] = tls


def of_another_cluster(files: Files, infrastructure: str, api: str, api_int: str) -> None:
    put(files, MANIFEST, infrastructure)
    put(files, f"{TLS}/machine-config-server.crt", issued("root-ca", api_int))
    put(files, f"{TLS}/kube-apiserver-lb-server.crt", issued(LB_SIGNER, api))
    put(files, f"{TLS}/kube-apiserver-internal-lb-server.crt", issued(LB_SIGNER, api_int))


def with_another_root(files: Files) -> None:
    put(files, ROOT_CA, certificate("another-root"))
    put(files, f"{TLS}/machine-config-server.crt", issued("another-root", f"api-int.{DOMAIN}"))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda f: None, id="as-written"),
        pytest.param(packed_by(plain), id="plain-data-urls"),
        pytest.param(packed_by(zipped), id="compressed"),
        pytest.param(lambda f: f["bootstrap"]["ignition"].update(version="3.4.0"), id="a-newer-spec"),
        pytest.param(lambda f: f["master"].update(storage={"files": [{"path": "/etc/motd"}]}), id="the-site-s-own"),
        pytest.param(
            lambda f: f["worker"]["ignition"]["config"]["merge"].append({"source": "data:,{}"}), id="one-merge-more"
        ),
        pytest.param(lambda f: trusting(f, "worker", f"# the root\n{root_ca()}\n"), id="the-ca-written-otherwise"),
        pytest.param(lambda f: put(f, "/etc/x/old.crt", certificate("x", MADE, MADE)), id="old-ones-elsewhere"),
        pytest.param(lambda f: put(f, f"{TLS}/old.pem", certificate("x", MADE, MADE)), id="other-than-crt"),
        pytest.param(lambda f: put(f, "/etc/containers/systemd/etcd.container", ""), id="another-quadlet"),
    ],
)  # fmt: skip
def test_a_good_payload_has_no_fault(change: Callable[[Files], object]) -> None:
    assert lines_of(payload(change)) == []


FAULTS = [
    pytest.param(
        lambda f: f.update(worker=b"{"), "worker.ign: not an Ignition config (Invalid JSON", TAKE, id="no-json"
    ),
    pytest.param(
        lambda f: f.update(bootstrap=b""), "bootstrap.ign: not an Ignition config (Invalid JSON", TAKE, id="empty"
    ),
    pytest.param(
        lambda f: f.update(master=[]), "master.ign: not an Ignition config (Input should be", TAKE, id="a-list"
    ),
    pytest.param(
        lambda f: f["master"]["ignition"].pop("version"),
        "master.ign: not an Ignition config (ignition.version: Field required", TAKE,
        id="no-version",
    ),
    pytest.param(
        lambda f: f["bootstrap"]["storage"].update(files=[{"path": 7}]),
        "bootstrap.ign: not an Ignition config (storage.files.0.path: ", TAKE,
        id="another-shape",
    ),
    pytest.param(
        lambda f: f["master"]["ignition"].update(version="2.2.0"),
        "master.ign: ignition.version is 2.2.0, not one of 3.2.0 to 3.6.0", "openshift-install, 4.16 or newer",
        id="spec-2",
    ),
    pytest.param(
        lambda f: f["bootstrap"]["ignition"].update(version="3.1.0"),
        "bootstrap.ign: ignition.version is 3.1.0, not one of 3.2.0 to 3.6.0", "openshift-install, 4.16 or newer",
        id="an-older-release",
    ),
    pytest.param(
        lambda f: f["bootstrap"]["ignition"].update(version="3.9.0"),
        "bootstrap.ign: ignition.version is 3.9.0, not one of 3.2.0 to 3.6.0", "openshift-install, 4.16 or newer",
        id="spec-of-the-future",
    ),
    pytest.param(
        lambda f: f["master"]["ignition"]["config"].update(replace={"source": "data:,{}"}),
        "master.ign: ignition.config.replace drops all other files, this program's too", TAKE,
        id="replaced",
    ),
    pytest.param(
        lambda f: contents_of(f, "/etc/anything", {"source": "data:;base64,%%%"}),
        "bootstrap.ign: /etc/anything in it cannot be read: its data URL is broken", TAKE,
        id="broken-where-nothing-else-looks",
    ),
    pytest.param(
        lambda f: f.update(master=f["worker"]),
        f"master.ign: fetches https://api-int.{DOMAIN}:22623/config/worker, "
        f"but only https://api-int.{DOMAIN}:22623/config/master is expected",
        "each under its own name",
        id="one-pointer-twice",
    ),
    pytest.param(
        lambda f: f["worker"]["ignition"]["config"]["merge"].append({"source": "https://web.example.com/extra"}),
        f"worker.ign: fetches https://api-int.{DOMAIN}:22623/config/worker, https://web.example.com/extra, but only ",
        "each under its own name",
        id="a-pointer-to-another-server-beside-it",
    ),
    pytest.param(
        lambda f: pointing(f, "worker", f"http://api-int.{DOMAIN}:22624/config/worker"),
        f"worker.ign: fetches http://api-int.{DOMAIN}:22624/config/worker, but only ", "each under its own name",
        id="pointer-in-the-clear",
    ),
    pytest.param(
        lambda f: f["bootstrap"]["systemd"]["units"].append({"name": "install-to-disk.service"}),
        "bootstrap.ign: made by `openshift-install create single-node-ignition-config`", "create ignition-configs",
        id="bootstrap-in-place",
    ),
    pytest.param(
        lambda f: put(f, CONFIG_MANIFEST, "data: {}"),
        f"bootstrap.ign: {CONFIG_MANIFEST} in it has no readable install-config", TAKE,
        id="no-install-config",
    ),
    pytest.param(
        lambda f: put(f, "/opt/openshift/openshift/99-site.yaml", machine_config("/etc/okd-baremetal/Corefile")),
        "bootstrap.ign: writes what this program writes: "
        "/etc/okd-baremetal/Corefile (in /opt/openshift/openshift/99-site.yaml)",
        "remove it from the manifests",
        id="a-machine-config-with-our-file",
    ),
    pytest.param(
        lambda f: put(
            f, "/opt/openshift/manifests/x.yml", "kind: List\n---\n" + machine_config(unit="okd-coredns.service")
        ),
        "bootstrap.ign: writes what this program writes: "
        "/etc/systemd/system/okd-coredns.service (in /opt/openshift/manifests/x.yml)",
        "remove it from the manifests",
        id="a-machine-config-with-our-unit",
    ),
    pytest.param(
        lambda f: put(f, "/opt/openshift/openshift/99-site.yaml", "kind: MachineConfig\nspec: {config: []}\n---\n"
                      "kind: MachineConfig\nspec: {config: {ignition: {}}}"),
        "bootstrap.ign: /opt/openshift/openshift/99-site.yaml in it is not a MachineConfig of Ignition spec 3",
        "correct that manifest",
        id="a-machine-config-without-a-version",
    ),
    pytest.param(
        lambda f: put(f, "/etc/okd-baremetal/Corefile", "."),
        "bootstrap.ign: writes what this program writes: /etc/okd-baremetal/Corefile. ",
        "remove it from the manifests",
        id="our-file-on-the-bootstrap",
    ),
    pytest.param(
        lambda f: put(f, f"{TLS}/machine-config-server.crt", issued("root-ca-of-another-run", f"api-int.{DOMAIN}")),
        f"bootstrap.ign: {TLS}/machine-config-server.crt in it is not signed by {ROOT_CA}", TAKE,
        id="config-server-of-another-ca",
    ),
    pytest.param(
        lambda f: put(f, f"{TLS}/kube-apiserver-internal-lb-server.crt", issued("root-ca", f"api-int.{DOMAIN}")),
        f"bootstrap.ign: {TLS}/kube-apiserver-internal-lb-server.crt in it is not signed by "
        f"{TLS}/kube-apiserver-lb-signer.crt",
        TAKE,
        id="api-of-another-ca",
    ),
    pytest.param(
        lambda f: put(f, f"{TLS}/kube-apiserver-lb-server.crt", issued(LB_SIGNER, "api.old.lab.test")),
        f"bootstrap.ign: {TLS}/kube-apiserver-lb-server.crt in it is for api.old.lab.test, not for api.{DOMAIN}",
        TAKE,
        id="api-of-another-cluster",
    ),
    pytest.param(
        lambda f: put(f, MANIFEST, manifest("BareMetal")),
        "bootstrap.ign: generated for platform BareMetal, not for None", GENERATE,
        id="platform-baremetal",
    ),
    pytest.param(
        lambda f: put(f, MANIFEST, manifest("null")),
        f"bootstrap.ign: {MANIFEST} in it is not an infrastructure manifest (status.platformStatus.type: ", TAKE,
        id="no-platform",
    ),
    pytest.param(
        lambda f: put(f, MANIFEST, "a: b: c"),
        f"bootstrap.ign: {MANIFEST} in it is not an infrastructure manifest (not valid YAML at line 1, ", TAKE,
        id="manifest-is-no-yaml",
    ),
    pytest.param(
        lambda f: put(f, "/opt/openshift/openshift/99-site.yaml", "kind: MachineConfig\nkind: ConfigMap\n"),
        "bootstrap.ign: /opt/openshift/openshift/99-site.yaml in it is not valid YAML at line 2, column 1: a ",
        "correct that manifest, and generate the payload again",
        id="a-manifest-of-the-site-with-a-key-twice",
    ),
    pytest.param(
        lambda f: without(f, MANIFEST),
        f"bootstrap.ign: no {MANIFEST} in it", TAKE,
        id="no-manifest",
    ),
    pytest.param(
        lambda f: put(f, "/etc/containers/systemd/ironic-httpd.container", "[Container]"),
        "bootstrap.ign: brings /etc/containers/systemd/ironic-httpd.container, a second owner of ", GENERATE,
        id="ironic-quadlet",
    ),
    pytest.param(
        lambda f: f["bootstrap"]["systemd"]["units"].append({"name": "ironic.service"}),
        "bootstrap.ign: brings ironic.service, a second owner of the servers", GENERATE,
        id="ironic-unit",
    ),
    pytest.param(
        lambda f: of_another_cluster(f, manifest(domain="old.lab.test"), "api.old.lab.test", "api-int.old.lab.test"),
        f"bootstrap.ign: of another cluster: it names api-int.old.lab.test, the plan names api-int.{DOMAIN}",
        GENERATE,
        id="bootstrap-of-another-cluster",
    ),
    pytest.param(
        lambda f: of_another_cluster(
            f, manifest().replace("//api.okd", "//api.old"), "api.old.lab.test", f"api-int.{DOMAIN}"
        ),
        f"bootstrap.ign: of another cluster: it names api.old.lab.test, the plan names api.{DOMAIN}", GENERATE,
        id="another-outer-name",
    ),
    pytest.param(
        lambda f: pointing(f, "worker", "https://api-int.old.lab.test:22623/config/worker"),
        f"worker.ign: of another cluster: it names api-int.old.lab.test, the plan names api-int.{DOMAIN}", GENERATE,
        id="pointer-of-another-cluster",
    ),
    pytest.param(
        lambda f: pointing(f, "master", "https://[fd00::5]:22623/config/master"),
        "master.ign: of another cluster: it names fd00::5, ", GENERATE,
        id="pointer-to-an-address",
    ),
    pytest.param(
        lambda f: pointing(f, "master", None), "master.ign: of another cluster: it names no host, ", GENERATE,
        id="pointer-to-nothing",
    ),
    pytest.param(
        lambda f: pointing(f, "master", "https://[bad"),
        "master.ign: of another cluster: it names no host, ", GENERATE,
        id="pointer-to-no-url",
    ),
    pytest.param(
        lambda f: trusting(f, "worker", certificate("another-root")),
        "bootstrap.ign: its root CA is not that of worker.ign", "from one run",
        id="worker-of-another-run",
    ),
    pytest.param(
        lambda f: trusting(f, "worker", root_ca() + certificate("another-root")),
        "bootstrap.ign: its root CA is not that of worker.ign", "from one run",
        id="worker-that-trusts-another-run-as-well",
    ),
    pytest.param(
        with_another_root,
        "bootstrap.ign: its root CA is not that of master.ign and worker.ign", "from one run",
        id="bootstrap-of-another-run",
    ),
    pytest.param(
        lambda f: f["master"]["ignition"].pop("security"),
        "master.ign: no ignition.security.tls.certificateAuthorities in it", TAKE,
        id="pointer-without-a-ca",
    ),
    pytest.param(
        lambda f: trusting(f, "master", ""),
        "master.ign: no readable certificate in ignition.security.tls.certificateAuthorities", TAKE,
        id="pointer-with-an-empty-ca",
    ),
    pytest.param(
        lambda f: put(f, ROOT_CA, ""), f"bootstrap.ign: no {ROOT_CA} in it", TAKE, id="bootstrap-without-a-ca"
    ),
    pytest.param(
        lambda f: put(f, f"{TLS}/sub/x.crt", certificate("x", MADE, MADE + timedelta(minutes=60))),
        "bootstrap.ign: useless since 2026-11-20 15:03 UTC, when the first of its certificates expired "
        f"({TLS}/sub/x.crt); the time here is 2026-11-20 16:03. Fix: if that is wrong, correct the clock",
        AGAIN,
        id="an-ended-certificate",
    ),
    pytest.param(
        lambda f: put(f, f"{TLS}/x.crt", root_ca() + certificate("x", MADE, MADE + timedelta(minutes=60))),
        "bootstrap.ign: useless since 2026-11-20 15:03 UTC", AGAIN,
        id="the-last-of-a-bundle-ended",
    ),
    pytest.param(
        lambda f: put(f, f"{TLS}/x.crt", certificate("x", NOW + timedelta(minutes=1))),
        f"bootstrap.ign: not valid before 2026-11-20 16:04 UTC ({TLS}/x.crt), but the time here is 2026-11-20 16:03",
        "correct the clock of this host",
        id="a-coming-certificate",
    ),
    pytest.param(
        lambda f: put(f, f"{TLS}/x.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
        f"bootstrap.ign: no readable certificate in {TLS}/x.crt", TAKE,
        id="a-broken-certificate",
    ),
    pytest.param(
        lambda f: contents_of(f, f"{TLS}/x.crt", {"source": "https://web.example.com/x.crt"}),
        f"bootstrap.ign: {TLS}/x.crt in it cannot be read: its source is not a data URL", TAKE,
        id="contents-elsewhere",
    ),
    pytest.param(
        lambda f: contents_of(f, MANIFEST, {"source": "data:;base64,%%%"}),
        f"bootstrap.ign: {MANIFEST} in it cannot be read: its data URL is broken", TAKE,
        id="contents-no-base64",
    ),
    pytest.param(
        lambda f: contents_of(f, MANIFEST, {"source": "data:,x", "compression": "gzip"}),
        f"bootstrap.ign: {MANIFEST} in it cannot be read: its data URL is broken", TAKE,
        id="contents-not-compressed",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "what", "fix"), FAULTS)
def test_a_fault_is_one_line_with_the_file_and_its_fix(
    change: Callable[[Files], object], what: str, fix: str
) -> None:
    (line,) = lines_of(payload(change))
    assert line.startswith(f"{FOLDER}/{what}")
    assert fix in line.partition(". Fix: ")[2]
    assert "\n" not in line
    assert "BEGIN" not in line


def test_a_payload_has_expired_once_its_first_certificate_has() -> None:
    last = MADE + timedelta(days=1)
    assert lines_of(payload(), last) == []
    (line,) = lines_of(payload(), last + timedelta(seconds=1))
    assert "useless since 2026-11-21 14:03 UTC" in line


def test_an_expired_bootstrap_is_no_fault_in_production() -> None:
    contents = payload()
    del contents["bootstrap"]
    assert lines_of(contents, MADE + timedelta(days=400)) == []


def test_pointers_without_a_bootstrap_must_share_one_ca() -> None:
    contents = payload(lambda f: trusting(f, "worker", certificate("another-root")))
    del contents["bootstrap"]
    (line,) = lines_of(contents)
    assert line.startswith(f"{FOLDER}/master.ign: its root CA is not that of worker.ign. Fix: ")


def test_all_faults_are_found_at_once() -> None:
    def change(files: Files) -> None:
        put(files, MANIFEST, manifest("VSphere"))
        put(files, f"{TLS}/x.crt", certificate("x", MADE, MADE))
        pointing(files, "master", "https://192.0.2.5:22623/config/master")
        files["worker"]["ignition"]["version"] = "2.2.0"

    starts = ["generated for platform VSphere", "useless since", "of another cluster", "ignition.version is 2.2.0"]
    faults = [line.partition(": ")[2] for line in lines_of(payload(change))]
    assert [line[: len(start)] for line, start in zip(faults, starts, strict=True)] == starts


def test_an_expired_bootstrap_is_refused_when_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    FOLDER.mkdir(parents=True)
    content = payload()["bootstrap"]
    (FOLDER / "bootstrap.ign").write_bytes(content)
    pinned = hashlib.sha256(content).hexdigest()
    assert read_bootstrap("lab", pinned, NOW) == content
    with pytest.raises(PayloadError, match=r"bootstrap\.ign: useless since"):
        read_bootstrap("lab", pinned, NOW + timedelta(days=3660))
