"""The payload of platform baremetal: what owns servers in it, and what its nodes run."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.contract import ALIVE_PORT, BALANCER_PORT, UNITS
from assets.ignition import own_config
from assets.keepalived import on_bootstrap
from assets.render import render, render_bootstrap
from lab.inventory import STACKS, load_site
from lab.payload import Payload, make_payload
from lab.payload.baremetal import OWN_UNITS, OWNERS
from lab.payload.kubernetes import BAREMETAL_SHUTDOWN_S
from lab.rehearsal import platform
from payload.checks import Expected, check_payload
from payload.of_servers import UNITS as UNITS_OF_SERVERS
from testing.clusters import as_stack
from testing.ignition_configs import configs, content

BUFFER = 250_000
"""Bytes of an answer, at most, for haproxy's buffer of 262,144."""
NODES = ("10.70.0.21", "10.70.0.22", "10.70.0.23")
BMCS = ("https://172.22.1.1:443", "https://172.22.70.12:8443", "https://172.22.1.2:443", "http://172.22.70.14:8000")


@pytest.fixture(scope="module")
def payload() -> Payload:
    return make_payload(load_site("platform"))


def files(config: str) -> dict[str, str]:
    """Return the text of each file and unit of a config, by path."""
    documents = [json.loads(text) for text in configs(config)]
    stored = [file for document in documents for file in document.get("storage", {}).get("files", [])]
    units = [unit for document in documents for unit in document.get("systemd", {}).get("units", [])]
    return {file["path"]: content(file["contents"]).decode(errors="replace") for file in stored} | {
        f"{UNITS}/{unit['name']}": unit["contents"] for unit in units
    }


def run(script: str, folder: Path, programs: Mapping[str, str], *words: str) -> str:
    """Run a script of a machine with these programs before those of this machine; return its output."""
    (folder / "bin").mkdir(exist_ok=True)
    for name, text in programs.items():
        (folder / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / "bin" / name).chmod(0o755)
    env = {"PATH": f"{folder / 'bin'}:{os.defpath}"}
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_payload_of_platform_baremetal_passes_the_checks(payload: Payload) -> None:
    contents = {name: getattr(payload, name).encode() for name in ("bootstrap", "master", "worker")}
    plan = load_site("platform").plan
    expected = Expected.of(plan, plan.payload_values, render(plan).paths)
    assert check_payload(Path("payload"), contents, expected, datetime.now(UTC)) == []


@pytest.mark.parametrize(
    ("name", "pointer"),
    [("baremetal", "192.168.111.5"), ("baremetal-ipv6", "[fd2e::5]"), ("compact", "192.168.111.5")],
)
def test_other_clusters_of_platform_baremetal_have_a_payload_too(tmp_path: Path, name: str, pointer: str) -> None:
    path = as_stack(name, tmp_path) / f"Pulumi.{name}.yaml"
    path.write_text(
        f"{path.read_text()}  okd-baremetal:platform: baremetal\n" if name == "compact" else path.read_text()
    )
    site = load_site(name, tmp_path)
    payload, plan = make_payload(site), site.plan
    contents = {kind: getattr(payload, kind).encode() for kind in ("bootstrap", "master", "worker")}
    expected = Expected.of(plan, plan.payload_values, render(plan).paths)
    assert check_payload(Path("payload"), contents, expected, datetime.now(UTC)) == []
    assert f"https://{pointer}:22623/config/master" in payload.master
    confs = {path for path in files(payload.role_master) if path.startswith("/etc/lab/keepalived/")}
    assert confs == {f"/etc/lab/keepalived/{server.address}.conf" for server in plan.control_plane}
    assert len(payload.role_master) < BUFFER


def test_the_pointers_name_the_config_server_by_the_api_vip(payload: Payload) -> None:
    merged = json.loads(payload.master)["ignition"]["config"]["merge"]
    assert merged == [{"source": "https://10.70.0.5:22623/config/master"}]


def test_the_payload_has_each_unit_that_must_not_run() -> None:
    assert {*OWNERS} == {*UNITS_OF_SERVERS}


def test_each_owner_of_servers_would_start_by_itself(payload: Payload, tmp_path: Path) -> None:
    bootstrap = files(payload.bootstrap)
    assert all("WantedBy=multi-user.target" in bootstrap[f"{UNITS}/{name}"] for name in OWN_UNITS)
    generated = generated_units(bootstrap, tmp_path)
    assert {*OWN_UNITS, *generated} == {*OWNERS}
    for name, text in generated.items():
        assert f"ExecStart=/usr/local/bin/lab-owner.sh {name}\n" in text
        assert (tmp_path / "units/multi-user.target.wants" / name).resolve() == tmp_path / "units" / name


def generated_units(bootstrap: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Run the generator over the payload's quadlets; return the units by name."""
    (folder / "quadlets").mkdir()
    for path, text in bootstrap.items():
        if path.startswith("/etc/containers/systemd/"):
            (folder / "quadlets" / Path(path).name).write_text(text)
    script = bootstrap["/etc/systemd/system-generators/lab-quadlets"]
    run(script.replace("/etc/containers/systemd", str(folder / "quadlets")), folder, {}, str(folder / "units"))
    return {path.name: path.read_text() for path in (folder / "units").glob("*.service")}


def test_this_program_masks_each_owner_in_the_merged_config() -> None:
    own = json.loads(own_config(render_bootstrap(load_site("platform").plan)))
    assert {unit["name"] for unit in own["systemd"]["units"] if unit.get("mask")} >= {*OWNERS}


def test_an_owner_that_is_not_masked_asks_each_bmc(payload: Payload, tmp_path: Path) -> None:
    script = files(payload.bootstrap)["/usr/local/bin/lab-owner.sh"]
    asked = tmp_path / "asked"
    printed = run(script, tmp_path, {"curl": f'echo "${{@: -1}}" >>{asked}; exit 7'}, "ironic.service")
    assert platform._OWNS.findall(printed) == ["ironic.service"]
    assert asked.read_text().splitlines() == [f"{url}/redfish/v1/Systems" for url in BMCS]


@pytest.mark.parametrize(("linked", "keepalived"), [(True, "is left out"), (False, "starts")], ids=["linked", "not"])
def test_a_static_pod_starts_unless_its_file_is_a_link_to_null(
    payload: Payload, tmp_path: Path, linked: bool, keepalived: str
) -> None:
    bootstrap, here = files(payload.bootstrap), tmp_path / "manifests"
    (tmp_path / "from").mkdir()
    for path, text in bootstrap.items():
        if path.startswith("/opt/openshift/mco-bootstrap/"):
            (tmp_path / "from" / Path(path).name).write_text(text)
    here.mkdir()
    if linked:
        (here / "keepalived.yaml").symlink_to("/dev/null")
    script = bootstrap["/usr/local/bin/lab-static-pods.sh"].replace("/etc/kubernetes/manifests", str(here))
    script = script.replace("/opt/openshift/mco-bootstrap/manifests", str(tmp_path / "from"))
    started = tmp_path / "started"
    printed = run(script, tmp_path, {"systemctl": f"echo $3 >>{started}"})
    assert dict(platform._POD.findall(printed)) == {"coredns": "starts", "keepalived": keepalived}
    units = ["lab-coredns.service", *([] if linked else ["lab-keepalived.service"])]
    assert started.read_text().splitlines() == units
    assert all(f"{UNITS}/{unit}" in bootstrap for unit in units)


def test_the_bootstrap_prints_the_state_of_each_owner(payload: Payload, tmp_path: Path) -> None:
    show = r'shift 2; for unit; do printf "LoadState=masked\nActiveState=inactive\nId=%s\n\n" "$unit"; done'
    printed = run(files(payload.bootstrap)["/usr/local/bin/lab-masks.sh"], tmp_path, {"systemctl": show})
    assert dict(platform._UNIT.findall(printed)) == dict.fromkeys(OWNERS, platform.MASKED)


@pytest.mark.parametrize(("role", "services"), [("role_master", 3), ("role_worker", 2)])
def test_a_node_runs_the_operators_services_under_other_names(payload: Payload, role: str, services: int) -> None:
    found = files(getattr(payload, role))
    names = {path.rpartition("/")[2] for path in found}
    assert not [path for path in found if "okd" in path]
    assert len({"lab-keepalived.service", "lab-haproxy.service", "lab-coredns.service"} & names) == services
    own = render(load_site("platform").plan).paths
    assert not {*found} & own


def test_no_text_of_the_operators_services_names_a_file_of_this_program(payload: Payload) -> None:
    own = ("/etc/okd-baremetal", "/run/okd-baremetal", "/usr/local/bin/okd-", "okd_baremetal", "okd-coredns.service")
    for role in ("role_master", "role_worker"):
        texts = {path: text for path, text in files(getattr(payload, role)).items() if "own-files" not in path}
        assert not [(path, word) for path, text in texts.items() for word in own if word in text]


def test_a_host_keeps_its_name_in_the_operators_files(tmp_path: Path) -> None:
    (tmp_path / "platform").mkdir()
    for name in ("platform/install-config.yaml", "Pulumi.platform.yaml"):
        (tmp_path / name).write_text(re.sub(r"metal-a\b(?!-)", "okd-haproxy-1", (STACKS / name).read_text()))
    master = files(make_payload(load_site("platform", tmp_path)).role_master)
    assert "10.70.0.21 okd-haproxy-1 okd-haproxy-1.platform.lab.test" in master["/etc/lab-baremetal/Corefile"]
    assert "server okd-haproxy-1 10.70.0.21:6443" in master["/etc/lab-baremetal/haproxy.cfg"]


def test_haproxy_of_the_nodes_has_the_ports_that_the_handoff_asks(payload: Payload) -> None:
    text = files(payload.role_master)["/etc/lab-baremetal/haproxy.cfg"]
    assert f"bind :::{ALIVE_PORT} " in text
    assert f"bind :::{BALANCER_PORT} " in text


def test_only_compute_claims_the_ingress_vip(payload: Payload) -> None:
    master, worker = files(payload.role_master), files(payload.role_worker)
    confs = [text for path, text in {**master, **worker}.items() if path.startswith("/etc/lab/keepalived/")]
    assert len(confs) == len(NODES) + 1
    assert ["_INGRESS_0 {" in conf for conf in confs] == [False, False, False, True]
    assert ["_API_0 {" in conf for conf in confs] == [True, True, True, False]


@pytest.mark.parametrize(
    ("listed", "rounds"),
    [
        pytest.param([NODES[:2]] * 3, 3, id="two-nodes"),
        pytest.param([(), NODES[:1], NODES[:2], NODES[:2], NODES[:2]], 5, id="one-is-too-few"),
        pytest.param([NODES[:2], NODES[:2], NODES, NODES, NODES], 5, id="a-third-begins-again"),
        pytest.param([NODES[:2], NODES[:2], (), NODES[:2], NODES[:2], NODES[:2]], 6, id="no-answer-begins-again"),
        pytest.param([(*NODES[:1], "10.70.0.24"), *[NODES[1:]] * 3], 4, id="compute-does-not-count"),
    ],
)
def test_keepalived_is_configured_once_two_nodes_have_registered(
    payload: Payload, tmp_path: Path, listed: list[tuple[str, ...]], rounds: int
) -> None:
    master, conf = files(payload.role_master), tmp_path / "operator/keepalived.conf"
    (tmp_path / "confs").mkdir()
    for address in NODES:
        (tmp_path / "confs" / f"{address}.conf").write_text(master[f"/etc/lab/keepalived/{address}.conf"])
    for number, addresses in enumerate(listed, 1):
        items = [{"status": {"addresses": [{"type": "InternalIP", "address": address}]}} for address in addresses]
        (tmp_path / f"answer-{number}").write_text(json.dumps({"items": items}, indent=2) if items else "")
    (tmp_path / "tls").mkdir()
    script = master["/usr/local/bin/lab-keepalived-monitor.sh"]
    for path, here in (
        ("/opt/openshift/tls", "tls"),
        ("/etc/lab/keepalived", "confs"),
        ("/etc/lab-baremetal", "operator"),
    ):
        script = script.replace(path, str(tmp_path / here))
    programs = {
        "sleep": f"[[ $1 == 10 ]]; echo $1 >>{tmp_path}/slept; [[ ! -e {conf} ]]",
        "curl": f"cat {tmp_path}/answer-$(wc -l <{tmp_path}/slept) | grep .",
        "ip": f"[[ $5 != {NODES[1]} ]] || echo 'eth0 {NODES[1]}/24'",
    }
    run(script, tmp_path, programs)
    assert (tmp_path / "slept").read_text().split() == ["10"] * rounds
    assert conf.read_text() == master[f"/etc/lab/keepalived/{NODES[1]}.conf"]
    run(script, tmp_path, programs)
    assert (tmp_path / "slept").read_text().split() == ["10"] * rounds, "a configuration stays"


def test_the_config_servers_answer_fits_into_haproxys_buffer(payload: Payload) -> None:
    config = files(payload.role_master)["/etc/lab/config-server.cfg"]
    assert len(payload.role_master) < BUFFER < int(config.partition("tune.bufsize ")[2].split()[0])


def test_a_nodes_api_serves_only_once_its_keepalived_is_configured(payload: Payload) -> None:
    """The bootstrap ends its own API when two nodes serve: one of them must be able to take the VIP."""
    master = files(payload.role_master)
    assert "After=lab-keepalived.service\n" in master[f"{UNITS}/lab-kube-apiserver.service"]
    monitor = master[f"{UNITS}/lab-keepalived-monitor.service"]
    assert "Before=lab-keepalived.service\n" in monitor
    assert "RequiredBy=lab-keepalived.service\n" in monitor


def test_an_api_that_ends_serves_until_the_bootstrap_has_left(payload: Payload) -> None:
    (gone,) = [check for check in on_bootstrap(load_site("platform").plan).checks if check.weight is None]
    leaves_s = gone.interval_s * (gone.fall + 1) + gone.timeout_s
    assert 1.5 * leaves_s < BAREMETAL_SHUTDOWN_S, "as much again for a busy machine"
    bootstrap = files(payload.bootstrap)
    unit = bootstrap[f"{UNITS}/lab-kube-apiserver.service"]
    assert f"SHUTDOWN_S={BAREMETAL_SHUTDOWN_S}\n" in bootstrap["/etc/lab/cluster.env"]
    assert f"TimeoutStopSec={BAREMETAL_SHUTDOWN_S + 10}\n" in unit
