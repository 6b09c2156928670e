"""Who serves network boot, for whom, and which VIP compute boots at."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assets.render import render
from cluster.plan import Role
from cluster.values.role import BOOTSTRAP
from testing import clusters, plans
from testing.install_configs import bare
from testing.plan_files import Files
from tests.unit.assets.policy_oracle import parse

SERVED_BY = {BOOTSTRAP: ("okd-master-0", "okd-master-1"), "control-plane": ("okd-worker-0", "okd-worker-1")}
OF_BOOTS = {"dnsmasq.conf", "provisioning.cfg", "okd-provisioning-dnsmasq.service", "okd-provisioning-proxy.service"}


def only(*booting: str) -> Callable[[dict[str, Any]], None]:
    """Have only these hosts boot from the network."""

    def change(config: dict[str, Any]) -> None:
        clusters.managed(config)
        for host in bare(config)["hosts"]:
            if host["name"] not in booting:
                host["bmc"]["address"] = host["bmc"]["address"].replace("redfish+", "redfish-virtualmedia+")

    return change


@pytest.mark.parametrize(
    ("booting", "serving"),
    [
        pytest.param((), set(), id="nobody"),
        pytest.param(("okd-master-1",), {BOOTSTRAP}, id="control-plane"),
        pytest.param(
            ("okd-worker-0",), {"control-plane", *(f"hosts/okd-master-{each}" for each in range(3))}, id="compute"
        ),
    ],
)
def test_only_machines_whose_clients_boot_from_the_network_serve_it(
    booting: tuple[str, ...], serving: set[str], tmp_path: Path
) -> None:
    folders = render(Files(tmp_path).intent(only(*booting), plans.options())).folders
    assert {folder for folder, own in folders.items() if OF_BOOTS & {file.name for file in own}} == serving
    asking = {folder for folder, own in folders.items() if any("DNSMASQ_IMAGE=ironic" in file.text for file in own)}
    assert asking == {folder for folder in serving if "/" not in folder}
    vips = [folder for folder, own in folders.items() if any("okd_PROVISIONING_0" in file.text for file in own)]
    assert len(vips) == (3 if "okd-worker-0" in booting else 0)


def test_control_plane_nodes_share_reservations_but_not_addresses() -> None:
    rendered = render(clusters.intent("managed"))
    texts = {name: file.text for name, own in rendered.servers.items() for file in own if file.name == "dnsmasq.conf"}
    assert list(texts) == ["okd-master-0", "okd-master-1", "okd-master-2"]
    own = {name: re.findall(r"^listen-address=(.*)$", text, re.M) for name, text in texts.items()}
    assert own == {f"okd-master-{each}": [f"172.22.0.1{each}"] for each in range(3)}
    assert len({re.sub("listen-address=.*", "", text) for text in texts.values()}) == 1
    (bootstrap,) = (file.text for file in rendered.bootstrap if file.name == "dnsmasq.conf")
    for where, text in {BOOTSTRAP: bootstrap, "control-plane": texts["okd-master-0"]}.items():
        assert tuple(re.findall(r"^dhcp-host=.*,(\S+)$", text, re.M)) == SERVED_BY[where]


def test_without_a_gateway_dhcp_names_no_router(tmp_path: Path) -> None:
    def without(config: dict[str, Any]) -> None:
        clusters.managed(config)
        del bare(config)["provisioningNetworkGateway"]

    (text,) = (
        file.text
        for file in render(Files(tmp_path).intent(without, plans.options())).bootstrap
        if file.name == "dnsmasq.conf"
    )
    assert "\ndhcp-option=option:router\n" in text


def test_the_provisioning_vip_is_claimed_at_the_addresses_there() -> None:
    intent = clusters.intent("managed")
    rendered = render(intent)
    texts = {
        each.name: next(file.text for file in rendered.of(each) if file.name == "keepalived.conf")
        for each in intent.control_plane
    }
    claims = {name: parse(text)["okd_PROVISIONING_0"] for name, text in texts.items()}
    addresses = {f"okd-master-{each}": f"172.22.0.1{each}" for each in range(3)}
    assert {name: each.peers for name, each in claims.items()} == {
        name: frozenset(addresses.values()) - {own} for name, own in addresses.items()
    }
    assert [each.priority for each in claims.values()] == [40, 39, 38]
    for name, text in texts.items():
        (block,) = re.findall(r"^vrrp_instance okd_PROVISIONING_0 .*?^}$", text, re.M | re.S)
        assert f"unicast_src_ip {addresses[name]}\n" in block
        assert "172.22.0.3/32 label vip\n" in block
        assert "interface @INTERFACE:172.22.0.3@\n" in block
        assert "virtual_router_id 239\n" in block
    unit = next(file.text for file in rendered.roles[Role.CONTROL_PLANE] if file.name == "okd-keepalived.service")
    assert "okd-keepalived.sh 60 192.168.111.5 172.22.0.3\n" in unit
    (text,) = (file.text for file in rendered.bootstrap if file.name == "keepalived.conf")
    assert "PROVISIONING" not in text


def test_behind_a_balancer_of_the_site_nodes_claim_that_vip_alone() -> None:
    """The API's haproxy and its redirect would answer what the balancer is to answer."""
    intent = clusters.intent("balancer-managed")
    rendered = render(intent)
    for server in intent.control_plane:
        files = {file.name: file.text for file in rendered.of(server)}
        assert list(parse(files["keepalived.conf"])) == ["okd_PROVISIONING_0"]
        assert files["okd-check.sh"]
        assert "okd-keepalived.sh 60 172.22.0.3\n" in files["okd-keepalived.service"]
        assert not files.keys() & {"haproxy.cfg", "haproxy.nft", "okd-haproxy.service", "okd-default-router.sh"}
        assert [
            name for name in ("keepalived", "haproxy-router", "ironic") if name not in files["okd-images.sh"]
        ] == []
    for others in (rendered.bootstrap, *map(rendered.of, intent.compute)):
        assert {file.name for file in others if "keepalived" in file.name} == set()
    assert intent.lists_peers(Role.CONTROL_PLANE)
    assert not intent.lists_peers(Role.COMPUTE)


@pytest.mark.parametrize(
    ("address", "wanted"), [("172.22.0.1", "172.22.0.1:8080"), ("fd2e::1", "[fd2e::1]:8080")], ids=["ipv4", "ipv6"]
)
def test_the_proxy_leads_to_the_programs_media_server(address: str, wanted: str) -> None:
    media = {**plans.options()["media"], "address": address}
    (text,) = (
        file.text
        for file in render(clusters.intent("managed", media=media)).bootstrap
        if file.name == "provisioning.cfg"
    )
    assert f"\n    server program {wanted}\n" in text
