"""The rendered keyfiles, applied by a real NetworkManager beside a DHCP server and router of the site."""

from pathlib import Path

import pytest

from assets.render import render_server
from testing import clusters
from testing.namespaces import needs_root, run_on_a_machine
from testing.network_manager import NETWORK_MANAGER, NO_UDEV, lay_out_keyfiles

SITE = """
    SITE=site
    ip link add {interface} address {mac} type veth peer name site
    ip link set site up; ip address add 192.168.111.1/24 dev site; ip address add fd2e::1/64 dev site nodad
    dnsmasq --conf-file=/dev/null --user=root --interface=site --bind-interfaces --no-resolv --no-hosts --pid-file= \
        --dhcp-leasefile=/run/leases --no-ping --dhcp-range=192.168.111.21,192.168.111.25 --enable-ra \
        --dhcp-range=fd2e::,ra-only --dhcp-option=option6:dns-server,[fd2e::1]
    """


@needs_root
@pytest.mark.parametrize(
    ("name", "interface", "servers"),
    [
        pytest.param("rehearsal", "ens3", ["192.168.111.5", "192.168.111.1", "fd2e::1"], id="dhcp"),
        pytest.param("ipv6", "ens3", ["fd2e::5", "fd2e::1", "192.168.111.1"], id="router"),
        pytest.param(
            "dual-stack", "ens3", ["192.168.111.5", "192.168.111.1", "fd2e::5", "fd2e::1"], id="dhcp-and-router"
        ),
        pytest.param("static", "eno1", ["192.168.111.5", "192.168.111.1"], id="static"),
    ],
)
def test_the_first_dns_server_of_a_server_is_the_api_vip(
    name: str, interface: str, servers: list[str], tmp_path: Path
) -> None:
    intent = clusters.intent(name)
    server = intent.servers[1]
    lay_out_keyfiles(tmp_path, render_server(intent, server))
    site = SITE.format(interface=interface, mac=server.boot_mac)
    known = f"$(grep -c nameserver /run/NetworkManager/resolv.conf) -ge {len(servers)}"
    run = run_on_a_machine(f"{NO_UDEV}{site}{NETWORK_MANAGER}until [[ {known} ]]; do sleep 0.05; done", tmp_path)
    assert run.returncode == 0, run.stderr
    lines = (tmp_path / "run/NetworkManager/resolv.conf").read_text().splitlines()
    assert [line.removeprefix("nameserver ") for line in lines if line.startswith("nameserver ")] == servers


TWO_CARDS = """
    SITE=site
    ip link add ens3 type veth peer name site
    ip link add ens4 address {mac} type veth peer name boots
    ip link set boots up; ip link set site up; ip address add 192.168.111.1/24 dev site
    dnsmasq --conf-file=/dev/null --user=root --interface=site --bind-interfaces --no-resolv --no-hosts --pid-file= \
        --dhcp-leasefile=/run/leases --no-ping --dhcp-range=192.168.111.21,192.168.111.25
    """
SETTLED = """
    until [[ $(ip -4 -o address show ens3) && $(ip -4 -o address show ens4) ]]; do sleep 0.05; done
    until [[ $(ip -4 route show default) ]]; do sleep 0.05; done
    for each in ens3 ens4; do echo "$each $(ip -4 -o address show $each | awk '{print $4}')"; done
    ip -4 route show default | awk '{print $5}'
    nmcli --get-values NAME,DEVICE connection show --active | grep -v ':lo$\\|:site$\\|:boots$' | sort
    """


@needs_root
def test_a_server_on_a_provisioning_network_has_one_card_on_each_network(tmp_path: Path) -> None:
    """That on the provisioning network is known by its MAC, that on the machine network is any other."""
    intent = clusters.intent("managed")
    server = intent.compute[0]
    lay_out_keyfiles(tmp_path, render_server(intent, server))
    manager = NETWORK_MANAGER.replace("interface-name:$SITE", "interface-name:$SITE,interface-name:boots")
    run = run_on_a_machine(f"{NO_UDEV}{TWO_CARDS.format(mac=server.boot_mac)}{manager}{SETTLED}", tmp_path)
    assert run.returncode == 0, run.stderr
    first, *found = run.stdout.splitlines()
    assert first.startswith("ens3 192.168.111.2")
    assert found == ["ens4 172.22.0.13/24", "ens3", "okd-machine-network:ens3", "okd-provisioning:ens4"]
    assert "172.22.0" not in (tmp_path / "run/NetworkManager/resolv.conf").read_text()
