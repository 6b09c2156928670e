"""From a list of addresses to a stack: `discover --json`, then `init --discover`, as the how-to page has them."""

import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from testing import plans
from testing.command_line import run
from testing.fakes.fleet.fleet import Fleet, Options, running, uuid_of
from testing.fakes.fleet.hardware import disk_serial_of, mac_of
from testing.fakes.site import FakeSite

CONFIG, STACK = "stacks/prod/install-config.yaml", "stacks/Pulumi.prod.yaml"


class Desk:
    """A folder with an install-config without hosts, and what `discover` printed of a fleet."""

    def __init__(self, folder: Path, fleet: Fleet) -> None:
        self.folder, self.fleet = folder, fleet
        config = plans.install_config()
        del config["platform"]["baremetal"]["hosts"]
        (folder / "mine.yaml").write_text(f"# mine\n{plans.written(config)}")
        (folder / "ca.pem").write_text(fleet.ca)
        logins = folder / "logins.yaml"
        logins.write_text(f"- username: {fleet.options.username}\n  password: {fleet.options.password}\n")
        logins.chmod(0o600)

    def discover(self, change: dict[str, Any] | None = None) -> None:
        hosts = [self.fleet.base(host) for host in range(self.fleet.options.hosts)]
        done = run("discover", "--logins", "logins.yaml", "--ca", "ca.pem", "--json", *hosts, folder=self.folder)
        assert done.returncode == 0, done.stderr
        inventory = json.loads(done.stdout)
        inventory["servers"][0] |= change or {}
        (self.folder / "servers.json").write_text(json.dumps(inventory))

    def init(self, *words: str) -> CompletedProcess[str]:
        arguments = ("init", "prod", "--install-config", "mine.yaml", "--discover", "servers.json", *words)
        return run(*arguments, folder=self.folder, PATH="/nonexistent")

    def hosts(self) -> list[dict[str, Any]]:
        config = yaml.safe_load((self.folder / CONFIG).read_text())
        hosts: list[dict[str, Any]] = config["platform"]["baremetal"]["hosts"]
        return hosts


@pytest.fixture
def desk(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr("cli.start.init.LocalSite", FakeSite)
    vendors = getattr(request, "param", ("generic",))
    with running(Options(hosts=5, vendors=vendors)) as fleet:
        yield Desk(tmp_path, fleet)


def test_hosts_and_consents_are_what_the_bmcs_told(desk: Desk) -> None:
    desk.discover()
    done = desk.init()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(it["name"], it["role"], it["bootMACAddress"], it["rootDeviceHints"]) for it in desk.hosts()] == [
        (f"okd-{role}-{number}", role, mac_of(host, 0), {"serialNumber": disk_serial_of(host, 0)})
        for host, (role, number) in enumerate(
            [("master", 0), ("master", 1), ("master", 2), ("worker", 0), ("worker", 1)]
        )
    ]
    addresses = [desk.fleet.address(host).replace("+https", "") for host in range(5)]
    assert [it["bmc"] for it in desk.hosts()] == [{"address": address} for address in addresses]
    options = yaml.safe_load((desk.folder / STACK).read_text())["config"]
    assert options["okd-baremetal:consent"] == {it["name"]: uuid_of(host) for host, it in enumerate(desk.hosts())}
    assert "bmc_credentials.okd-master-0.password" in done.stdout
    text = (desk.folder / CONFIG).read_text()
    assert "Control plane: the first 3 of the 5 servers that are most alike" in text
    assert text.startswith("# mine\n")
    assert desk.fleet.options.password not in text + done.stdout


@pytest.mark.parametrize("desk", [("generic_http", "dell", "lenovo", "dell", "dell")], indirect=True)
def test_the_servers_that_are_most_alike_are_the_control_plane(desk: Desk) -> None:
    desk.discover()
    assert desk.init().returncode == 0
    kinds = [it["bmc"]["address"].partition(":")[0] for it in desk.hosts()]
    assert kinds == [*["idrac-virtualmedia"] * 3, *["redfish-virtualmedia"] * 2]


def test_the_same_again_changes_nothing(desk: Desk) -> None:
    desk.discover()
    desk.init()
    again = desk.init()
    assert again.returncode == 0
    assert f"{CONFIG}: unchanged" in again.stdout


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"cards": []}, "boot MAC: the BMC tells no MAC address"),
        ({"disks": []}, "root disk: the BMC tells no disk"),
        ({"ways": []}, "no type of bmc.address by which it can be booted"),
        ({"power": 5}, "servers[0].power"),
        ({"colour": "red"}, "servers[0].colour"),
    ],
)
def test_what_an_entry_lacks_is_one_line_and_nothing_is_written(desk: Desk, change: Any, what: str) -> None:
    desk.discover(change)
    done = desk.init()
    assert done.returncode == 2
    assert what in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (desk.folder / "stacks").exists()


def test_two_bmcs_of_one_machine_are_no_two_hosts(desk: Desk) -> None:
    desk.discover({"uuid": uuid_of(3)})
    done = desk.init()
    both = ", ".join(f"{desk.fleet.base(host)}/redfish/v1/Systems/1" for host in (0, 3))
    fault = f"servers.json: {both} lead to one machine. Fix: take all but one of them out of it\n"
    assert (done.returncode, done.stderr) == (2, fault)


def test_too_few_servers_are_refused(desk: Desk) -> None:
    desk.discover()
    inventory = json.loads((desk.folder / "servers.json").read_text())
    (desk.folder / "servers.json").write_text(json.dumps({**inventory, "servers": inventory["servers"][:4]}))
    done = desk.init()
    assert (done.returncode, "4 servers, and the replicas want 5" in done.stderr) == (2, True)


@pytest.mark.parametrize("hosts", [plans.install_config()["platform"]["baremetal"]["hosts"], []])
def test_hosts_that_are_written_are_not_overwritten(desk: Desk, hosts: list[Any]) -> None:
    desk.discover()
    config = plans.install_config()
    config["platform"]["baremetal"]["hosts"] = hosts
    (desk.folder / "mine.yaml").write_text(plans.written(config))
    done = desk.init()
    assert (done.returncode, "platform.baremetal.hosts: written already" in done.stderr) == (2, True)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_platform_in_braces_is_refused_with_what_to_do(desk: Desk, indent: int | None) -> None:
    desk.discover()
    config = plans.install_config()
    del config["platform"]["baremetal"]["hosts"]
    (desk.folder / "mine.yaml").write_text(json.dumps(config, indent=indent))
    done = desk.init()
    assert done.returncode == 2
    assert done.stderr.startswith(
        "mine.yaml: platform.baremetal: no line can be put before its keys. Fix: write each of its keys"
    )


@pytest.mark.parametrize("text", ["platform: [\n", "a: 1\n", None])
def test_an_install_config_that_cannot_be_read_is_named(desk: Desk, text: str | None) -> None:
    desk.discover()
    (desk.folder / "mine.yaml").unlink()
    if text:
        (desk.folder / "mine.yaml").write_text(text)
    done = desk.init()
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith("mine.yaml: ")


def test_what_no_bmc_told_can_be_written_into_the_file(desk: Desk) -> None:
    disks = [{"name": "d", "serial": "S-1", "size_bytes": 480 * 10**9}]
    desk.discover({"cards": [{"name": "n", "mac": "52:54:00:00:00:0a", "link": "up"}], "disks": disks})
    assert desk.init().returncode == 0
    (host,) = (it for it in desk.hosts() if it["bootMACAddress"] == "52:54:00:00:00:0a")
    assert host["rootDeviceHints"] == {"serialNumber": "S-1"}


def test_a_stack_that_has_its_install_config_gets_the_hosts_into_it(desk: Desk) -> None:
    desk.discover()
    kept = desk.folder / CONFIG
    kept.parent.mkdir(parents=True)
    (desk.folder / "mine.yaml").rename(kept)
    done = run("init", "prod", "--discover", "servers.json", folder=desk.folder, PATH="/nonexistent")
    assert done.returncode == 0, done.stderr
    assert len(desk.hosts()) == 5
    again = run("init", "prod", "--discover", "servers.json", folder=desk.folder, PATH="/nonexistent")
    assert (again.returncode, "platform.baremetal.hosts: written already" in again.stderr) == (2, True)


def test_the_inventory_is_kept_beside_the_stack_and_plan_compares_with_it(desk: Desk) -> None:
    desk.discover()
    desk.init()
    kept = desk.folder / "stacks/prod/inventory.json"
    assert kept.read_text() == (desk.folder / "servers.json").read_text()
    assert desk.fleet.options.password not in kept.read_text()
