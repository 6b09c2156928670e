"""The guest's initrd, which stands in for NetworkManager: the functions of the real script, run by real busybox."""

import shutil
from pathlib import Path

import pytest

from assets.file import Reader
from assets.render import render_server
from lab.images.parts import GUEST
from providers.rendered_asset.readers import lay_out
from testing import clusters
from testing.namespaces import needs_root, run_on_a_machine

# What the script does after its functions, it does as the first process of a machine.
FIRST_COMMAND = "/bin/busybox mkdir"
SITE = """
    mount -t sysfs -o ro sysfs /sys; mount -t tmpfs tmpfs /run
    ip link add {interface} address {mac} type veth peer name site
    ip link set site up; ip address add 192.168.111.1/24 dev site
    dnsmasq --conf-file=/dev/null --user=root --interface=site --bind-interfaces --no-resolv --no-hosts --pid-file= \
        --dhcp-leasefile=/run/leases --no-ping --dhcp-range=192.168.111.22,192.168.111.22 \
        --domain=okd.lab.test --dhcp-host={mac},okd-master-1 --host-record=okd-master-1.okd.lab.test,192.168.111.22
    unshare --uts busybox sh {folder}/init
    """


@needs_root
@pytest.mark.parametrize(
    ("name", "interface", "said"),
    [
        pytest.param("rehearsal", "ens3", "ens3 asks 2 DNS servers, 192.168.111.5 first", id="dhcp"),
        pytest.param("static", "eno1", "eno1 has 192.168.111.22/24 by eno1.nmconnection", id="static"),
    ],
)
def test_a_guest_asks_the_servers_of_its_keyfile_first(name: str, interface: str, said: str, tmp_path: Path) -> None:
    intent = clusters.intent(name)
    other, server = intent.servers[:2]
    lay_out(tmp_path / "root", (file for file in render_server(intent, server) if file.reader is Reader.KEYFILE))
    keyfiles = tmp_path / "root/etc/NetworkManager/system-connections"
    (keyfiles / "another.nmconnection").write_text(f"[ethernet]\nmac-address={other.boot_mac}\n[ipv4]\nmethod=auto\n")
    functions, found, _ = (GUEST / "initrd/init").read_text().partition(FIRST_COMMAND)
    assert found
    work = f"ROOT={tmp_path}/root; start_network; echo called $(hostname)\n"
    (tmp_path / "init").write_text(functions.replace("/udhcpc.sh", f"{tmp_path}/udhcpc.sh") + work)
    shutil.copy(GUEST / "initrd/udhcpc.sh", tmp_path)
    (tmp_path / "udhcpc.sh").chmod(0o755)
    (tmp_path / "etc").mkdir()
    for users in ("passwd", "group"):
        shutil.copy(f"/etc/{users}", tmp_path / "etc")
    run = run_on_a_machine(SITE.format(interface=interface, mac=server.boot_mac, folder=tmp_path), tmp_path)
    assert run.returncode == 0, run.stderr
    assert f": {said}\n" in run.stdout
    assert run.stdout.endswith("called okd-master-1\n")
    lines = (tmp_path / "root/etc/resolv.conf").read_text().splitlines()
    assert [line for line in lines if line.startswith("nameserver")] == [
        "nameserver 192.168.111.5",
        "nameserver 192.168.111.1",
    ]
