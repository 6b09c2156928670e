"""Addresses made up for a look: free ones of the machine network, always the same."""

from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from assets.errors import AssetError
from assets.sample_addresses import missing_addresses, with_samples
from cluster.plan import ClusterPlan
from tests import plans
from tests.unit.assets.test_limits import dual_stack
from tests.unit.cluster.install_config.cases import host
from tests.unit.cluster.plan.files import Files

BOOTSTRAP = ("bootstrap.address", 4)
ALL = [*((f"node_addresses.{name}", 4) for name in plans.HOSTS), BOOTSTRAP]


def samples(made: dict[tuple[str, int], Any]) -> dict[str, str]:
    return {option.removeprefix("node_addresses."): str(address) for (option, _), address in made.items()}


def test_a_plan_misses_none(plan: ClusterPlan) -> None:
    assert missing_addresses(plan) == []
    assert with_samples(plan) == (plan, {})


def test_they_avoid_the_vips_and_follow_the_order_of_the_file() -> None:
    assert missing_addresses(plans.intent()) == ALL
    placed, made = with_samples(plans.intent())
    # .4 and .5 are the VIPs.
    lasts = (1, 2, 3, 6, 7, 8)
    assert list(samples(made).values()) == [f"192.168.111.{last}" for last in lasts]
    assert [str(server.address) for server in placed.servers] == [f"192.168.111.{last}" for last in lasts[:-1]]
    assert str(placed.bootstrap.address) == "192.168.111.8"
    assert missing_addresses(placed) == []
    assert with_samples(plans.intent()) == (placed, made)


def test_what_is_named_stays_and_is_not_given_twice(tmp_path: Path) -> None:
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


def test_a_family_that_a_server_lacks_is_completed_the_primary_one_first(tmp_path: Path) -> None:
    named = {"node_addresses": {name: ["fd2e::21"] for name in plans.HOSTS[:1]}}
    placed, made = with_samples(Files(tmp_path).intent(dual_stack, named))
    assert placed.servers[0].addresses == (ip_address("192.168.111.1"), ip_address("fd2e::21"))
    assert placed.servers[1].addresses == (ip_address("192.168.111.2"), ip_address("fd2e::1"))
    assert (BOOTSTRAP in made, ("bootstrap.address", 6) in made) == (True, False)


def test_a_network_that_is_full_is_told(tmp_path: Path) -> None:
    def small(config: dict[str, Any]) -> None:
        config["networking"]["machineNetwork"][0]["cidr"] = "192.168.111.0/29"

    with pytest.raises(AssetError) as caught:
        with_samples(Files(tmp_path).intent(small))
    line = "node_addresses.okd-worker-1: 192.168.111.0/29 has no address left for a sample; name it"
    assert str(caught.value) == line
