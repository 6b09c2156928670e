"""The plan for other programs: its exact shape, and no secret in it."""

import json
from typing import Any

import pytest

from cluster.plan import ClusterPlan, plan_json
from testing import clusters, plans
from testing.install_configs import SECRETS, bare, host
from testing.plan_files import Files

BMC = {
    "driver": "redfish",
    "scheme": "redfish-virtualmedia+https",
    "host": "172.22.0.105",
    "port": 8443,
    "virtual_media": True,
    "needs_provisioning_network": False,
    "verify_tls": True,
}


def test_the_shape_of_the_rehearsal_s_plan(plan: ClusterPlan) -> None:
    document = plan_json(plan)
    hosts = document.pop("hosts")
    assert document == {
        "cluster": {"name": "okd", "base_domain": "lab.test", "domain": "okd.lab.test"},
        "platform": "none",
        "balancer": "ours",
        "api": {
            "vips": ["192.168.111.5"],
            "vrid": 67,
            "transport": "unicast",
            "policy": "release",
            "priorities": {
                "bootstrap": 70,
                "release": -20,
                "bootstrap_api_down": -20,
                "control_plane": 40,
                "load_balancer": 20,
                "api": 5,
                "config_server": 3,
            },
        },
        "ingress": {
            "vips": ["192.168.111.4"],
            "vrid": 162,
            "transport": "multicast",
            "priorities": {"node": 20, "router_ready": 10, "default_router": 50},
        },
        "spares": [],
        "provisioning": {"mode": "Disabled"},
        "dns_records": {
            "api.okd.lab.test": ["192.168.111.5"],
            "*.apps.okd.lab.test": ["192.168.111.4"],
        },
        "bootstrap": {
            "name": "okd-bootstrap",
            "mac": "52:54:00:11:10:14",
            "bridge": "baremetal",
            "addresses": ["192.168.111.20"],
        },
    }
    assert [host["name"] for host in hosts] == list(plans.HOSTS)
    assert hosts[4] == {
        "name": "okd-worker-1",
        "role": "worker",
        "boot_mac": "52:54:00:11:10:19",
        "addresses": ["192.168.111.25"],
        "disk": "deviceName: /dev/vda",
        "bmc": {**BMC, "system_id": "/redfish/v1/Systems/4f9dded0-6f17-5973-aabe-d17b75eb547c"},
    }


def test_values_that_no_input_names_are_null() -> None:
    document = plan_json(plans.intent())
    assert [host["addresses"] for host in document["hosts"]] == [None] * 5
    assert document["bootstrap"]["addresses"] is None


def test_a_spare_has_no_role_and_is_named(files: Files) -> None:
    def change(config: dict[str, Any]) -> None:
        config["compute"][0].update(replicas=1)
        for each in bare(config)["hosts"]:
            del each["role"]

    document = plan_json(files.intent(change))
    assert document["hosts"][4]["role"] is None
    assert document["spares"] == ["okd-worker-1"]


@pytest.mark.parametrize(
    ("hints", "disk"),
    [
        pytest.param(
            {"rootDeviceHints": {"wwn": "0x6000C29E1B2C3D4E5F60718293A4B5C6", "minSizeGigabytes": 100}},
            "minSizeGigabytes: 100, wwn: 0x6000c29e1b2c3d4e5f60718293a4b5c6",
            id="W02",
        ),
        pytest.param(
            {"rootDeviceHints": {"deviceName": "/dev/disk/by-path/A"}}, "deviceName: /dev/disk/by-path/A", id="path"
        ),
        pytest.param({}, "no hint (/dev/sda, else the smallest disk of at least 4 GiB)", id="none"),
    ],
)
def test_the_hints_are_shown_as_they_are_compared(files: Files, hints: dict[str, Any], disk: str) -> None:
    def change(config: dict[str, Any]) -> None:
        del host(config)["rootDeviceHints"]
        host(config).update(hints)

    document = plan_json(files.intent(change))
    assert document["hosts"][0]["disk"] == disk


def test_the_json_holds_no_secret(files: Files) -> None:
    secret = {"username": "an-operator", "password": "hunter2"}
    login = {"eap-methods": ["md5"], "identity": "okd", "password": "hunter2"}

    def change(config: dict[str, Any]) -> None:
        host(config).update(networkConfig={"interfaces": [{"name": "eno1", "type": "ethernet", "802.1x": login}]})

    plan = files.plan(change, bmc_credentials={"okd-master-0": secret})
    assert "hunter2" in plan.servers[0].keyfiles[0].text
    text = json.dumps(plan_json(plan))
    assert not any(each in text for each in (*SECRETS, *secret.values(), "admin"))


def test_with_a_balancer_of_the_site_nothing_is_said_of_vrrp() -> None:
    document = plan_json(clusters.intent("balancer"))
    assert {key: document[key] for key in ("balancer", "api", "ingress", "dns_records")} == {
        "balancer": "site",
        "api": {"vips": ["10.20.0.100"]},
        "ingress": {"vips": ["10.20.0.100"]},
        "dns_records": {
            "api.okd.lab.test": ["10.20.0.100"],
            "api-int.okd.lab.test": ["10.20.0.100"],
            "*.apps.okd.lab.test": ["10.20.0.100"],
        },
    }
