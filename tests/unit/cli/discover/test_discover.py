"""`okd-baremetal discover` against the fake fleet, over TLS."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from base.errors import ConfigError
from cli.discover.addresses import MOST, targets_of
from cli.discover.logins import MOST_REFUSED
from cli.discover.page import html
from cli.discover.reading import address_of
from cluster.inventory.model import DiscoveredServer, Inventory
from cluster.values.bmc_url import parse_bmc_url
from testing.command_line import run
from testing.fakes.fleet.fleet import Fault, Fleet, Options, running, serial_of
from testing.fakes.fleet.hardware import disk_serial_of, mac_of

CANARY, WRONG = "c4nary-Pässword", "wr0ng-Pässword"
LOGIN = "POST /redfish/v1/SessionService/Sessions"


class Desk:
    """A folder with the files of `discover`, for a fleet."""

    def __init__(self, folder: Path, fleet: Fleet) -> None:
        self.folder, self.fleet = folder, fleet
        (folder / "ca.pem").write_text(fleet.ca)
        self.logins(CANARY)

    def logins(self, *passwords: str) -> None:
        file = self.folder / "logins.yaml"
        lines = [f"- username: {self.fleet.options.username}\n  password: {password}\n" for password in passwords]
        file.write_text("".join(lines))
        file.chmod(0o600)

    def address(self, host: int) -> str:
        return self.fleet.base(host).removeprefix("https://")

    def discover(self, *words: str, ca: bool = True) -> subprocess.CompletedProcess[str]:
        trust = ("--ca", "ca.pem") if ca else ()
        done = run("discover", "--logins", "logins.yaml", *trust, *words, folder=self.folder)
        assert CANARY not in done.stdout + done.stderr
        return done

    def read(self, *words: str) -> Inventory:
        return Inventory.model_validate_json(self.discover("--json", *words).stdout)


@pytest.fixture
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    options: dict[str, Any] = getattr(request, "param", {})
    with running(Options(**{"hosts": 3, "password": CANARY, **options})) as fleet:
        yield Desk(tmp_path, fleet)


def test_a_range_is_read_side_by_side_and_printed(desk: Desk) -> None:
    first, port = desk.address(0).split(":")
    done = desk.discover(f"{first}-2:{port}")
    assert done.returncode == 0, done.stderr
    for host in range(3):
        (row,) = (line for line in done.stdout.splitlines() if serial_of(host) in line)
        assert mac_of(host, 0) in row
        assert disk_serial_of(host, 0) in row
    assert desk.fleet.total().sessions == 0
    assert all(desk.fleet.figures(host).writes == [] for host in range(3))


def test_addresses_of_a_file_join_those_of_the_command(desk: Desk) -> None:
    (desk.folder / "bmcs").write_text(f"# rack 1\n{desk.address(1)}  # the second\n\nhttps://{desk.address(2)}/\n")
    inventory = desk.read(desk.fleet.address(0), "--from", "bmcs")
    assert [server.serial for server in inventory.servers] == [serial_of(host) for host in range(3)]
    assert [server.bmc for server in inventory.servers] == [
        f"{desk.fleet.base(host)}/redfish/v1/Systems/1" for host in range(3)
    ]


def test_the_page_has_each_server_and_what_stops_it(desk: Desk) -> None:
    done = desk.discover("--html", "servers.html", *(desk.address(host) for host in range(2)))
    page = (desk.folder / "servers.html").read_text()
    assert done.returncode == 0
    assert serial_of(0) in page.partition("<tbody>")[2]
    assert serial_of(1) in page.partition("<tbody>")[2]
    assert "2 servers, 0 of which something stops" in page
    stopped = html(desk.read(desk.address(0)).changed(servers=(DiscoveredServer(bmc="https://b", ways=()),)))
    assert "boot MAC: the BMC tells no MAC address; root disk: the BMC tells no disk; no type of bmc" in stopped
    refused = desk.discover("--html", "ca.pem/servers.html", desk.address(0))
    assert (refused.returncode, serial_of(0) in refused.stdout) == (2, True)
    assert "ca.pem/servers.html: cannot be written (File exists). Fix: " in refused.stderr


@pytest.mark.parametrize("desk", [{"hosts": 2, "vendors": ("dell",)}], indirect=True)
def test_servers_of_one_rack_stand_together_on_the_page(desk: Desk) -> None:
    inventory = desk.read(desk.address(1), desk.address(0))
    assert [server.rack for server in inventory.servers] == ["A1 U10", "A1 U09"]
    lost = inventory.servers[0].changed(bmc="https://lost", serial="LOST", tag="", rack="")
    page = html(inventory.changed(servers=(lost, *inventory.servers)))
    body = page.partition("<tbody>")[2]
    assert body.index("A1 U09") < body.index("A1 U10") < body.index("LOST")


def test_logins_are_tried_in_their_order(desk: Desk) -> None:
    desk.logins(WRONG, CANARY)
    inventory = desk.read(desk.address(0))
    assert [server.login for server in inventory.servers] == [2]


def test_no_bmc_refuses_more_logins_than_it_takes_to_lock(desk: Desk) -> None:
    desk.logins(WRONG, f"{WRONG}2", CANARY, f"{WRONG}3")
    done = desk.discover(desk.address(0))
    assert done.returncode == 2
    assert "the BMC refuses the first 2 of 4 logins; the other 2 were not tried, because accounts lock" in done.stdout
    assert WRONG not in done.stdout + done.stderr
    assert len(desk.fleet.figures(0).lines) == MOST_REFUSED


def test_a_login_that_is_not_an_administrators_is_a_gap(desk: Desk) -> None:
    desk.fleet.fault(Fault("GET .*/Storage$", "status", status=403))
    (server,) = desk.read(desk.address(0)).servers
    assert server.disks == ()
    assert any(gap.what == "disks" and "HTTP 403" in gap.why for gap in server.gaps)


def test_a_bmc_that_takes_only_sessions_is_read_by_one(desk: Desk) -> None:
    header = {"WWW-Authenticate": "Digest realm=BMC"}
    desk.fleet.fault(Fault("GET .*/Systems$", "status", status=401, headers=header, times=1))
    inventory = desk.read(desk.address(0))
    assert [server.serial for server in inventory.servers] == [serial_of(0)]
    assert LOGIN in desk.fleet.figures(0).lines
    assert desk.fleet.total().sessions == 0


def test_no_login_goes_to_a_server_that_is_not_trusted(desk: Desk) -> None:
    done = desk.discover(desk.address(0), ca=False)
    assert done.returncode == 2
    assert "its certificate is not trusted" in done.stdout
    assert "--ca" in done.stdout
    assert desk.fleet.figures(0).lines == []
    trusting = desk.discover(desk.address(0), "--trust-any-certificate", "--json", ca=False)
    assert len(Inventory.model_validate_json(trusting.stdout).servers[0].certificate_sha256) == 64


def test_silence_within_a_range_is_counted_and_at_an_address_is_an_error(desk: Desk) -> None:
    first, port = desk.address(0).split(":")
    desk.fleet.change(1, listening=False)
    done = desk.discover(f"{first}-2:{port}")
    assert done.returncode == 0
    assert "1 addresses of ranges or boards have no server" in done.stdout
    alone = desk.discover(desk.address(1))
    assert alone.returncode == 2
    assert f"{desk.address(1)}: no connection" in alone.stdout


def test_a_bmc_that_fails_stops_no_other(desk: Desk) -> None:
    desk.fleet.fault(Fault("GET .*/Systems", "malformed"), hosts=(1,))
    done = desk.discover(*(desk.address(host) for host in range(3)), "--json")
    inventory = Inventory.model_validate_json(done.stdout)
    assert done.returncode == 2
    assert [server.serial for server in inventory.servers] == [serial_of(0), serial_of(2)]
    assert [unread.address.endswith(desk.address(1)) for unread in inventory.unread] == [True]


@pytest.mark.parametrize(
    "path", ["/redfish/v1/Systems/a@b", "/redfish/v1/Systems/\ud800", "http://10.9.9.9/x", "?#", ".other.test/x"]
)
def test_a_path_that_no_address_can_have_stops_no_other_bmc(desk: Desk, path: str) -> None:
    says = {"Members": [{"@odata.id": path}]}
    desk.fleet.fault(Fault("GET .*/Systems$", "says", says=says), hosts=(1,))
    done = desk.discover(*(desk.address(host) for host in range(2)), "--json")
    inventory = Inventory.model_validate_json(done.stdout)
    assert done.returncode == 2
    assert [server.serial for server in inventory.servers] == [serial_of(0)]
    assert len(inventory.unread) == 1


def test_a_path_of_a_bmc_makes_no_other_host_of_it() -> None:
    url = parse_bmc_url("redfish://10.0.0.1")
    assert address_of(url, ".other.test/redfish/v1/Systems/1") == ""
    assert address_of(url, "/redfish/v1/Systems/1/") == "redfish://10.0.0.1/redfish/v1/Systems/1"


@pytest.mark.parametrize("desk", [{"hosts": 1, "vendors": ("dgx",)}], indirect=True)
def test_the_board_of_a_server_is_no_server(desk: Desk) -> None:
    inventory = desk.read(desk.address(0))
    assert [server.bmc.rsplit("/", 1)[1] for server in inventory.servers] == ["DGX"]
    assert [(it.address.rsplit("/", 1)[1], it.silent) for it in inventory.unread] == [("HGX_Baseboard_0", True)]
    assert len(desk.fleet.figures(0).lines) <= 40


def hosts_of(*words: str) -> list[str]:
    return [target.address.removeprefix("redfish-virtualmedia+") for target in targets_of(words, None)]


def test_addresses_have_many_forms() -> None:
    assert hosts_of("10.0.0.1", "bmc1.lab.test:8443", "http://10.0.0.2:80") == [
        *("https://10.0.0.1", "https://bmc1.lab.test:8443", "http://10.0.0.2:80"),
    ]
    assert hosts_of("10.0.0.254-10.0.1.1") == [f"https://10.0.{it}" for it in ("0.254", "0.255", "1.0", "1.1")]
    assert hosts_of("10.0.0.0/30", "10.0.0.2") == ["https://10.0.0.1", "https://10.0.0.2"]
    assert hosts_of("2001:db8::1", "[2001:db8::2]:444") == ["https://[2001:db8::1]", "https://[2001:db8::2]:444"]
    assert hosts_of("2001:db8::/127") == ["https://[2001:db8::]", "https://[2001:db8::1]"]


def test_a_bmc_is_read_once_however_its_address_is_spelled() -> None:
    spellings = (
        "10.0.0.1",
        "https://10.0.0.1:443/",
        "idrac-virtualmedia://10.0.0.1",
        "BMC.lab.test",
        "bmc.lab.test.",
    )
    assert hosts_of(*spellings) == ["https://10.0.0.1", "https://BMC.lab.test"]


@pytest.mark.parametrize("desk", [{"hosts": 1}], indirect=True)
def test_refused_logins_and_sessions_count_among_the_forty_requests(desk: Desk) -> None:
    header = {"WWW-Authenticate": "Digest realm=BMC"}
    desk.fleet.fault(Fault("GET .*/Systems$", "status", status=401, headers=header, times=2))
    members = [{"@odata.id": "/redfish/v1/Systems/1"}] * 5
    desk.fleet.fault(Fault("GET .*/Systems$", "says", says={"Members": members}))
    desk.logins(WRONG, CANARY)
    inventory = desk.read(desk.address(0))
    assert {server.login for server in inventory.servers} == {2}
    assert desk.fleet.total().sessions == 0
    assert 35 <= len(desk.fleet.figures(0).lines) <= 40


@pytest.mark.parametrize("desk", [{"hosts": 1}], indirect=True)
def test_a_bmc_of_more_systems_than_requests_says_how_to_read_them(desk: Desk) -> None:
    says = {"Members": [{"@odata.id": f"/redfish/v1/Systems/{number}"} for number in range(60)]}
    desk.fleet.fault(Fault("GET .*/Systems$", "says", says=says))
    done = desk.discover(desk.address(0))
    assert done.returncode == 2
    assert "name each of its systems by a bmc.address" in done.stdout
    assert len(desk.fleet.figures(0).lines) <= 40


@pytest.mark.parametrize("word", ["https://root:s3cret@10.0.0.1", "redfish://root:s3cret@10.0.0.1", "r:s3cret@a-b"])
def test_a_login_in_an_address_is_refused_and_not_repeated(word: str) -> None:
    with pytest.raises(ConfigError) as caught:
        targets_of([word], None)
    assert "s3cret" not in str(caught.value)
    assert str(caught.value).count("Fix: ") == 1


def test_logins_that_are_no_yaml_are_named_without_their_words(tmp_path: Path) -> None:
    done = run("discover", "--logins", "-", "127.0.0.1:1", folder=tmp_path, stdin="- {password: [s3cret}")
    assert (done.returncode, done.stderr.partition(":")[0]) == (2, "standard input")
    assert "s3cret" not in done.stderr


@pytest.mark.parametrize("option", ["--from", "--ca"])
def test_a_file_that_is_none_of_these_is_named(tmp_path: Path, option: str) -> None:
    logins = tmp_path / "logins.yaml"
    logins.write_text("- {username: a, password: s3cret}")
    logins.chmod(0o600)
    (tmp_path / "no.pem").write_text("no certificate")
    file = {"--from": "missing", "--ca": "no.pem"}[option]
    done = run("discover", "--logins", logins, option, file, "127.0.0.1:1", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{file}: ")
    assert "Fix: name " in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("10.0.0.9-3",),
        ("10.0.0.300",),
        ("10.0.0.0/8",),
        ("a b",),
        ("ipmi://10.0.0.1",),
        ("10.0.0.1:99999",),
        ("",),
    ],
)
def test_what_is_no_address_is_refused_before_anything_is_sent(words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        targets_of(words, None)
    assert len(caught.value.faults) == 1


def test_more_addresses_than_one_command_reads_are_refused() -> None:
    with pytest.raises(ConfigError, match=f"{MOST:,} at most"):
        targets_of(["10.0.0.0/21", "10.1.0.0/21", "10.2.0.0/21"], None)


@pytest.mark.parametrize(
    ("text", "mode", "what"),
    [
        ("- {username: a, password: s3cret}", 0o644, "others may read it"),
        ("[]", 0o600, "no login"),
        ("- {username: a}", 0o600, "no list of logins"),
        ("- {username: a, pasword: s3cret}", 0o600, "no list of logins"),
        ("s3cret", 0o600, "no list of logins"),
    ],
)
def test_a_file_of_logins_is_refused_without_its_words(tmp_path: Path, text: str, mode: int, what: str) -> None:
    file = tmp_path / "logins.yaml"
    file.write_text(text)
    file.chmod(mode)
    done = run("discover", "--logins", file, "10.0.0.1", folder=tmp_path)
    assert done.returncode == 2
    assert what in done.stderr
    assert "s3cret" not in done.stderr
