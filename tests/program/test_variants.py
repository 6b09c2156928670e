"""The graphs of clusters that differ from the rehearsal's."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.values.address import parse_address, parse_cidr
from components.cluster import Cluster, ClusterArgs
from testing import clusters, plans
from testing.checkout import ROOT
from tests.program.graph import Graph, run

Run = Callable[..., Graph]
MASTERS = set(plans.HOSTS[:3])


@pytest.fixture
def declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program for one of `clusters.VARIANTS`."""

    def of(name: str, olds: Graph | None = None, **options: Any) -> Graph:
        variant, config = clusters.VARIANTS[name], plans.install_config()
        variant.change(config)
        path = tmp_path / "stacks" / plans.STACK / "install-config.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(config))
        monkeypatch.chdir(tmp_path)
        return run(olds, **variant.options, **options)

    return of


def test_without_compute_the_control_plane_holds_the_ingress_vip(declared: Run) -> None:
    bootstrap = declared("compact")
    production = declared("compact", bootstrap, phase="production")
    assert production.refused == []
    assert [each.name for each in production.of("HostProvisioning")] == ["okd-control-plane"]
    ingress = production.one("VipHeld")
    assert ingress.inputs["nodes"].keys() == MASTERS
    assert production.after(ingress) == {"okd-api"}
    assert not any(name.startswith("okd-compute") for name in production.resources)


def test_an_arbiter_is_installed_beside_the_control_plane(declared: Run) -> None:
    """Neither waits for the other: etcd may grow only when three nodes are there."""
    bootstrap = declared("arbiter")
    production = declared("arbiter", bootstrap, phase="production")
    assert (bootstrap.refused, production.refused) == ([], [])
    masters, arbiters = (bootstrap.resources[f"okd-{role}"] for role in ("control-plane", "arbiter"))
    assert bootstrap.after(masters) == {"okd-api"} | {f"okd-{name}" for name in plans.HOSTS[:2]}
    assert bootstrap.after(arbiters) == {"okd-api", f"okd-{plans.HOSTS[2]}"}
    assert arbiters.inputs["payload_sha256"] == clusters.VARIANTS["arbiter"].options["payload"]["arbiter"]
    handoff = bootstrap.one("VipHandoff").inputs
    assert (handoff["nodes"].keys(), handoff["min_ready"]) == ({*plans.HOSTS[:2]}, 2)
    assert {"okd-control-plane", "okd-arbiter"} < production.after(production.one("VipHandoff"))
    assert production.resources["okd-arbiter"].inputs["out_of_etcd"] == [plans.HOSTS[2]]


def test_servers_that_fence_each_other_have_a_graph_of_the_same_shape(declared: Run) -> None:
    """None of their passwords is in it: only the payload has them."""
    bootstrap = declared("fenced")
    production = declared("fenced", bootstrap, phase="production")
    assert (bootstrap.refused, production.refused) == ([], [])
    for phase in (bootstrap, production):
        assert (phase.one("VipHandoff").inputs["fenced"], phase.one("Machines").inputs["fenced"]) == (True, True)
        fenced = {
            each.name for kind in ("HostProvisioning", "BmcHost") for each in phase.of(kind) if each.inputs["fenced"]
        }
        assert fenced == {"okd-control-plane", *(f"okd-{name}" for name in plans.HOSTS[:2])}
        assert clusters.FENCING_PASSWORD not in repr([each.inputs for each in phase.resources.values()])
    handoff = bootstrap.one("VipHandoff").inputs
    assert (handoff["nodes"].keys(), handoff["min_ready"]) == ({*plans.HOSTS[:2]}, 2)


def test_behind_a_balancer_of_the_site_the_graph_has_the_same_shape(declared: Run) -> None:
    bootstrap = declared("balancer")
    production = declared("balancer", bootstrap, phase="production")
    assert (bootstrap.refused, production.refused) == ([], [])
    for phase, graph in (("bootstrap", bootstrap), ("production", production)):
        usual = declared("rehearsal", phase=phase)
        assert graph.resources.keys() < usual.resources.keys()
        gone = {name.rpartition("-")[2] for name in usual.resources.keys() - graph.resources.keys()}
        assert gone <= {"keepalived", "keepalived.conf", "keepalived.service", "keepalived.sh", "haproxy.cfg"} | {
            *("haproxy.nft", "haproxy.service", "check.sh", "router.sh", "api.sh"),
            *("channel.conf", "channel.service", "channel.sh"),
        }
        for name, each in graph.resources.items():
            assert graph.after(each) == usual.after(usual.resources[name]) & graph.resources.keys(), name


def test_behind_a_balancer_of_the_site_everything_is_proven_by_its_address(declared: Run) -> None:
    bootstrap = declared("balancer")
    production = declared("balancer", bootstrap, phase="production")
    handoff, held = production.one("VipHandoff").inputs, production.one("VipHeld").inputs
    assert (handoff["balancer"], handoff["vips"]) == ("site", ["10.20.0.100"])
    assert handoff["bootstrap_address"] == "192.168.111.20"
    assert (held["balancer"], held["vip"]) == ("site", "10.20.0.100")
    inputs = production.one("NetworkPreflight").inputs
    assert (inputs["balancer"], inputs["api"]["vips"], inputs["ingress"]["vips"]) == (
        "site",
        ["10.20.0.100"],
        ["10.20.0.100"],
    )
    vm = bootstrap.one("BootstrapVm").inputs
    assert (vm["balancer"], vm["vip"]) == ("site", "192.168.111.20")
    assert {each.inputs["unicast"] for each in production.of("HostProvisioning")} == {False}
    assert {each.inputs["api_vip"] for each in production.of("HostProvisioning")} == {"10.20.0.100"}


def test_a_dual_stack_cluster_probes_and_proves_both_families(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    both = clusters.plan("dual-stack", phase="production")

    def program() -> None:
        Cluster(both.name, ClusterArgs(both))

    graph = run(program=program)
    assert {each.name: (each.inputs["vip"], each.inputs["nodes"]) for each in graph.of("VipHeld")} == {
        "okd-ingress": (
            "192.168.111.4",
            {"okd-worker-0": "192.168.111.24", "okd-worker-1": "192.168.111.25"},
        ),
        "okd-ingress-ipv6": ("fd2e::4", {"okd-worker-0": "fd2e::24", "okd-worker-1": "fd2e::25"}),
    }
    inputs = graph.one("NetworkPreflight").inputs
    assert inputs["api"]["vips"] == ["192.168.111.5", "fd2e::5"]
    assert inputs["ingress"]["holders"]["okd-worker-0"] == ["192.168.111.24", "fd2e::24"]


@pytest.mark.parametrize(
    ("name", "unicast"),
    [("rehearsal", (True, False)), ("multicast", (False, False)), ("static", (True, True)), ("compact", (True,))],
)
def test_a_rollout_knows_whether_its_hosts_are_unicast_peers(
    declared: Run, name: str, unicast: tuple[bool, ...]
) -> None:
    production = declared(name, declared(name), phase="production")
    assert tuple(each.inputs["unicast"] for each in production.of("HostProvisioning")) == unicast


def test_hosts_get_their_own_keyfiles_with_passwords_as_secrets(declared: Run) -> None:
    graph = declared("static")
    assert "keyfiles" in graph.one("HostProvisioning").secrets
    keyfiles = graph.one("HostProvisioning").inputs["keyfiles"]
    assert {name: sorted(files) for name, files in keyfiles.items()} == {
        "okd-master-0": ["bond0.nmconnection", "eno1.nmconnection", "eno2.nmconnection"],
        "okd-master-1": ["eno1.nmconnection"],
        "okd-master-2": ["eno1.nmconnection"],
    }
    assert clusters.SWITCH_PASSWORD in keyfiles["okd-master-0"]["eno1.nmconnection"]
    assert graph.resources["okd-hosts-okd-master-0-bond0.nmconnection"].secrets == {"text"}
    assert graph.resources["okd-hosts-okd-worker-0-eno1.nmconnection"].secrets == set()
    for each in graph.resources.values():
        plain = {key: value for key, value in each.inputs.items() if key not in each.secrets}
        assert clusters.SWITCH_PASSWORD not in repr(plain), each.name


def test_objects_of_servers_come_once_okd_is_complete_on_baremetal(declared: Run) -> None:
    bootstrap = declared("baremetal")
    assert bootstrap.of("ServerObjects") == []
    assert declared("baremetal", bootstrap, phase="production").of("ServerObjects") == []
    graph = declared("baremetal", bootstrap, phase="production", wait="install")
    objects = graph.one("ServerObjects")
    assert (graph.refused, graph.after(objects), objects.protect) == ([], {"okd-okd"}, False)
    assert objects.name in graph.after(graph.one("DestroyGuard"))
    kinds = ("BareMetalHost", "Machine")
    named = {f"{kind}/{name}" for kind in kinds for name in plans.HOSTS}
    assert objects.inputs["objects"].keys() == named | {"Provisioning/provisioning-configuration"}
    assert objects.inputs["urn"] == objects.urn
    assert declared("rehearsal", phase="production", wait="install").of("ServerObjects") == []


def test_no_login_or_address_of_a_bmc_is_an_input_of_the_objects(declared: Run) -> None:
    production = declared("baremetal", declared("baremetal"), phase="production", wait="install")
    objects = json.dumps(production.one("ServerObjects").inputs["objects"])
    for host in plans.install_config()["platform"]["baremetal"]["hosts"]:
        assert host["bmc"]["address"] not in objects
        assert host["bmc"]["password"] not in objects
    assert "bmc" not in objects.replace("bootMACAddress", "")


def test_addresses_spelled_in_another_way_change_nothing_installed(declared: Run, tmp_path: Path) -> None:
    options = clusters.VARIANTS["dual-stack"].options
    installed = declared("dual-stack", declared("dual-stack"), phase="production")
    path = tmp_path / "stacks" / plans.STACK / "install-config.yaml"
    config, respelled = yaml.safe_load(path.read_text()), 0

    def other(value: Any) -> Any:
        nonlocal respelled
        if isinstance(value, dict):
            return {key: other(part) for key, part in reversed(value.items())}
        if isinstance(value, list):
            return [other(part) for part in value]
        if isinstance(value, str) and (cidr := parse_cidr(value)):
            value = cidr.exploded
        elif isinstance(value, str) and (address := parse_address(value)):
            value = address.exploded
        respelled += isinstance(value, str) and ":" in value and value != value.upper()
        return value.upper() if isinstance(value, str) and re.fullmatch(r"[0-9a-fA-F:./]+", value) else value

    path.write_text(yaml.safe_dump(other(config), sort_keys=False))
    again = run(installed, phase="production", **other(dict(options)))
    assert (again.refused, again.resources.keys()) == ([], installed.resources.keys())
    assert {
        (name, key)
        for name, before in installed.resources.items()
        for key in before.inputs
        if before.inputs[key] != again.resources[name].inputs[key]
    } == {("okd-preflight", "topology")}
    assert respelled > 10
