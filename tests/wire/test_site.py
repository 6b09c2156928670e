"""The DHCP and router of the lab's site, as a real NetworkManager with the program's keyfiles sees them."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from assets.render import render_server
from cluster.plan import Server
from lab.inventory import Site, load_site
from lab.shell import LabError, run
from lab.site import network
from testing.clusters import as_stack
from testing.namespaces import needs_root, run_on_a_machine
from testing.network_manager import NETWORK_MANAGER, NO_UDEV, lay_out_keyfiles

SITE = """
    SITE={bridge}
    ip link add ens3 address {mac} type veth peer name $SITE
    ip link set $SITE addrgenmode none
    for own in fe80::1/64 {own}; do ip address add $own dev $SITE $([[ $own != *:* ]] || echo nodad); done
    ip link set $SITE up
    dnsmasq --conf-file=/run/dnsmasq.conf --log-facility=/run/dnsmasq.log
    """
ADDRESSED = """
    until ip -json address show ens3 scope global >/run/addresses; ip -json -6 route show default >/run/routes
        [[ $(grep -o '"local"' /run/addresses | wc -l) -ge {count} && $(</run/routes) == *gateway* ]]
    do sleep 0.05; done
    """
IGNORED = """
    ip link set ens3 up
    until ip -6 address show ens3 scope link -tentative | grep -q fe80; do sleep 0.05; done
    for family in -4 -6; do dhclient $family -1 -sf /bin/true -lf /run/lease$family -pf /run/pid$family ens3 & done
    until grep -q 'DHCPDISCOVER.* ignored' /run/dnsmasq.log && grep -q 'DHCPSOLICIT.* ignored' /run/dnsmasq.log
    do sleep 0.05; done
    """


def started(site: Site, server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write the config of dnsmasq for a twin into `folder`, and return the lines that start its site."""
    monkeypatch.setattr(network, "DNS", Path("/run"))
    (folder / "run").mkdir()
    lay_out_keyfiles(folder, render_server(site.plan, server))
    (folder / "run/dnsmasq.conf").write_text(network._dnsmasq_conf(site))
    own = " ".join(map(str, site.provisioners))
    return SITE.format(bridge=site.plan.bootstrap.bridge, mac=server.boot_mac, own=own)


@needs_root
@pytest.mark.parametrize(
    ("kind", "addresses"), [("dual-stack", ["192.168.111.22", "fd2e::22"]), ("ipv6", ["fd2e::22"])]
)
def test_a_server_has_only_the_plans_addresses_and_a_router(
    kind: str, addresses: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stacks").mkdir()
    site = load_site(kind, as_stack(kind, tmp_path / "stacks"))
    server = site.plan.servers[1]
    begin = started(site, server, tmp_path, monkeypatch)
    done = run_on_a_machine(f"{NO_UDEV}{begin}{NETWORK_MANAGER}{ADDRESSED.format(count=len(addresses))}", tmp_path)
    assert done.returncode == 0, done.stderr
    (interface,) = json.loads((tmp_path / "run/addresses").read_text())
    assert sorted(address["local"] for address in interface["addr_info"] if address) == addresses
    assert [route["gateway"] for route in json.loads((tmp_path / "run/routes").read_text())] == ["fe80::1"]
    assert "nameserver fd2e::1\n" in (tmp_path / "run/NetworkManager/resolv.conf").read_text()
    # By a DUID of its MAC, so that the reservation holds in each of a server's systems.
    assert f" 00:03:00:01:{server.boot_mac}\n" in (tmp_path / "run/leases").read_text()


@needs_root
def test_a_server_with_addresses_of_its_own_gets_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = load_site("dual-stack")
    (server,) = (server for server in site.plan.servers if server.name in site.statics)
    done = run_on_a_machine(f"{started(site, server, tmp_path, monkeypatch)}{IGNORED}", tmp_path)
    assert done.returncode == 0, done.stderr


@needs_root
def test_a_server_in_a_second_network_has_the_router_of_that_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = load_site("dual-stack")
    (server,) = site.plan.compute
    then = f"{NETWORK_MANAGER}{ADDRESSED.format(count=2)}\n    ip -json -4 route show default >/run/routes\n"
    done = run_on_a_machine(f"{NO_UDEV}{started(site, server, tmp_path, monkeypatch)}{then}", tmp_path)
    assert done.returncode == 0, done.stderr
    (interface,) = json.loads((tmp_path / "run/addresses").read_text())
    assert sorted(it["local"] for it in interface["addr_info"] if it) == ["10.31.0.24", "fd30:0:0:1::24"]
    assert [route["gateway"] for route in json.loads((tmp_path / "run/routes").read_text())] == ["10.31.0.1"]


@needs_root
def test_machines_of_two_networks_reach_each_other_by_the_router(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, machines = load_site("dual-stack"), {"10.30.0.24": "10.30.0.2", "10.31.0.24": "10.31.0.1"}
    here = "two-networks"
    monkeypatch.setattr(network, "NAMESPACE", here)
    monkeypatch.setattr(network, "_exists", lambda *_: False)
    monkeypatch.setattr(network, "RESOLV_CONF", tmp_path / "netns" / "resolv.conf")
    with ExitStack() as after:
        network.ensure_network(site)
        after.callback(run, "ip", "netns", "delete", here)
        for number, (address, router) in enumerate(machines.items()):
            run("ip", "netns", "add", address)
            after.callback(run, "ip", "netns", "delete", address)
            peer = ("peer", "name", f"port-{number}", "netns", here)
            run("ip", "-n", address, "link", "add", "eth0", "type", "veth", *peer)
            network._ip("link", "set", f"port-{number}", "master", site.plan.bootstrap.bridge, "up")
            run("ip", "-n", address, "address", "add", f"{address}/24", "dev", "eth0")
            run("ip", "-n", address, "link", "set", "eth0", "up")
            run("ip", "-n", address, "route", "add", "default", "via", router)
        first, second = machines
        with pytest.raises(LabError, match="Connection refused"):
            run("ip", "netns", "exec", first, "timeout", "5", "bash", "-c", f": </dev/tcp/{second}/9")
