"""A payload of platform baremetal: what is wanted in it is forbidden in one of platform none, and the reverse."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.yaml_text import yaml_of
from cluster.values.platform import ClusterPlatform
from payload.checks import Expected, check_payload
from payload.of_servers import UNITS, is_of_servers, unit_of
from testing import clusters, payloads, plans
from testing.baremetal_payload import OPENSHIFT, QUADLETS, become_baremetal, infrastructure, manifests_of_servers
from testing.payloads import DOMAIN, MANIFEST, NOW, TLS, Files, config_of, issued, put, without

FOLDER = Path("stacks/lab/payload")
VIP = "192.168.111.5"
INTENT = plans.intent(plans.options(platform="baremetal"))
EXPECTED = Expected.of(INTENT, INTENT.payload_values, ())
OF_NONE = replace(EXPECTED, platform=ClusterPlatform.NONE)
GENERATE = "`pulumi config rm payload --stack lab`, then `okd-baremetal payload lab`"


def baremetal(change: Callable[[Files], object] = lambda _: None) -> dict[str, bytes]:
    """Return a payload of platform baremetal after a change."""
    files = payloads.good()
    become_baremetal(files, config_of())
    change(files)
    return payloads.written(files)


def lines_of(contents: dict[str, bytes], expected: Expected = EXPECTED) -> list[str]:
    return [str(fault) for fault in check_payload(FOLDER, contents, expected, NOW)]


def test_a_payload_of_either_platform_has_no_fault_for_its_own() -> None:
    assert lines_of(baremetal()) == []
    assert lines_of(payloads.payload(), OF_NONE) == []


def test_a_payload_of_an_ipv6_cluster_points_to_its_address_in_brackets() -> None:
    variant = clusters.VARIANTS["ipv6"]
    config, intent = config_of(variant.change), clusters.intent("ipv6", platform="baremetal")
    files = payloads.good(config=config)
    become_baremetal(files, config)
    assert lines_of(payloads.written(files), Expected.of(intent, intent.payload_values, ())) == []
    (source,) = files["master"]["ignition"]["config"]["merge"]
    assert source == {"source": "https://[fd2e::5]:22623/config/master"}


def test_one_of_none_is_refused_on_baremetal() -> None:
    assert [line.partition(". Fix: ")[0] for line in lines_of(payloads.payload())] == [
        f"{FOLDER}/bootstrap.ign: generated for platform None, not for BareMetal",
        f"{FOLDER}/bootstrap.ign: {TLS}/machine-config-server.crt in it is for api-int.{DOMAIN}, not for {VIP}",
        f"{FOLDER}/master.ign: of another cluster: it names api-int.{DOMAIN}, the plan names {VIP}",
        f"{FOLDER}/worker.ign: of another cluster: it names api-int.{DOMAIN}, the plan names {VIP}",
    ]


def test_one_of_baremetal_is_refused_on_none() -> None:
    assert [line.partition(". Fix: ")[0] for line in lines_of(baremetal(), OF_NONE)] == [
        f"{FOLDER}/bootstrap.ign: generated for platform BareMetal, not for None",
        f"{FOLDER}/master.ign: of another cluster: it names {VIP}, the plan names api-int.{DOMAIN}",
        f"{FOLDER}/worker.ign: of another cluster: it names {VIP}, the plan names api-int.{DOMAIN}",
    ]


@pytest.mark.parametrize("name", QUADLETS)
def test_each_quadlet_that_owns_servers_is_refused_on_none(name: str) -> None:
    path = f"/etc/containers/systemd/{name}"
    (line,) = lines_of(payloads.payload(lambda files: put(files, path, "[Container]\n")), OF_NONE)
    assert line.startswith(f"{FOLDER}/bootstrap.ign: brings {path}, a second owner of the servers. Fix: ")
    assert unit_of(path) in UNITS


def adding(name: str) -> Callable[[Files], object]:
    return lambda files: put(files, f"{OPENSHIFT}/{name}", manifests_of_servers(config_of())[name])


def with_unit(name: str) -> Callable[[Files], object]:
    return lambda files: files["bootstrap"]["systemd"]["units"].append({"name": name})


def with_vips(**changes: Any) -> Callable[[Files], object]:
    config = config_of(lambda written: written["platform"]["baremetal"].update(changes))
    return lambda files: put(files, MANIFEST, infrastructure(config))


OWNER = "a second owner of the servers"
KNOWS = "name `platform: none`, or use an okd-baremetal that knows this release"
FAULTS = [
    pytest.param(
        adding("99_openshift-cluster-api_hosts-3.yaml"),
        f"brings BareMetalHost (in {OPENSHIFT}/99_openshift-cluster-api_hosts-3.yaml), by which the cluster ",
        GENERATE,
        id="a-host",
    ),
    pytest.param(
        adding("99_openshift-cluster-api_worker-machineset-0.yaml"), "brings MachineSet (in ", GENERATE, id="a-set"
    ),
    pytest.param(
        adding("99_baremetal-provisioning-config.yaml"), "brings Provisioning (in ", GENERATE, id="provisioning"
    ),
    pytest.param(
        lambda files: put(files, f"{OPENSHIFT}/site.yaml", "kind: ConfigMap\n---\nkind: Machine\n"),
        f"brings Machine (in {OPENSHIFT}/site.yaml)",
        GENERATE,
        id="a-machine-of-the-site",
    ),
    pytest.param(
        lambda files: put(files, f"{OPENSHIFT}/site.json", json.dumps({"kind": "BareMetalHost"}, indent="\t")),
        f"brings BareMetalHost (in {OPENSHIFT}/site.json)",
        GENERATE,
        id="in-json",
    ),
    pytest.param(
        lambda files: put(
            files, f"{OPENSHIFT}/site.yml", yaml_of({"kind": "List", "items": [{"kind": "MachineSet"}]})
        ),
        f"brings MachineSet (in {OPENSHIFT}/site.yml)",
        GENERATE,
        id="in-a-list",
    ),
    pytest.param(
        lambda files: put(files, "/opt/openshift/manifests/x.yaml", "kind: ControlPlaneMachineSet\n"),
        "brings ControlPlaneMachineSet (in /opt/openshift/manifests/x.yaml)",
        GENERATE,
        id="in-the-other-folder",
    ),
    pytest.param(
        lambda files: put(files, f"{OPENSHIFT}/site.json", "{"),
        f"{OPENSHIFT}/site.json in it is not valid JSON",
        "correct that manifest, and generate the payload again",
        id="broken-json",
    ),
    pytest.param(
        lambda files: put(files, "/etc/containers/systemd/agent.pod", ""),
        f"brings /etc/containers/systemd/agent.pod, {OWNER}",
        KNOWS,
        id="a-quadlet-of-another-kind",
    ),
    pytest.param(
        lambda files: put(files, "/etc/containers/systemd/new-agent.container", ""),
        f"brings /etc/containers/systemd/new-agent.container, {OWNER}",
        KNOWS,
        id="a-quadlet-of-a-later-release",
    ),
    pytest.param(with_unit("ironic-tls.service"), f"brings ironic-tls.service, {OWNER}", KNOWS, id="a-later-unit"),
    pytest.param(
        with_vips(ingressVIPs=["192.168.111.9"]), "made for ingressVIPs 192.168.111.9, ", GENERATE, id="vip"
    ),
    pytest.param(
        lambda files: put(files, f"{TLS}/machine-config-server.crt", issued("root-ca", f"api-int.{DOMAIN}")),
        f"{TLS}/machine-config-server.crt in it is for api-int.{DOMAIN}, not for {VIP}",
        "take the file that openshift-install wrote",
        id="a-config-server-without-the-address",
    ),
]


@pytest.mark.parametrize(("change", "what", "fix"), FAULTS)
def test_a_fault_of_a_baremetal_payload_is_one_line(change: Callable[[Files], object], what: str, fix: str) -> None:
    (line,) = lines_of(baremetal(change))
    assert line.startswith(f"{FOLDER}/bootstrap.ign: {what}")
    assert line.partition(". Fix: ")[2].startswith(fix) or fix in line.partition(". Fix: ")[2]


@pytest.mark.parametrize("name", [*UNITS])
def test_a_masked_unit_is_no_fault_whatever_release_brings_it(name: str) -> None:
    assert lines_of(baremetal(with_unit(name))) == []


def test_every_manifest_that_owns_servers_is_removed() -> None:
    found = manifests_of_servers(config_of(clusters.static))
    assert len(found) == 2 + 3 + 3 * len(plans.HOSTS)
    assert all(map(is_of_servers, found))


@pytest.mark.parametrize(
    "name",
    ["99_openshift-cluster-api_master-user-data-secret.yaml", "99_openshift-machineconfig_99-master-ssh.yaml"],
)
def test_manifests_that_own_no_server_stay(name: str) -> None:
    assert not is_of_servers(name)


def test_a_payload_without_a_manifest_has_its_own_fault() -> None:
    (line,) = lines_of(baremetal(lambda files: without(files, MANIFEST)))
    assert f"no {MANIFEST} in it" in line
