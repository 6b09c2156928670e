"""The scripts that inspect a machine's network, run on a test machine with a real network."""

import json
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import Path
from typing import Any

import pytest

from assets.render import render_bootstrap
from testing import plans
from testing.namespaces import needs_root, run_on_a_machine
from tests.unit.assets.runtimecfg_oracle import NodeAddress, Route, vip_interface

LINKS = """
    ip link add lan0 type veth peer name lan0p; ip link set lan0 up; ip link set lan0p up
    ip link add wan0 type veth peer name wan0p; ip link set wan0 up; ip link set wan0p up
    """
TWO_NETWORKS = f"""{LINKS}
    ip address add 192.0.2.21/24 dev lan0; ip address add 198.51.100.21/24 dev wan0
    ip route add default via 198.51.100.1
    """
BOTH_FAMILIES = f"""{TWO_NETWORKS}
    ip address add fd2e::21/64 dev lan0 nodad; ip address add fd3e::21/64 dev wan0 nodad
    ip route add default via fd3e::1
    """
MACHINES = {
    "two-networks": (TWO_NETWORKS, "192.0.2.5", "192.0.2.0/24 lan0 192.0.2.21"),
    "ipv6": (BOTH_FAMILIES, "fd2e::5", "fd2e::/64 lan0 fd2e::21"),
    "both-families": (BOTH_FAMILIES, "192.0.2.5", "192.0.2.0/24 lan0 192.0.2.21"),
    "vips-that-are-here": (
        f"""{BOTH_FAMILIES}
        ip address add 192.0.2.4/32 dev lan0 label vip; ip address add fd2e::4/128 dev lan0 preferred_lft 0
        ip address add fd2e::5/128 dev lan0 preferred_lft 0
        """,
        "fd2e::5",
        "fd2e::/64 lan0 fd2e::21",
    ),
    "dhcpv6-gives-a-128": (
        f"""{LINKS} ip address add fd2e::21/128 dev lan0 nodad
        ip -6 route add fd2e::/64 dev lan0 proto ra; ip -6 route add default via fe80::1 dev lan0 proto ra
        """,
        "fd2e::5",
        "fd2e::/64 lan0 fd2e::21",
    ),
    "the-address-of-a-network": (BOTH_FAMILIES, "192.0.2.0", "192.0.2.0/24 lan0 192.0.2.21"),
    "the-address-of-a-network-ipv6": (BOTH_FAMILIES, "fd2e::", "fd2e::/64 lan0 fd2e::21"),
    "another-network-around-it": (
        f"{LINKS} ip address add 192.0.2.21/24 dev lan0; ip address add 192.0.9.21/16 dev wan0",
        "192.0.2.5",
        "192.0.2.0/24 lan0 192.0.2.21",
    ),
    "moved-to-br-ex": (
        f"""{TWO_NETWORKS}
        ip link add br-ex type bridge; ip link set br-ex up; ip link set lan0 master br-ex
        ip address delete 192.0.2.21/24 dev lan0; ip address add 192.0.2.21/24 dev br-ex
        """,
        "192.0.2.5",
        "192.0.2.0/24 br-ex 192.0.2.21",
    ),
    "V1-the-vip-static-on-a-second-card": (
        f"{LINKS} ip address add 192.0.2.5/24 dev lan0; ip address add 192.0.2.21/24 dev wan0",
        "192.0.2.5",
        "192.0.2.0/24 wan0 192.0.2.21",
    ),
    "B02-two-vlans": (
        """
        ip link add bond0.200 type veth peer name p200; ip link set bond0.200 up; ip link set p200 up
        ip link add bond0.100 type veth peer name p100; ip link set bond0.100 up; ip link set p100 up
        ip address add 203.0.113.21/24 dev bond0.200; ip address add 192.0.2.21/24 dev bond0.100
        ip route add default via 192.0.2.1
        """,
        "192.0.2.5",
        "192.0.2.0/24 bond0.100 192.0.2.21",
    ),
    "two-cards-on-one-network": (
        f"""{LINKS} ip address add 192.0.2.21/24 dev lan0 noprefixroute
        ip address add 192.0.2.31/24 dev wan0 noprefixroute
        ip route add 192.0.2.0/24 dev wan0 src 192.0.2.31 metric 101
        ip route add 192.0.2.0/24 dev lan0 src 192.0.2.21 metric 100
        """,
        "192.0.2.5",
        "192.0.2.0/24 lan0 192.0.2.21",
    ),
}
OFF_LINK = {
    "N14-a-prefix-without-the-vip": (
        f"{LINKS} ip address add 192.0.2.130/26 dev lan0; ip route add default via 192.0.2.129",
        "192.0.2.5",
    ),
    "behind-a-router": (
        f"{LINKS} ip address add 192.0.2.130/26 dev lan0; ip route add 192.0.2.0/24 via 192.0.2.129",
        "192.0.2.5",
    ),
    "N13-routed-32": (
        f"""{LINKS} ip address add 192.0.2.21/32 dev lan0
        ip route add 198.51.100.1 dev lan0; ip route add default via 198.51.100.1 dev lan0 src 192.0.2.21
        """,
        "192.0.2.5",
    ),
    "routed-128": (
        f"{LINKS} ip address add fd2e::21/128 dev lan0 nodad; ip -6 route add default via fe80::1 dev lan0",
        "fd2e::5",
    ),
    "the-vip-as-the-only-address": (
        f"{LINKS} ip address add 192.0.2.5/24 dev lan0; ip route add default via 192.0.2.1",
        "192.0.2.5",
    ),
    "no-route": (LINKS, "203.0.113.5"),
}


@needs_root
@pytest.mark.parametrize(("machine", "vip", "place"), MACHINES.values(), ids=MACHINES)
def test_the_interface_of_a_vip_is_found_as_runtimecfg_chooses_it(
    scripts: Path, machine: str, vip: str, place: str
) -> None:
    script = f"{machine}\n{scripts}/bin/okd-get-vip-subnet-cidr.sh {vip} 0"
    run = run_on_a_machine(f"{script}; ip -j address; ip -j -4 route; ip -j -6 route", scripts)
    assert run.returncode == 0, run.stderr
    first, addresses, *routes = run.stdout.splitlines()
    assert first == place
    links = json.loads(addresses)
    indexes = {link["ifname"]: link["ifindex"] for link in links}
    found = vip_interface(
        ip_address(vip),
        [_address(link, each) for link in links for each in link["addr_info"]],
        [_route(indexes, each) for line in routes for each in json.loads(line)],
        [ip_address(each) for each in ("192.0.2.4", "fd2e::4")],
    )
    assert found == (place.split()[1], ip_address(vip).max_prefixlen)


@needs_root
@pytest.mark.parametrize(("machine", "vip"), OFF_LINK.values(), ids=OFF_LINK)
def test_a_vip_has_no_interface_where_its_network_is_not(scripts: Path, machine: str, vip: str) -> None:
    run = run_on_a_machine(f"{machine}\n{scripts}/bin/okd-get-vip-subnet-cidr.sh {vip} 0", scripts)
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr == f"okd-get-vip-subnet-cidr: no interface is on the network of {vip} after 0 s\n"


def _address(link: dict[str, Any], each: dict[str, Any]) -> NodeAddress:
    cidr = ip_interface(f"{each['local']}/{each['prefixlen']}")
    deprecated = each.get("preferred_life_time") == 0
    return NodeAddress(link["ifname"], link["ifindex"], cidr, each.get("label", ""), deprecated)


def _route(indexes: dict[str, int], each: dict[str, Any]) -> Route:
    destination = None if each["dst"] == "default" else ip_network(each["dst"])
    gateway = ip_address(each["gateway"]) if "gateway" in each else None
    return Route(
        indexes[each["dev"]], destination, gateway, each.get("metric", 0), advertised=each.get("protocol") == "ra"
    )


@needs_root
def test_keepalived_gets_the_interface_of_each_vips_network(scripts: Path) -> None:
    vips = ("192.0.2.5", "198.51.100.4", "fd2e::5")
    conf = "".join(f"interface @INTERFACE:{vip}@\n" for vip in vips)
    (scripts / "etc/okd-baremetal/keepalived.conf").write_text(conf)
    run = run_on_a_machine(f"{BOTH_FAMILIES} {scripts}/bin/okd-keepalived.sh 5 {' '.join(vips)}", scripts)
    assert run.returncode == 0, run.stderr
    written = (scripts / "run/okd-baremetal/keepalived.conf").read_text()
    assert written == "interface lan0\ninterface wan0\ninterface lan0\n"


@needs_root
def test_only_vips_left_by_a_killed_keepalived_are_deleted(scripts: Path) -> None:
    (scripts / "etc/okd-baremetal/keepalived.conf").write_text("")
    script = f"""{BOTH_FAMILIES}
        ip address add 192.0.2.5/32 dev lan0; ip address add 192.0.2.4/32 dev lan0
        ip address add fd2e::5/128 dev lan0 nodad; ip route add local fd2e::5 dev lo table local proto keepalived
        {scripts}/bin/okd-keepalived.sh 5 192.0.2.5 fd2e::5
        ip -brief address show lan0; ip -6 route show table local fd2e::5
        """
    run = run_on_a_machine(script, scripts)
    assert run.returncode == 0, run.stderr
    addresses, _, routes = run.stdout.partition("\n")
    assert addresses.split()[2:5] == ["192.0.2.21/24", "192.0.2.4/32", "fd2e::21/64"]
    assert routes == ""


@needs_root
def test_keepalived_is_not_started_without_an_interface(scripts: Path) -> None:
    (scripts / "etc/okd-baremetal/keepalived.conf").write_text("")
    run = run_on_a_machine(f"{LINKS} {scripts}/bin/okd-keepalived.sh 0 203.0.113.5", scripts)
    assert run.returncode == 1
    what = "no interface is on the network of 203.0.113.5 after 0 s"
    assert run.stderr == f"okd-get-vip-subnet-cidr: {what}\n"
    assert not (scripts / "run/okd-baremetal/keepalived.conf").exists()


SITE = (
    "# by DHCP\nsearch lab.test site.test\nnameserver 192.0.2.21\nnameserver 192.0.2.2\nnameserver 127.0.0.53\n"
    "nameserver ::1\nnameserver 192.0.2.210\nnameserver 192.0.2.3\noptions timeout:1\n"
)


@needs_root
@pytest.mark.parametrize("file", ["etc/resolv.conf", "run/NetworkManager/resolv.conf"])
def test_coredns_forwards_to_all_other_servers_in_the_order_of_the_file(scripts: Path, file: str) -> None:
    for name in ("etc/resolv.conf", file):
        (scripts / name).parent.mkdir(parents=True, exist_ok=True)
        (scripts / name).write_text(SITE if name == file else "nameserver 203.0.113.1\n")
    run = run_on_a_machine(f"{TWO_NETWORKS} {scripts}/bin/okd-coredns.sh 5", scripts)
    assert run.returncode == 0, run.stderr
    upstreams = (scripts / "run/okd-baremetal/upstreams").read_text().splitlines()
    servers = [line for line in upstreams if line.startswith("nameserver")]
    assert servers == [f"nameserver 192.0.2.{last}" for last in (2, 210, 3)]


@needs_root
def test_coredns_does_not_forward_to_the_vip_that_a_keyfile_names(scripts: Path) -> None:
    """Else two machines would forward to each other: CoreDNS of the VIP's holder has the same upstreams."""
    (scripts / "etc/resolv.conf").write_text("nameserver 192.168.111.5\nnameserver 192.0.2.2\n")
    run = run_on_a_machine(f"{TWO_NETWORKS} {scripts}/bin/okd-coredns.sh 5", scripts)
    assert run.returncode == 0, run.stderr
    assert (scripts / "run/okd-baremetal/upstreams").read_text() == "nameserver 192.0.2.2\n"


@needs_root
def test_tabs_and_blanks_in_resolv_conf_are_read(scripts: Path) -> None:
    """D3: resolv.conf(5) allows both."""
    (scripts / "etc/resolv.conf").write_text(
        "nameserver\t192.0.2.21\t\nnameserver \t192.0.2.2 \nnameserver\t127.0.0.1\n"
    )
    run = run_on_a_machine(f"{TWO_NETWORKS} {scripts}/bin/okd-coredns.sh 0", scripts)
    assert run.returncode == 0, run.stderr
    assert (scripts / "run/okd-baremetal/upstreams").read_text() == "nameserver 192.0.2.2\n"


@needs_root
def test_coredns_is_not_started_without_another_server(scripts: Path) -> None:
    (scripts / "etc/resolv.conf").write_text("nameserver 192.0.2.21\n")
    run = run_on_a_machine(f"{TWO_NETWORKS} {scripts}/bin/okd-coredns.sh 0", scripts)
    assert run.returncode == 1
    assert run.stderr == "okd-coredns: /etc/resolv.conf names no other DNS server after 0 s\n"


@needs_root
@pytest.mark.parametrize(
    ("machine", "networks", "own"),
    [
        pytest.param(BOTH_FAMILIES, "192.0.2.0/24 fd2e::/64", "192.0.2.21", id="ipv4"),
        pytest.param(BOTH_FAMILIES, "fd2e::/64 192.0.2.0/24", "fd2e::21", id="ipv6"),
        pytest.param(BOTH_FAMILIES, "203.0.113.0/24 198.51.100.0/24", "198.51.100.21", id="another-machine-network"),
        pytest.param(MACHINES["vips-that-are-here"][0], "fd2e::/64", "fd2e::21", id="vips-that-are-here"),
        pytest.param(OFF_LINK["N13-routed-32"][0], "192.0.2.0/24", "192.0.2.21", id="routed-32"),
    ],
)
def test_the_machines_own_address_comes_first_in_resolv_conf(
    scripts: Path, machine: str, networks: str, own: str
) -> None:
    (scripts / "etc/site").write_text(SITE)
    (scripts / "etc/resolv.conf").symlink_to("site")
    twice = f"\n{scripts}/bin/okd-coredns.sh 5; {scripts}/bin/okd-resolver.sh okd.lab.test {networks}\n" * 2
    run = run_on_a_machine(machine + twice, scripts)
    assert run.returncode == 0, run.stderr
    assert (scripts / "etc/resolv.conf").read_text().splitlines() == [
        "# Written by okd-resolver.sh of okd-baremetal.",
        "search okd.lab.test lab.test site.test",
        f"nameserver {own}",
        "nameserver 192.0.2.2",
        "nameserver 192.0.2.210",
        "options timeout:1",
    ]
    assert (scripts / "etc/site").read_text() == SITE


def asked_of_systemd(scripts: Path, dispatcher: str, network: str, action: str) -> str:
    """Run a script of NetworkManager's dispatcher on such a machine, and return the words that systemctl got."""
    (file,) = (file for file in render_bootstrap(plans.plan()) if file.name == dispatcher)
    text = file.text.replace("/usr/local/bin", f"{scripts}/bin").replace("192.168.111.5", "192.0.2.5")
    (scripts / "bin" / dispatcher).write_text(text)
    (scripts / "bin/systemctl").write_text(f'#!/bin/sh\necho "$@" >>{scripts}/asked\n')
    (scripts / "bin/systemctl").chmod(0o755)
    (scripts / "asked").touch()
    call = f"PATH={scripts}/bin:$PATH bash {scripts}/bin/{dispatcher} lan0 {action}"
    run = run_on_a_machine(f"{network}\n{call}", scripts)
    assert run.returncode == 0, run.stderr
    return (scripts / "asked").read_text()


@needs_root
@pytest.mark.parametrize(
    ("action", "servers", "restarted"),
    [
        pytest.param("dhcp4-change", "nameserver 192.0.2.3\n", True, id="others"),
        pytest.param("dhcp4-change", "nameserver 192.0.2.2\n", False, id="the-same"),
        pytest.param("down", "nameserver 192.0.2.3\n", False, id="another-action"),
    ],
)
def test_a_network_change_restarts_coredns_only_if_the_servers_changed(
    scripts: Path, action: str, servers: str, restarted: bool
) -> None:
    (scripts / "run/NetworkManager").mkdir(parents=True)
    (scripts / "run/okd-baremetal").mkdir()
    (scripts / "run/okd-baremetal/upstreams").write_text("nameserver 192.0.2.2\n")
    (scripts / "run/NetworkManager/resolv.conf").write_text(servers)
    asked = asked_of_systemd(scripts, "okd-resolver", TWO_NETWORKS, action)
    assert asked == ("--no-block try-restart okd-coredns.service\n" if restarted else "")


@needs_root
@pytest.mark.parametrize(
    ("machine", "action", "restarted"),
    [
        pytest.param("moved-to-br-ex", "up", True, id="moved"),
        pytest.param("moved-to-br-ex", "down", False, id="another-action"),
        pytest.param("two-networks", "up", False, id="the-same"),
    ],
)
def test_keepalived_restarts_when_its_vips_network_changes_interface(
    scripts: Path, machine: str, action: str, restarted: bool
) -> None:
    (scripts / "run/okd-baremetal").mkdir(parents=True)
    (scripts / "run/okd-baremetal/keepalived.conf").write_text("vrrp_instance x {\n    interface lan0\n}\n")
    asked = asked_of_systemd(scripts, "okd-keepalived", MACHINES[machine][0], action)
    assert asked == ("--no-block try-restart okd-keepalived.service\n" if restarted else "")
