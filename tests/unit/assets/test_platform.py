"""Platform baremetal: what the payload and the machine-config operator bring is masked, kept out, or left to them."""

import json

import pytest

from assets.ignition import own_config
from assets.keepalived import on_bootstrap
from assets.render import render
from cluster.plan import Intent
from cluster.values.vrrp import derived_vrids
from payload.of_servers import QUADLETS as FOLDER
from payload.of_servers import UNITS, unit_of
from testing import clusters
from testing.baremetal_payload import QUADLETS
from testing.baremetal_payload import UNITS as UNITS_OF_A_PAYLOAD

NAMES = ("baremetal", "balancer", "compact", "ipv6", "spares", "static", "host", "images")
PLAIN: dict[str, dict[str, str]] = {"vrrp": {}}
"""Options that platform baremetal excludes are back to their defaults."""


def intent_of(name: str) -> Intent:
    """Return the intent of a cluster, on platform baremetal."""
    variant = clusters.VARIANTS[name]
    options = {**variant.options, **PLAIN, "platform": "baremetal"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(clusters.VARIANTS, name, clusters.Variant(variant.change, options))
        return clusters.intent(name)


def test_all_of_a_payload_that_owns_servers_is_masked_on_the_bootstrap() -> None:
    units = {
        unit["name"]: unit
        for unit in json.loads(own_config(render(intent_of("baremetal")).bootstrap))["systemd"]["units"]
    }
    wanted = {*(unit_of(FOLDER.replace("*", name)) for name in QUADLETS), *UNITS_OF_A_PAYLOAD}
    assert {"ironic.service", "ironic-volume.service", "master-bmh-update.service"} < wanted <= units.keys()
    for name in wanted:
        assert units[name] == {"name": name, "enabled": False, "mask": True}


@pytest.mark.parametrize("name", NAMES)
def test_the_masks_are_those_of_the_table_and_no_file_of_this_program(name: str) -> None:
    rendered = render(intent_of(name))
    masks = {file.name for file in rendered.bootstrap if file.is_mask}
    assert masks == {*UNITS}
    assert not {file.path for file in rendered.bootstrap if file.is_mask} & rendered.paths
    assert not any(
        file.is_mask for folder, files in rendered.folders.items() for file in files if folder != "bootstrap"
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_node_gets_its_name_network_and_time_only(name: str) -> None:
    intent = intent_of(name)
    rendered = render(intent)
    kinds = ("/etc/hostname", "/etc/NetworkManager/system-connections/", "/etc/chrony.conf")
    files = [file for server in intent.servers for file in rendered.of(server)]
    assert files
    assert [file.path for file in files if not file.path.startswith(kinds)] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_keyfile_names_the_vip_as_dns_server_on_baremetal(name: str) -> None:
    """CoreDNS of a node would forward to the VIP, and the VIP's holder to itself."""
    intent = intent_of(name)
    rendered = render(intent)
    keyfiles = [
        file for server in intent.servers for file in rendered.of(server) if "system-connections" in file.path
    ]
    lines = [line for file in keyfiles for line in file.text.splitlines() if line.startswith("dns=")]
    assert not [line for line in lines if any(str(vip) in line for vip in intent.api.addresses)]


def test_the_bootstrap_s_keepalived_is_one_that_the_operators_nodes_accept() -> None:
    intent = intent_of("baremetal")
    (instance,) = on_bootstrap(intent).instances
    assert (instance.password, instance.vrid, instance.priority) == ("okd_api_", derived_vrids("okd").api, 70)
    assert instance.peers == tuple(server.address for server in intent.control_plane)
    assert [(check.weight, check.interval_s * check.fall) for check in instance.checks] == [(-20, 4), (None, 4)]


def test_vrrp_of_an_ipv6_vip_has_no_password() -> None:
    (instance,) = on_bootstrap(intent_of("ipv6")).instances
    assert instance.password == ""


def test_a_balancer_of_the_site_leaves_the_bootstrap_only_masks() -> None:
    rendered = render(intent_of("balancer"))
    assert [file.path for file in rendered.bootstrap if not file.is_mask] == []


@pytest.mark.parametrize("platform", ["none", "baremetal"])
def test_the_payloads_keepalived_is_kept_out_only_on_baremetal(platform: str) -> None:
    files = {file.path: file.text for file in render(clusters.intent("rehearsal", platform=platform)).bootstrap}
    link = files.get("/etc/tmpfiles.d/okd-no-keepalived.conf", "")
    wanted = "L+ /etc/kubernetes/manifests/keepalived.yaml - - - - /dev/null\n"
    assert link.endswith(wanted) == (platform == "baremetal")
