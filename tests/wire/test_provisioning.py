"""The DHCP servers of a twin's provisioning network, as a real client sees them that asks as firmware does."""

import os
from pathlib import Path

import pytest

from lab.inventory import load_site
from lab.shell import run
from lab.site import network, provisioning
from testing.namespaces import needs_root, run_on_a_machine

SERVER = "52:54:00:51:00:0a"
ASKED = """
    ip link add br-site type veth peer name ens3
    ip address add 10.52.0.2/24 dev br-site; ip link set br-site up
    ip link set ens3 address {mac} up
    dnsmasq --conf-file=/run/dnsmasq.conf --log-facility=/run/dnsmasq.log
    dhclient -4 -1 -sf /run/script -cf /run/client.conf -lf /run/lease -pf /run/client.pid ens3 &
    until [[ -s /run/got ]] || grep -q 'DHCPDISCOVER.* ignored' /run/dnsmasq.log; do sleep 0.05; done
    """


@needs_root
@pytest.mark.parametrize(
    ("mac", "says", "boots"),
    [
        pytest.param(SERVER, "send arch 00:00;", "undionly.kpxe", id="bios"),
        pytest.param(SERVER, "send arch 00:07;", "snponly.efi", id="uefi"),
        pytest.param(SERVER, "send arch 00:07; send ipxe 01;", "http://10.52.0.2:8080/boot.ipxe", id="ipxe"),
        pytest.param("52:54:00:51:00:ff", "send arch 00:00;", "", id="no-server-of-the-cluster"),
    ],
)
def test_an_unmanaged_site_gives_ipxe_and_then_the_programs_script(
    mac: str, says: str, boots: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provisioning, "DNS", Path("/run"))
    (tmp_path / "run").mkdir()
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    config = provisioning._dnsmasq_conf(load_site("unmanaged"))
    # The files are of a package that only a rehearsal needs.
    (tmp_path / "run/dnsmasq.conf").write_text(config.replace("enable-tftp\n", ""))
    (tmp_path / "run/client.conf").write_text(
        f"option arch code 93 = string; option ipxe code 175 = string; {says} request bootfile-name;\n"
    )
    (tmp_path / "run/script").write_text('#!/bin/sh\n[ "$reason" != BOUND ] || echo "$new_bootfile_name" >/run/got\n')
    (tmp_path / "run/script").chmod(0o755)
    done = run_on_a_machine(ASKED.format(mac=mac), tmp_path)
    assert done.returncode == 0, done.stderr
    got = tmp_path / "run/got"
    assert (got.read_text().strip() if got.exists() else "") == boots


@needs_root
def test_foreign_dhcp_answers_every_client_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, away = f"okd-here-{os.getpid()}", f"okd-away-{os.getpid()}"
    for module in (network, provisioning):
        monkeypatch.setattr(module, "NAMESPACE", here)
        monkeypatch.setattr(module, "FOREIGN", away)
    monkeypatch.setattr(provisioning, "LOG", tmp_path)
    run("ip", "netns", "add", here)
    try:
        run("ip", "-n", here, "link", "add", "br-site", "type", "bridge", "forward_delay", "0")
        run("ip", "-n", here, "address", "add", "10.52.0.2/24", "dev", "br-site")
        run("ip", "-n", here, "link", "set", "br-site", "up")
        for _ in range(2):
            with provisioning.foreign_dhcp(load_site("unmanaged")) as mac:
                files = ("-lf", tmp_path / "lease", "-pf", tmp_path / "pid", "-sf", "/bin/true")
                run("ip", "netns", "exec", here, "dhclient", "-4", "-1", *files, "br-site")
                run("ip", "netns", "exec", here, "dhclient", "-4", "-x", *files, "br-site")
                assert "dhcp-server-identifier 10.52.0.254" in (tmp_path / "lease").read_text()
                asked = run("ip", "netns", "exec", here, "arping", "-c1", "-I", "br-site", "10.52.0.254")
                assert f"[{mac.upper()}]" in asked
        assert "foreign-dhcp" not in run("ip", "-n", here, "link")
        assert away not in run("ip", "netns", "list")
    finally:
        network.remove_namespace(here)
