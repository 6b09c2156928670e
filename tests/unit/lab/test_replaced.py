"""A server with another board, and one with another BMC: what differs, and what the lab's own parts make of it."""

import hashlib
import http.client
import ssl
import subprocess
import xml.etree.ElementTree as ET
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from unittest.mock import MagicMock, call

import libvirt
import pytest

from lab.inventory import Site, load_site
from lab.paths import DISKS
from lab.replaced import with_another_bmc, with_another_board
from lab.site import bmc, libvirtd, network
from lab.site.systems import PORT
from lab.twin import PASSWORD, USERNAME
from testing.fakes.serving import serving
from testing.namespaces import MORTAL, SBIN, in_own_network, ip, needs_root
from testing.project import eventually

NAME, OTHER = "okd-master-1", "okd-master-2"


@pytest.fixture(scope="module")
def site() -> Site:
    return load_site()


def test_another_board_is_another_machine_with_the_same_bmc_and_disks(site: Site) -> None:
    now = with_another_board(site, NAME)
    again = with_another_board(now, NAME)
    own = [{it.name: it for it in each.plan.hosts}[NAME] for each in (site, now, again)]
    assert len({host.boot_mac for host in own}) == len({each.uuids[NAME] for each in (site, now, again)}) == 3
    assert {host.boot_mac[:8] for host in own} == {"52:54:00"}
    assert (now.bmcs, now.disks(own[1])) == (site.bmcs, site.disks(own[0]))
    assert now.uuids.items() ^ site.uuids.items() == {(NAME, now.uuids[NAME]), (NAME, site.uuids[NAME])}
    assert [host for host in now.plan.hosts if host.name != NAME] == [it for it in site.plan.hosts if it.name != NAME]


def test_the_emulator_and_dhcp_know_another_board_and_not_the_former(site: Site) -> None:
    now = with_another_board(site, NAME)
    former, new = site.uuids[NAME], now.uuids[NAME]
    settings = bmc._config(now)
    assert (new in settings, former in settings) == (True, False)
    assert rf"{former.replace('-', chr(92) + '-')}(/.*)?$' /redfish/v1/Systems/{new}\1" in bmc._front_config(now)
    (host,) = (it for it in now.plan.hosts if it.name == NAME)
    reserved = [line for line in network._dnsmasq_conf(now).splitlines() if line.startswith("dhcp-host=")]
    assert [line for line in reserved if NAME in line] == [
        f"dhcp-host={host.boot_mac},{NAME},192.168.111.22,infinite"
    ]


@pytest.mark.parametrize("runs", [True, False])
def test_another_board_gets_the_disks_as_they_are(site: Site, monkeypatch: pytest.MonkeyPatch, runs: bool) -> None:
    opened = MagicMock(spec=libvirt.virConnect)
    domain = opened.lookupByName.return_value
    domain.isActive.return_value = runs
    monkeypatch.setattr(libvirt, "open", lambda _: opened)
    monkeypatch.setattr(libvirtd, "run", lambda *words: pytest.fail(f"a disk is made: {words}"))
    now = with_another_board(site, NAME)
    libvirtd.replace_board(now, NAME)
    assert domain.destroy.called is runs
    domain.undefineFlags.assert_called_once_with(libvirt.VIR_DOMAIN_UNDEFINE_NVRAM)
    (made,) = (ET.fromstring(it.args[0]) for it in opened.defineXML.mock_calls)  # noqa: S314  (our own)
    assert (made.findtext("name"), made.findtext("uuid")) == (NAME, now.uuids[NAME])
    files = [source.attrib["file"] for source in made.iterfind("devices/disk/source")]
    assert files == [str(DISKS / f"{NAME}-{number}.qcow2") for number in range(len(files))]
    assert files


def test_leases_are_forgotten_while_nobody_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = MagicMock(side_effect=lambda: (tmp_path / "leases").write_text("0 52:54:00:11:10:16 192.168.111.22"))
    monkeypatch.setattr(network, "DNS", tmp_path)
    monkeypatch.setattr(network.dnsmasq, "stop", stopped)
    network.forget_leases()
    assert stopped.mock_calls == [call()]
    assert not (tmp_path / "leases").exists()


def test_another_bmc_is_that_of_the_same_machine_at_another_address(site: Site) -> None:
    now = with_another_bmc(site, NAME)
    again = with_another_bmc(with_another_bmc(now, NAME), OTHER)
    assert (now.uuids, now.plan.hosts) == (site.uuids, site.plan.hosts)
    addresses = [it.bmcs[NAME].address for it in (site, now, again)] + [again.bmcs[OTHER].address]
    assert len({*addresses}) == len(addresses)
    listeners = {(str(it.address), it.is_replaced) for it in bmc.listeners(now)}
    assert (str(addresses[0]), False) not in listeners
    assert (str(addresses[1]), True) in listeners
    assert sum(is_replaced for _, is_replaced in listeners) == 1


class _Emulator(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *words: object) -> None:
        """Write no log."""


@contextmanager
def real_haproxy(config: Path) -> Iterator[None]:
    command = [*MORTAL, "haproxy", "-db", "-f", str(config)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, env={"PATH": SBIN}) as haproxy:
        try:
            yield
        finally:
            haproxy.kill()


def asked(address: str, login: str) -> tuple[int, str]:
    """Return the status of a GET with a login, and the SHA-256 of the certificate; 0: nobody listens."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection(address, 8443, timeout=10, context=context)
    try:
        connection.connect()
    except OSError:
        return 0, ""
    shown = hashlib.sha256(connection.sock.getpeercert(binary_form=True) or b"").hexdigest()
    headers = {"Authorization": f"Basic {b64encode(login.encode()).decode()}"} if login else {}
    connection.request("GET", "/redfish/v1", headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status, shown


@needs_root
def test_another_bmc_takes_its_own_login_only_and_has_its_own_certificate(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bmc, "BMC", tmp_path)
    monkeypatch.setattr(bmc, "CA", tmp_path / "ca.crt")
    now = with_another_bmc(site, NAME)
    config, own, first = tmp_path / "bmc.cfg", str(now.bmcs[NAME].address), str(site.bmcs[OTHER].address)
    bmc._ensure_certificates(site)
    bmc._ensure_certificates(now)
    config.write_text(bmc._front_config(now))
    former, new = f"{USERNAME}:{PASSWORD}", f"{bmc.NEW_USERNAME}:{bmc.NEW_PASSWORD}"

    def work() -> None:
        for listener in (*bmc.listeners(site), *bmc.listeners(now)):
            ip(f"address replace {listener.address}/32 dev lo")
        with serving(HTTPServer(("127.0.0.1", PORT), _Emulator)), real_haproxy(config):
            eventually(lambda: asked(own, "")[0] == 200, within_s=20)
            shown = bmc.fingerprint(now, NAME)
            assert [asked(own, login) for login in ("", former, new)] == [(200, shown), (401, shown), (200, shown)]
            assert asked(first, former) == (200, bmc.fingerprint(now, OTHER))
            assert asked(str(site.bmcs[NAME].address), former) == (0, "")
            assert shown != bmc.fingerprint(now, OTHER)

    in_own_network(work)
