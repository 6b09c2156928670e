"""The commands of docs/how-to/prepare-a-provisioner.md, as they stand there, on a bare Debian 12 (issue 40, row 19).

`make provisioner` builds that Debian, and runs this. `make test` does not.
"""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.debian import HOW_TO, debian_root
from testing.debian import Debian
from testing.documents import commands, table
from testing.fakes.openshift_install import stream
from testing.namespaces import MORTAL, SBIN, in_own_network, ip, needs_root

pytestmark = [needs_root, pytest.mark.provisioner]

CARDS = {"eno1": "52:54:00:aa:bb:01", "eno2": "52:54:00:aa:bb:02"}
"""The cards of the page."""
SITE = "192.0.2.1"
INSTALLED = """
# The loopback network interface
auto lo
iface lo inet loopback

# The primary network interface
allow-hotplug eno1
iface eno1 inet dhcp

# A VLAN of the administrator
iface eno1.7 inet manual
"""
"""/etc/network/interfaces, as Debian's installer writes it for a card with DHCP; and a VLAN."""
HANDED_OVER = {
    "NetworkManager": "",
    "ifupdown": INSTALLED.replace("allow-hotplug", "#allow-hotplug").replace("iface eno1 ", "#iface eno1 "),
}
"""That file afterwards."""
LEASED = "ip -4 -brief address show dev {} | grep --quiet 192.0.2"
HAS_THE_CARD = {
    "NetworkManager": ("", LEASED.format("eno1")),
    # In namespaces there is no udev, which would do that when it sees the card.
    "ifupdown": (INSTALLED, "ifup --allow=hotplug eno1 2>/dev/null"),
}
"""By who has the card before: /etc/network/interfaces, and what succeeds once it has its address."""
MOVE = {"NetworkManager": "GENERAL.CONNECTION", "ifupdown": "ifdown"}
FIREWALLS = {
    "ufw": ("ufw --force enable", "ufw route"),
    "Docker": ("systemctl enable --now docker", "docker.service.d"),
}
"""By firewall: what switches it on, and a text of the page's commands."""
VM = """
    ip netns add vm && ip link add vnet0 type veth peer name eth0 netns vm && ip link set vnet0 master baremetal up
    ip -n vm address add 192.0.2.9/24 dev eth0 && ip -n vm link set eth0 up
    """
"""Connects a machine to the bridge as libvirt does."""
REACHES_THE_SITE = f"timeout 1 ip netns exec vm bash -c ': </dev/tcp/{SITE}/53'"

IMAGE = "/srv/packed.gz"
PACK = f"qemu-img create -q -f qcow2 /srv/image 10G && gzip --stdout /srv/image >{IMAGE}"
STAND_INS = {
    "openshift-install": f"echo '{json.dumps(stream())}'",
    "curl": f'cp {IMAGE} "$3"',
    "pulumi": 'echo "$*" >>/srv/options',
}
"""Stand-ins for what needs the internet or a stack."""


@pytest.fixture(scope="module")
def root() -> Path:
    """The root of a bare Debian with the page's packages."""
    return debian_root()


def leases(folder: Path) -> list[tuple[str, str, str]]:
    """Return what the site has leased: MAC, address and client id."""
    lines = [line.split() for line in (folder / "leases").read_text().splitlines()]
    return [(mac, address, client) for _, mac, address, _, client in lines]


@contextmanager
def host(root: Path, folder: Path, has_the_card: str = "NetworkManager") -> Iterator[Debian]:
    """Boot a host on the network of a site with DHCP, in this thread's namespace."""
    interfaces, has_its_address = HAS_THE_CARD[has_the_card]
    (folder / "upper/etc/network").mkdir(parents=True)
    (folder / "upper/etc/network/interfaces").write_text(interfaces)
    ip("link add site type bridge forward_delay 0")
    ip(f"address add {SITE}/24 dev site")
    ip("link set site up")
    options = ["--conf-file=/dev/null", "--user=root", "--interface=site", "--bind-interfaces", "--no-resolv"]
    options += ["--no-hosts", "--no-ping", "--pid-file=", f"--dhcp-leasefile={folder}/leases"]
    options += ["--keep-in-foreground", "--dhcp-range=192.0.2.100,192.0.2.199"]
    debian = Debian(root, folder, CARDS, "site")
    with subprocess.Popen([*MORTAL, "dnsmasq", *options], env={"PATH": SBIN}) as dnsmasq:
        try:
            debian.boot()
            debian.until(has_its_address)
            yield debian
        finally:
            debian.cut_power()
            dnsmasq.kill()


def move_the_card(debian: Debian, has_the_card: str = "NetworkManager") -> None:
    """Run the page's commands that make the bridge and move the card to it."""
    debian.run(commands(HOW_TO, "uplink=") + commands(HOW_TO, MOVE[has_the_card]))
    debian.until(LEASED.format("baremetal"))


@pytest.mark.parametrize("has_the_card", HAS_THE_CARD)
def test_the_bridge_keeps_the_address_and_client_id_of_the_card(
    root: Path, tmp_path: Path, has_the_card: str
) -> None:
    def scenario() -> None:
        with host(root, tmp_path, has_the_card) as debian:
            (before,) = leases(tmp_path)
            move_the_card(debian, has_the_card)
            for _ in range(2):
                assert leases(tmp_path) == [before]
                assert before[1] in debian.run("ip -4 -brief address show dev baremetal")
                assert not debian.run("ip -4 -brief address show dev eno1").split()[2:]
                assert "dhclient" not in debian.run("ps -e")
                debian.reboot()
                debian.until(LEASED.format("baremetal"))
            assert debian.run("cat /etc/network/interfaces") == HANDED_OVER[has_the_card]

    in_own_network(scenario)


@pytest.mark.parametrize("firewall", FIREWALLS)
def test_a_firewall_lets_the_bridge_pass_frames_on(root: Path, tmp_path: Path, firewall: str) -> None:
    switch_on, named = FIREWALLS[firewall]

    def scenario() -> None:
        with host(root, tmp_path) as debian:
            move_the_card(debian)
            debian.run(VM)
            assert debian.run("sysctl --values net.bridge.bridge-nf-call-iptables") == "1\n"
            debian.until(REACHES_THE_SITE)
            debian.run(switch_on)
            assert "-P FORWARD DROP" in debian.run("iptables -S FORWARD")
            assert not debian.succeeds(REACHES_THE_SITE)
            debian.run(commands(HOW_TO, named))
            assert debian.succeeds(REACHES_THE_SITE)
            debian.reboot()
            debian.until(LEASED.format("baremetal"))
            debian.run(VM)
            debian.until(REACHES_THE_SITE)
            assert "-P FORWARD DROP" in debian.run("iptables -S FORWARD")

    in_own_network(scenario)


def test_libvirt_serves_and_what_fails_to_validate_is_explained(root: Path, tmp_path: Path) -> None:
    checks = [name for row in table(HOW_TO, "`FAIL` of") for name in re.findall(r"`([^`]+)`", row["`FAIL` of"])]
    harmless = ("/dev/vhost-net", "cgroup", "IOMMU", "secure guest")

    def scenario() -> None:
        with host(root, tmp_path) as debian:
            debian.run(commands(HOW_TO, "enable --now libvirtd"))
            lines = debian.run(commands(HOW_TO, "virt-host-validate")).splitlines()
            assert "Running hypervisor: QEMU 7.2" in "\n".join(lines)
            failed = [line for line in lines if "FAIL" in line or "WARN" in line]
            assert failed
            for line in failed:
                assert any(name in line for name in ((*checks, *harmless) if "WARN" in line else checks)), line

    in_own_network(scenario)


def test_pool_and_base_volume_are_made_and_their_options_set(root: Path, tmp_path: Path) -> None:
    for name, script in STAND_INS.items():
        (program := tmp_path / "upper/usr/local/bin" / name).parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def scenario() -> None:
        with host(root, tmp_path) as debian:
            debian.run(PACK)
            printed = debian.run(
                commands(HOW_TO, "print-stream-json").replace("<location>", "https://mirror.test/a.gz")
            )
            sha256 = printed.split()[-2]
            assert sha256 == hashlib.sha256((tmp_path / "upper/srv/image").read_bytes()).hexdigest()
            debian.run(commands(HOW_TO, "pool-define-as"))
            debian.run(commands(HOW_TO, "provisioner.manage true"))
            debian.reboot()
            pool = debian.run("virsh --connect qemu:///system pool-info default")
            assert re.search(r"State: +running\n.*Autostart: +yes\n", pool, re.DOTALL)
            assert "10.00 GiB" in debian.run("virsh --connect qemu:///system vol-info coreos-qemu.qcow2 default")
            options = (tmp_path / "upper/srv/options").read_text().splitlines()
            assert [line.removeprefix("config set --path ") for line in options if "config set" in line] == [
                "bootstrap.base_volume coreos-qemu.qcow2",
                f"bootstrap.base_sha256 {sha256}",
                "bootstrap.pool okd",
                "provisioner.manage true",
                "provisioner.base_image.source /root/coreos-qemu.qcow2",
                f"provisioner.base_image.sha256 {sha256}",
            ]

    in_own_network(scenario)


def test_the_provisioning_bridge_has_its_card_and_no_address(root: Path, tmp_path: Path) -> None:
    def scenario() -> None:
        with host(root, tmp_path) as debian:
            debian.run(commands(HOW_TO, "ifname provisioning"))
            for _ in range(2):
                debian.until("ip -brief link show master provisioning | grep --quiet eno2")
                assert debian.run("ip -brief address show dev provisioning").split()[2:] == []
                debian.reboot()

    in_own_network(scenario)


def test_ufw_lets_the_bmcs_fetch_the_boot_isos(root: Path, tmp_path: Path) -> None:
    listening = "import socket; socket.create_server(('', 8080)).accept()"
    command = [sys.executable, "-c", "import socket, sys; socket.create_connection((sys.argv[1], 8080), 1)"]

    def reaches(address: str) -> bool:
        return subprocess.run([*command, address], capture_output=True, check=False).returncode == 0

    def scenario() -> None:
        with host(root, tmp_path) as debian:
            ((_, address, _),) = leases(tmp_path)
            debian.run("ufw --force enable")
            debian.run(f'systemd-run --quiet --property=Restart=always python3 -c "{listening}"')
            debian.until("ss --listening --tcp --no-header 'sport = :8080' | grep --quiet LISTEN")
            assert not reaches(address)
            debian.run(commands(HOW_TO, "ufw allow"))
            assert reaches(address)

    in_own_network(scenario)
