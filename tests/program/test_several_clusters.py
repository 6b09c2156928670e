"""Several clusters in one program, also below a foreign component: no two names collide."""

from contextlib import chdir
from pathlib import Path
from typing import Any

import pulumi
import pytest

from cluster.plan import ClusterPlan
from components.cluster import Cluster, ClusterArgs
from testing.checkout import ROOT
from testing.install_configs import bare
from testing.plan_files import Files
from tests.program.graph import Graph, run

VIPS = {"okd": ("192.168.111.5", "192.168.111.4"), "two": ("192.168.111.7", "192.168.111.6")}
VIPS["three"] = ("192.168.111.9", "192.168.111.8")
IMAGE = {"source": "/srv/coreos-qemu.qcow2", "sha256": "c2" * 32}
MANAGED = {"bootstrap": {"address": "192.168.111.20"}, "provisioner": {"manage": True, "base_image": IMAGE}}


def plan(folder: Path, name: str, **options: Any) -> ClusterPlan:
    """The rehearsal's cluster under another name and at other VIPs; its hosts have the same names."""

    def change(config: dict[str, Any]) -> None:
        api, ingress = VIPS[name]
        config["metadata"]["name"] = name
        bare(config).update(apiVIPs=[api], ingressVIPs=[ingress])

    return Files(folder).plan(change, **options)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param({}, id="bootstrap"),
        pytest.param({"phase": "production", "import_production": True}, id="production"),
        pytest.param(MANAGED, id="managed"),
    ],
)
def graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """The graph of two clusters at the top, and a third one below a foreign component."""
    folder = tmp_path_factory.mktemp("clusters")
    plans = {name: plan(folder, name, **request.param) for name in VIPS}

    def program() -> None:
        for name in ("okd", "two"):
            Cluster(name, ClusterArgs(plans[name]))
        site = pulumi.ComponentResource("acme:index:Site", "site")
        Cluster("three", ClusterArgs(plans["three"]), pulumi.ResourceOptions(parent=site))

    with chdir(ROOT):
        return run(program=program)


def of(graph: Graph, cluster: str) -> set[str]:
    return {name for name in graph.resources if name.startswith(f"{cluster}-")}


def test_each_cluster_is_declared_in_full_and_accepts_its_inputs(graph: Graph) -> None:
    assert graph.refused == []
    assert sorted(graph.components).count("baremetal:cluster:Cluster") == 3
    per_cluster = {name: {each.removeprefix(name) for each in of(graph, name)} for name in VIPS}
    assert per_cluster["okd"] == per_cluster["two"] == per_cluster["three"]
    assert sum(map(len, per_cluster.values())) == len(graph.resources)


def test_no_cluster_waits_for_another_one(graph: Graph) -> None:
    for cluster in VIPS:
        mine = of(graph, cluster)
        assert {other for name in mine for other in graph.after(graph.resources[name])} <= mine


def test_each_urn_input_is_the_engines_urn(graph: Graph) -> None:
    knowing = [each for each in graph.resources.values() if "urn" in each.inputs and each.kind != "RenderedAsset"]
    assert len(knowing) in (3 * 11, 3 * 14)
    for each in knowing:
        assert each.inputs["urn"] == each.urn
    for cluster in VIPS:
        servers = {each.name: each.urn for each in graph.of("BmcHost")}
        for rollout in graph.of("HostProvisioning"):
            if rollout.name.startswith(f"{cluster}-"):
                hosts = rollout.inputs["hosts"]
                assert rollout.inputs["rows"] == {host: servers[f"{cluster}-{host}"] for host in hosts}


def test_a_urn_begins_with_the_types_of_the_clusters_parents(graph: Graph) -> None:
    start, cluster = "urn:pulumi:rehearsal::okd-baremetal", "baremetal:cluster:Cluster"
    server = "baremetal:servers:Servers$pulumi-python:dynamic/baremetal:BmcHost"
    assert graph.resources["two-okd-master-0"].inputs["urn"] == f"{start}::{cluster}${server}::two-okd-master-0"
    assert graph.resources["three-okd-master-0"].inputs["urn"] == (
        f"{start}::acme:index:Site${cluster}${server}::three-okd-master-0"
    )
    assert graph.resources["three-api"].inputs["urn"] == (
        f"{start}::acme:index:Site${cluster}$pulumi-python:dynamic/baremetal:VipHandoff::three-api"
    )
