"""`init --netbox`: the hosts that NetBox names, alone and beside what the BMCs told."""

import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from testing import plans
from testing.certificates import authority
from testing.command_line import run
from testing.fakes.fleet.fleet import Fleet, Options, running, serial_of, uuid_of
from testing.fakes.fleet.hardware import disk_serial_of, mac_of
from testing.fakes.netbox import CA, V1, V2, FakeNetBox, netbox
from testing.fakes.site import FakeSite

CONFIG, STACK = "stacks/prod/install-config.yaml", "stacks/Pulumi.prod.yaml"
NAMES = ("node-b", "node-a", "node-c", "node-d", "node-e")
TAGS: tuple[list[str], ...] = (["worker"], ["control-plane"], [], ["master"], [])
"""Of the devices, beside that of the cluster: the two that say nothing fill up the roles in NetBox's order."""


class Desk:
    """A folder with an install-config without hosts, and a NetBox that has the cluster's devices."""

    def __init__(self, folder: Path, site: FakeNetBox) -> None:
        self.folder, self.netbox = folder, site
        config = plans.install_config()
        del config["platform"]["baremetal"]["hosts"]
        (folder / "mine.yaml").write_text(plans.written(config))
        (folder / "netbox-ca.pem").write_text(authority(CA).pem)
        for host, name in enumerate(NAMES):
            device = self.add(name, host, tags=["okd-prod", *TAGS[host]])
            site.add_interface(device, "eno1", mac_of(host, 0), ip=f"192.168.111.{31 + host}/24")
            site.add_interface(device, "eno2", mac_of(host, 1))
            site.add_interface(device, "iDRAC", "02:00:00:00:00:01", mgmt_only=True)
        self.add("elsewhere", 9, tags=["another"])

    def add(self, name: str, host: int, **more: Any) -> int:
        bmc, ip = f"127.0.0.{11 + host}/24", f"192.168.111.{31 + host}/24"
        return self.netbox.add_device(name, **{"serial": serial_of(host), "bmc": bmc, "ip": ip, **more})

    def device(self, host: int) -> dict[str, Any]:
        return self.netbox.lists["/api/dcim/devices/"][host]

    def init(self, *words: str, url: str = "", token: str = V2, ca: str = "netbox-ca.pem") -> CompletedProcess[str]:
        url = url or f"{self.netbox.url}/dcim/devices/?tag=okd-prod&per_page=100&sort=name"
        arguments = ("init", "prod", "--install-config", "mine.yaml", "--netbox", url, *words)
        environment = {"PATH": "/nonexistent", "NETBOX_TOKEN": token, "SSL_CERT_FILE": ca}
        done = run(*arguments, folder=self.folder, **environment)
        assert not token or token not in done.stdout + done.stderr
        return done

    def refused(self, *words: str, **how: Any) -> str:
        """Run a command that writes nothing, and return its only line."""
        done = self.init(*words, **how)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stdout + done.stderr
        assert ". Fix: " in done.stderr
        assert not (self.folder / "stacks").exists()
        return done.stderr

    def hosts(self) -> list[dict[str, Any]]:
        config = yaml.safe_load((self.folder / CONFIG).read_text())
        hosts: list[dict[str, Any]] = config["platform"]["baremetal"]["hosts"]
        return hosts

    def discover(self, fleet: Fleet) -> None:
        (self.folder / "ca.pem").write_text(fleet.ca)
        logins = self.folder / "logins.yaml"
        logins.write_text(f"- username: {fleet.options.username}\n  password: {fleet.options.password}\n")
        logins.chmod(0o600)
        hosts = [fleet.base(host) for host in range(fleet.options.hosts)]
        done = run("discover", "--logins", "logins.yaml", "--ca", "ca.pem", "--json", *hosts, folder=self.folder)
        assert done.returncode == 0, done.stderr
        (self.folder / "servers.json").write_text(done.stdout)
        for host in range(fleet.options.hosts):
            address = fleet.base(host).removeprefix("https://").partition(":")[0]
            self.device(host)["oob_ip"]["address"] = f"{address}/8"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr("cli.start.init.LocalSite", lambda: FakeSite(names={}))
    with netbox() as site:
        yield Desk(tmp_path, site)


@pytest.fixture
def read(desk: Desk) -> Iterator[Desk]:
    """A desk whose BMCs were read, and are as NetBox has them."""
    with running(Options(hosts=5)) as fleet:
        desk.discover(fleet)
        yield desk


@pytest.mark.parametrize("token", [V1, V2])
def test_hosts_are_the_devices_of_the_list(desk: Desk, token: str) -> None:
    done = desk.init(token=token)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(it["name"], it["role"], it["bmc"]["address"], it["bootMACAddress"]) for it in desk.hosts()] == [
        (NAMES[host], role, f"redfish-virtualmedia://127.0.0.{11 + host}", mac_of(host, 0))
        for host, role in [(1, "master"), (3, "master"), (2, "master"), (0, "worker"), (4, "worker")]
    ]
    assert not any("rootDeviceHints" in it for it in desk.hosts())
    assert "# No disk is named: NetBox has none." in (desk.folder / CONFIG).read_text()
    options = yaml.safe_load((desk.folder / STACK).read_text())["config"]
    assert options["okd-baremetal:node_addresses"] == {
        name: [f"192.168.111.{31 + host}"] for host, name in enumerate(NAMES)
    }
    assert "okd-baremetal:consent" not in options


def test_lists_are_read_page_by_page(desk: Desk) -> None:
    desk.netbox.max_page_size = 2
    assert desk.init().returncode == 0
    assert len(desk.hosts()) == 5
    assert sum(path.startswith("/api/dcim/devices/") for path in desk.netbox.requests) == 3


def test_disks_and_consents_are_the_bmcs_where_they_were_read(read: Desk) -> None:
    done = read.init("--discover", "servers.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NetBox and the BMCs agree." in done.stdout.splitlines()
    assert {it["name"]: it["rootDeviceHints"] for it in read.hosts()} == {
        name: {"serialNumber": disk_serial_of(host, 0)} for host, name in enumerate(NAMES)
    }
    options = yaml.safe_load((read.folder / STACK).read_text())["config"]
    assert options["okd-baremetal:consent"] == {name: uuid_of(host) for host, name in enumerate(NAMES)}
    assert (read.folder / "stacks/prod/inventory.json").exists()


def test_what_netbox_and_the_bmcs_say_otherwise_is_a_report(read: Desk) -> None:
    read.device(0)["serial"] = "OLD"
    read.device(1)["oob_ip"]["address"] = "10.9.9.9/24"
    interfaces = read.netbox.lists["/api/dcim/interfaces/"]
    interfaces[7]["mac_address"] = "52:54:00:00:00:99"  # the second of node-c
    inventory = json.loads((read.folder / "servers.json").read_text())
    extra = {"bmc": "https://127.9.9.9/redfish/v1/Systems/1", "serial": "EXTRA"}
    inventory["servers"].append(extra)
    (read.folder / "servers.json").write_text(json.dumps(inventory))
    done = read.init("--discover", "servers.json")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    address = inventory["servers"][1]["bmc"].removeprefix("https://").partition(":")[0]
    assert lines[: lines.index("stacks/prod/install-config.yaml: written")] == [
        "NetBox and the BMCs differ:",
        f"node-b: serial: NetBox has OLD, the BMC {serial_of(0)}",
        f"node-a: BMC address: NetBox has 10.9.9.9, it was read at {address}",
        "node-c: MAC 52:54:00:00:00:99: eno2 in NetBox, on no card",
        f"node-c: MAC {mac_of(2, 1)}: of the card NIC2, not in NetBox",
        "https://127.9.9.9/redfish/v1/Systems/1: serial EXTRA: not among NetBox's devices",
    ]


def test_a_serial_counts_more_than_an_address(read: Desk) -> None:
    one, other = read.device(0)["oob_ip"], read.device(1)["oob_ip"]
    one["address"], other["address"] = other["address"], one["address"]
    done = read.init("--discover", "servers.json")
    assert done.stdout.count("BMC address: NetBox has") == 2
    hints = {it["name"]: it["rootDeviceHints"] for it in read.hosts()}
    assert hints["node-b"] == {"serialNumber": disk_serial_of(0, 0)}


def test_more_devices_than_replicas_are_refused(desk: Desk) -> None:
    desk.add("spare", 5)
    assert "6 devices have what the address filters by, and the replicas want 5" in desk.refused()


def test_a_device_whose_bmc_was_not_read_is_refused(read: Desk) -> None:
    inventory = json.loads((read.folder / "servers.json").read_text())
    (read.folder / "servers.json").write_text(json.dumps({**inventory, "servers": inventory["servers"][1:]}))
    line = read.refused("--discover", "servers.json")
    assert (
        f"NetBox: node-b: no server in servers.json has the BMC address 127.9.0.0, the serial {serial_of(0)}" in line
    )


def test_the_card_below_a_vlan_a_bridge_and_a_bond_is_found(desk: Desk) -> None:
    device = 1
    bridge = desk.netbox.add_interface(device, "br0", mac_of(0, 0), kind="bridge")
    vlan = desk.netbox.add_interface(device, "br0.7", mac_of(0, 0), kind="virtual", parent=bridge)
    bond = desk.netbox.add_interface(device, "bond0", mac_of(0, 0), kind="lag", bridge=bridge)
    desk.netbox.lists["/api/ipam/ip-addresses/"][0]["assigned_object_id"] = vlan
    desk.netbox.lists["/api/dcim/interfaces/"][1]["lag"] = {"id": bond}
    assert desk.init().returncode == 0
    assert {it["name"]: it["bootMACAddress"] for it in desk.hosts()}["node-b"] == mac_of(0, 1)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"name": None}, "NetBox: an unnamed R750, serial "),
        ({"oob_ip": None}, "NetBox: node-b: no out-of-band IP"),
        ({"primary_ip4": None}, "NetBox: node-b: boot MAC: none of 2 cards has the primary IP: eno1 "),
        ({"serial": 5}, "an answer has another form than NetBox 4's: serial: "),
        ({"tags": [{"slug": it} for it in ("okd-prod", "master", "worker")]}, "is compute and control-plane"),
        (
            {"tags": [{"slug": it} for it in ("okd-prod", "arbiter")]},
            "1 devices are arbiter, and the replicas want 0",
        ),
        ({"tags": []}, "4 devices have what the address filters by, and the replicas want 5"),
    ],
)
def test_what_netbox_lacks_is_one_line(desk: Desk, change: Any, what: str) -> None:
    desk.device(0).update(change)
    assert what in desk.refused()


@pytest.mark.parametrize("token", ["f" * 40, V2[:-1], ""])
def test_a_token_that_netbox_refuses_is_never_shown(desk: Desk, token: str) -> None:
    line = desk.refused(token=token)
    assert line.startswith("NETBOX_TOKEN: not in the environment" if not token else desk.netbox.url)
    assert token or "export NETBOX_TOKEN" in line
    assert not token or "HTTP 403: Invalid v" in line


def test_a_netbox_without_trust_gets_no_token(desk: Desk) -> None:
    (desk.folder / "other.pem").write_text(authority("other").pem)
    assert "its certificate is not trusted" in desk.refused(ca="other.pem")
    assert desk.netbox.requests == []


def test_the_token_follows_no_page_and_no_redirect_elsewhere(desk: Desk) -> None:
    desk.netbox.max_page_size, desk.netbox.next_scheme = 2, "http"
    assert "the next page of a list has an address outside it" in desk.refused()
    desk.netbox.answer = lambda path: (302, "", {"Location": f"https://127.0.0.1:9{path}"})
    assert "it redirects, and the token is sent nowhere else" in desk.refused()


@pytest.mark.parametrize(
    ("status", "body", "what"),
    [
        (200, "<html>", "the answer is no JSON"),
        (200, "[1]", "an answer has another form than NetBox 4's"),
        (200, '{"count": 1, "next": null, "results": [{"id": 1}]}', "an answer has another form than NetBox 4's: "),
        (502, "<html>Bad Gateway", "HTTP 502. Fix: "),
        (404, "<html>", "HTTP 404. Fix: "),
        (
            403,
            '{"detail": "You do not have permission"}',
            "HTTP 403: You do not have permission, with the NETBOX_TOKEN",
        ),
    ],
)
def test_another_answer_is_one_line(desk: Desk, status: int, body: str, what: str) -> None:
    desk.netbox.answer = lambda _: (status, body, {})
    assert what in desk.refused()


def test_a_filter_value_that_netbox_refuses_is_one_line(desk: Desk) -> None:
    assert "HTTP 400" in desk.refused(url=f"{desk.netbox.url}/dcim/devices/?tag=nosuch")


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("https://netbox.lab.test/", "not the address of a list of devices"),
        ("netbox.lab.test/dcim/devices/?tag=a", "not the address of a list of devices"),
        ("https://[/dcim/devices/?tag=a", "not the address of a list of devices"),
        ("https://netbox.lab.test/dcim/devices/5/?tag=a", "not the address of a list of devices"),
        ("http://netbox.lab.test/dcim/devices/?tag=a", "would show a secret"),
        ("https://me:hidden@netbox.lab.test/dcim/devices/?tag=a", "would show a secret"),
        ("https://netbox.lab.test/dcim/devices/?per_page=5", "has no filter"),
    ],
)
def test_an_address_that_is_no_list_of_devices_is_refused(desk: Desk, url: str, what: str) -> None:
    line = desk.refused(url=url)
    assert what in line
    assert "hidden" not in line


def test_consents_wait_for_the_logins(desk: Desk) -> None:
    assert "no login can be known" in desk.refused("--consents")
