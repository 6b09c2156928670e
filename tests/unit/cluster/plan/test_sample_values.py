"""Samples for `render`: free addresses of the machine network, and images; always the same."""

from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from base.errors import ConfigError
from cluster.options import Images
from cluster.plan import ClusterPlan
from cluster.plan.refusals.missing import Missing, missing
from cluster.plan.sample_values import with_samples
from testing import clusters, plans
from testing.install_configs import host
from testing.plan_files import Files

ALL = [*(f"node_addresses.{name}" for name in plans.HOSTS), "bootstrap.address"]


def samples(made: dict[Missing, str]) -> dict[str, str]:
    return {each.where.removeprefix("node_addresses."): value for each, value in made.items() if each.version}


def test_a_plan_needs_no_samples(plan: ClusterPlan) -> None:
    assert missing(plan) == []
    assert with_samples(plan) == (plan, {})


def test_sample_addresses_avoid_the_vips_and_follow_the_order_of_the_file() -> None:
    assert [each.where for each in missing(plans.intent())] == [*ALL, "images.release"]
    placed, made = with_samples(plans.intent())
    # .4 and .5 are the VIPs.
    lasts = (1, 2, 3, 6, 7, 8)
    assert list(samples(made).values()) == [f"192.168.111.{last}" for last in lasts]
    assert [str(server.address) for server in placed.servers] == [f"192.168.111.{last}" for last in lasts[:-1]]
    assert str(placed.bootstrap.address) == "192.168.111.8"
    assert placed.images.release == f"registry.example.com/sample/release@sha256:{'0' * 64}"
    assert missing(placed) == []
    assert with_samples(plans.intent()) == (placed, made)


def test_named_images_are_kept_and_the_runtime_host_needs_none() -> None:
    for images in (clusters.IMAGES, {"release": clusters.RELEASE}):
        placed, made = with_samples(plans.intent({"images": images}))
        assert placed.images == Images(**images)
        assert [each.where for each in made] == ALL
    assert [each.where for each in missing(plans.intent({"runtime": "host"}))] == ALL


def test_named_addresses_are_kept_and_not_used_again(tmp_path: Path) -> None:
    def bmc_in_the_machine_network(config: dict[str, Any]) -> None:
        host(config)["bmc"].update(address="redfish-virtualmedia://192.168.111.2/redfish/v1/Systems/1")

    named = {"node_addresses": {"okd-master-1": ["192.168.111.1"]}, "bootstrap": {"address": "192.168.111.3"}}
    placed, made = with_samples(Files(tmp_path).intent(bmc_in_the_machine_network, named))
    assert samples(made) == {
        "okd-master-0": "192.168.111.6",
        "okd-master-2": "192.168.111.7",
        "okd-worker-0": "192.168.111.8",
        "okd-worker-1": "192.168.111.9",
    }
    assert str(placed.servers[1].address) == "192.168.111.1"
    assert str(placed.bootstrap.address) == "192.168.111.3"


def test_a_missing_family_is_added_in_the_order_of_the_families(tmp_path: Path) -> None:
    named = {"node_addresses": {name: ["fd2e::21"] for name in plans.HOSTS[:1]}}
    placed, _ = with_samples(Files(tmp_path).intent(clusters.dual_stack, named))
    assert placed.servers[0].addresses == (ip_address("192.168.111.1"), ip_address("fd2e::21"))
    assert placed.servers[1].addresses == (ip_address("192.168.111.2"), ip_address("fd2e::1"))
    assert placed.bootstrap.addresses == (ip_address("192.168.111.8"), ip_address("fd2e::7"))


def test_a_full_network_is_refused(tmp_path: Path) -> None:
    def small(config: dict[str, Any]) -> None:
        config["networking"]["machineNetwork"][0]["cidr"] = "192.168.111.0/29"

    with pytest.raises(ConfigError) as caught:
        with_samples(Files(tmp_path).intent(small))
    line = "node_addresses.okd-worker-1: 192.168.111.0/29 has no free address for a sample. Fix: name the address"
    assert str(caught.value) == line
