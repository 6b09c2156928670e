"""`okd-baremetal bmc …` against the fake fleet, over TLS."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.shared.command_line import GrowingTable
from providers.bmc_host.checks import BmcReport, Check
from testing import plans
from testing.checkout import ROOT
from testing.command_line import run
from testing.fakes.fleet.fleet import Fault, Fleet, Options, running, serial_of, uuid_of
from testing.fakes.fleet.vendors import VENDORS

CANARY = "c4nary-Pässword"
SHARED = "03000200-0400-0500-0006-000700080009"
FILE = "stacks/prod/install-config.yaml"
MOST_REQUESTS = 20


class Site:
    """A project with the stack `prod`, whose servers are those of a fleet: h0, h1, …"""

    def __init__(self, folder: Path, fleet: Fleet) -> None:
        self.folder, self.fleet = folder, fleet
        config = plans.install_config()
        config["platform"]["baremetal"]["hosts"] = [self._host(index) for index in range(fleet.options.hosts)]
        config["controlPlane"]["replicas"] = 3
        config["compute"][0]["replicas"] = fleet.options.hosts - 3
        (folder / "stacks" / "prod").mkdir(parents=True)
        (folder / FILE).write_text(yaml.safe_dump(config))
        self.options()

    def _host(self, index: int) -> dict[str, Any]:
        return {
            "name": f"h{index}",
            "role": "master" if index < 3 else "worker",
            "bmc": {
                "address": self.fleet.address(index),
                "username": self.fleet.options.username,
                "password": CANARY,
            },
            "bootMACAddress": f"52:54:00:11:11:{index:02x}",
            "rootDeviceHints": {"deviceName": "/dev/sda"},
        }

    def options(self, **options: Any) -> None:
        """Write the stack's file."""
        given = {"bmc_ca": self.fleet.ca, **options}
        text = yaml.safe_dump({"config": {f"okd-baremetal:{name}": value for name, value in given.items()}})
        (self.folder / "stacks" / "Pulumi.prod.yaml").write_text(text)

    def check(self, *words: str) -> subprocess.CompletedProcess[str]:
        return run("bmc", "check", FILE, "--stack", "prod", *words, folder=self.folder)

    def consent(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return run("bmc", "consent", "prod", *words, folder=self.folder, **environment)

    def capture(self, *words: str, out: str = "captured") -> subprocess.CompletedProcess[str]:
        return run("bmc", "capture", FILE, "--stack", "prod", "--out", out, *words, folder=self.folder)

    def consents(self) -> dict[str, str]:
        return {f"h{index}": uuid_of(index) for index in range(self.fleet.options.hosts)}


@contextmanager
def site_of(folder: Path, **options: Any) -> Iterator[Site]:
    with running(Options(password=CANARY, **options)) as fleet:
        yield Site(folder, fleet)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_of(tmp_path, hosts=3) as made:
        made.options(consent=made.consents())
        yield made


@pytest.mark.parametrize("session", [False, True], ids=["basic", "session"])
def test_a_check_of_every_vendor_takes_at_most_20_requests_and_no_change(tmp_path: Path, session: bool) -> None:
    with site_of(tmp_path, hosts=len(VENDORS), vendors=tuple(VENDORS)) as site:
        login = {"username": "admin", "password": CANARY, "session": session}
        site.options(consent=site.consents(), bmc_credentials={name: login for name in site.consents()})
        done = site.check("--json")
        rows = json.loads(done.stdout)
        assert (done.returncode, [row["stops"] for row in rows]) == (0, [[]] * len(VENDORS))
        assert [row["host"] for row in rows] == [*site.consents()]
        for index, vendor in enumerate(VENDORS.values()):
            figures = site.fleet.figures(index)
            assert 0 < figures.requests.total() <= MOST_REQUESTS, vendor.name
            assert len(figures.writes) == (2 if session else 0), "a login and its end"
            assert rows[index]["system"] == f"{vendor.manufacturer} {vendor.model}".strip()
        assert site.fleet.total().sessions == 0


def test_every_vendor_is_asked_for_secure_boot_with_at_most_20_requests(tmp_path: Path) -> None:
    with site_of(tmp_path, hosts=len(VENDORS), vendors=tuple(VENDORS)) as site:
        config = yaml.safe_load((tmp_path / FILE).read_text())
        for host in config["platform"]["baremetal"]["hosts"]:
            host["bootMode"] = "UEFISecureBoot"
        (tmp_path / FILE).write_text(yaml.safe_dump(config))
        site.options(consent=site.consents())
        done = site.check("--json")
        rows = dict(zip(VENDORS, json.loads(done.stdout), strict=True))
        assert done.returncode == 2
        assert [name for name, row in rows.items() if row["stops"]] == [
            *(
                "generic",
                "generic_name",
                "generic_whole",
                "hpe_ilo4",
                "supermicro_x13",
                "lenovo_patch",
                "gigabyte",
                "openbmc",
                "gb300",
            )
        ]
        assert (rows["dell"]["secure_boot"], rows["gb300"]["secure_boot"]) == ("off", "")
        for index, name in enumerate(VENDORS):
            assert 0 < site.fleet.figures(index).requests.total() <= MOST_REQUESTS, name
            assert site.fleet.figures(index).writes == []


def test_a_table_for_people_has_a_row_per_host_and_the_pins(site: Site) -> None:
    done = site.check()
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert lines[0].split("  ")[0] == "HOST"
    assert sorted(line.split()[:5] for line in lines[1:4]) == [
        [f"h{index}", "yes", "accepted", "Contoso", "3500"] for index in range(3)
    ]
    assert lines[5].split() == ["HOST", "PATH", "SHA256", "OF", "ITS", "CERTIFICATE", "SUBJECT"]
    pins = [line.split() for line in lines[6:]]
    assert [(host, len(pin), subject) for host, _, pin, subject in pins] == [
        (f"h{index}", 64, "CN=api.okd.lab.test") for index in range(3)
    ]


FENCE_PASSWORD = "f3nce-Pässword"


@contextmanager
def fenced_pair(folder: Path, **fences: dict[str, Any]) -> Iterator[Site]:
    """Serve two servers that fence each other, with other values of their logins by host; and a stranger."""
    with site_of(folder, hosts=3) as site:
        config = yaml.safe_load((folder / FILE).read_text())
        del config["platform"]["baremetal"]["hosts"][2]
        consents = {name: uuid for name, uuid in site.consents().items() if name != "h2"}
        credentials = [
            {
                "hostName": name,
                "address": fence_address(site, index),
                "username": site.fleet.options.username,
                "password": CANARY,
                "certificateVerification": "Enabled",
                **fences.get(name, {}),
            }
            for index, name in enumerate(consents)
        ]
        config["controlPlane"] |= {"replicas": 2, "fencing": {"credentials": credentials}}
        config["compute"][0]["replicas"] = 0
        config |= {"additionalTrustBundle": site.fleet.ca, "additionalTrustBundlePolicy": "Always"}
        (folder / FILE).write_text(yaml.safe_dump(config))
        site.options(consent=consents)
        yield site


def fence_address(site: Site, index: int) -> str:
    return site.fleet.address(index).replace("redfish-virtualmedia", "redfish")


def test_the_logins_by_which_two_servers_fence_each_other_are_tried(tmp_path: Path) -> None:
    with fenced_pair(tmp_path) as site:
        done = site.check()
        assert (done.returncode, done.stderr) == (0, "")
        assert [line.split() for line in done.stdout.splitlines()[-2:]] == [["h0", "accepted"], ["h1", "accepted"]]
        rows = json.loads(site.check("--json").stdout)
        assert [(row["fencing"], row["stops"]) for row in rows] == [("accepted", [])] * 2
        for index in range(2):
            assert site.fleet.figures(index).writes == []
            assert site.fleet.figures(index).requests.total() <= 2 * MOST_REQUESTS


def test_a_login_of_a_fence_agent_that_is_refused_stops_up_and_is_masked(tmp_path: Path) -> None:
    with fenced_pair(tmp_path, h1={"password": FENCE_PASSWORD}) as site:
        done = site.check("--json")
        one, other = json.loads(done.stdout)
        assert (done.returncode, one["fencing"], one["stops"]) == (2, "accepted", [])
        assert (other["login"], other["fencing"]) == ("accepted", "refused")
        (stop,) = other["stops"]
        assert "controlPlane.fencing.credentials[1] in install-config.yaml" in stop
        assert FENCE_PASSWORD not in done.stdout + done.stderr


def test_an_address_of_a_fence_agent_that_leads_to_another_server_stops_up(tmp_path: Path) -> None:
    with fenced_pair(tmp_path) as site:
        config = yaml.safe_load((tmp_path / FILE).read_text())
        config["controlPlane"]["fencing"]["credentials"][1]["address"] = fence_address(site, 2)
        (tmp_path / FILE).write_text(yaml.safe_dump(config))
        done = site.check("--json")
        one, other = json.loads(done.stdout)
        (stop,) = other["stops"]
        assert (done.returncode, one["stops"]) == (2, [])
        assert f"its peer would fence a system, UUID {uuid_of(2)}" in stop.replace("Contoso 3500", "a system")
        assert f"which is Contoso 3500, UUID {uuid_of(1)}" in stop or f"UUID {uuid_of(1)}" in stop
        assert stop.endswith("Fix: correct the address of its fencing")


def test_progress_is_on_stderr_a_line_per_host(site: Site) -> None:
    site.fleet.change(1, listening=False)
    done = site.check("--json")
    lines = done.stderr.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["1/3", "2/3", "3/3"]
    assert sorted(line.split(" ", 1)[1] for line in lines) == ["h0: ok", "h1: would stop `up`", "h2: ok"]


def test_one_host_that_would_stop_up_makes_the_exit_code_2(site: Site) -> None:
    site.fleet.change(1, listening=False)
    done = site.check()
    assert done.returncode == 2
    assert done.stdout.splitlines()[-2:] == [
        "These would stop `up`:",
        f"h1: {site.fleet.base(1)}/redfish/v1/Systems/1: no connection (Connection refused). "
        "Fix: compare bmc.address with the BMC's, and its network",
    ]
    rows = dict(line.split()[:2] for line in done.stdout.splitlines()[1:4])
    assert rows == {"h0": "yes", "h1": "no", "h2": "yes"}


def test_a_row_is_printed_while_other_hosts_have_not_answered(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    printed, add, report = threading.Semaphore(0), GrowingTable.add, Check.report

    def adding(self: GrowingTable, row: Sequence[str]) -> None:
        add(self, row)
        printed.release()

    def last(self: Check) -> BmcReport:
        if self.engine.host == "h0":
            assert printed.acquire(timeout=30)
            assert printed.acquire(timeout=30)
        return report(self)

    monkeypatch.setattr(GrowingTable, "add", adding)
    monkeypatch.setattr(Check, "report", last)
    done = site.check()
    assert done.returncode == 0
    assert done.stdout.splitlines()[3].startswith("h0 ")
    assert done.stdout.splitlines()[6].startswith("h0 "), "the details are in the order of the hosts"


def test_all_hosts_are_read_at_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    together, report = threading.Barrier(3), Check.report

    def waiting(self: Check) -> BmcReport:
        together.wait(30)
        return report(self)

    monkeypatch.setattr(Check, "report", waiting)
    assert site.check().returncode == 0


def test_it_can_check_only_one_host(site: Site) -> None:
    done = site.check("--host", "h1", "--json")
    assert [row["host"] for row in json.loads(done.stdout)] == ["h1"]
    assert [bool(site.fleet.figures(index).lines) for index in range(3)] == [False, True, False]


def test_a_spare_is_checked_without_a_consent_and_none_is_printed_for_it(tmp_path: Path) -> None:
    with site_of(tmp_path, hosts=4) as site:
        config = yaml.safe_load((site.folder / FILE).read_text())
        config["compute"][0]["replicas"] = 0
        (site.folder / FILE).write_text(yaml.safe_dump(config))
        consents = {f"h{index}": uuid_of(index) for index in range(3)}
        site.options(consent=consents)
        assert yaml.safe_load(site.consent().stdout) == {"okd-baremetal:consent": consents}
        done = site.check("--json")
        assert (done.returncode, [row["host"] for row in json.loads(done.stdout)]) == (0, ["h0", "h1", "h2", "h3"])
        assert site.capture("--host", "h3").returncode == 0


def test_a_host_that_is_not_there_is_refused(site: Site) -> None:
    done = site.check("--host", "h9")
    assert done.returncode == 2
    assert done.stderr == "--host: h9 is not installed by this install-config. Fix: name one of h0, h1, h2\n"


def test_without_a_stack_the_install_config_alone_counts(site: Site) -> None:
    done = run("bmc", "check", FILE, "--json", folder=site.folder)
    (stop,) = json.loads(done.stdout)[0]["stops"]
    assert done.returncode == 2
    assert "its certificate is not trusted" in stop, "the stack's CA is not known"
    assert site.fleet.total().requests == 0


def test_a_pin_of_the_stack_counts(site: Site) -> None:
    pins = {row["host"]: {"sha256": row["sha256"]} for row in json.loads(site.check("--json").stdout)}
    site.options(consent=site.consents(), bmc_ca="", bmc_trust=pins)
    assert site.check().returncode == 0
    site.options(consent=site.consents(), bmc_trust={**pins, "h0": {"sha256": "ab" * 32}})
    assert site.check().returncode == 2


def test_no_password_and_no_licence_key_is_ever_printed(site: Site) -> None:
    says = {"error": {"message": f"bad password {CANARY}"}}
    key = {"Hpe": {"License": {"LicenseString": f"iLO {CANARY}", "LicenseKey": "CANARY-KEY"}}}
    site.fleet.fault(Fault("GET .*/VirtualMedia$", "status", status=400, body=says), hosts=(0,))
    site.fleet.fault(Fault("GET .*/Managers/1$", "says", says={"Oem": key, "FirmwareVersion": CANARY}), hosts=(1,))
    site.fleet.fault(Fault("GET", "status", status=401, body=says), hosts=(2,))
    outputs = [site.check(), site.check("--json"), site.consent(), run("bmc", "check", FILE, folder=site.folder)]
    for done in outputs:
        assert done.returncode == 2
        printed = done.stdout + done.stderr
        assert not [word for word in (CANARY, json.dumps(CANARY)[1:-1], "CANARY-KEY") if word in printed]


def test_the_consents_are_lines_of_the_stacks_file(tmp_path: Path) -> None:
    with site_of(tmp_path, hosts=3) as site:
        site.fleet.fault(Fault("GET .*/Systems/1$", "says", says={"UUID": SHARED}), hosts=(1,))
        site.fleet.fault(
            Fault("GET .*/Systems/1$", "says", says={"UUID": SHARED, "SerialNumber": "7204618"}), hosts=(2,)
        )
        before = (site.folder / "stacks" / "Pulumi.prod.yaml").read_text()
        done = site.consent()
        assert done.returncode == 0
        assert done.stdout == (f"okd-baremetal:consent:\n  h0: {uuid_of(0)}\n  h1: {serial_of(1)}\n  h2: '7204618'\n")
        assert (site.folder / "stacks" / "Pulumi.prod.yaml").read_text() == before


def pulumi(folder: Path, script: str) -> dict[str, str]:
    """Return an environment with a stand-in of Pulumi, which writes its arguments to `arguments`."""
    made = folder / "bin" / "pulumi"
    made.parent.mkdir()
    made.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {folder}/arguments\n{script}\n')
    made.chmod(0o755)
    return {"PATH": f"{made.parent}:{os.environ['PATH']}"}


def test_the_consents_are_written_on_demand_beside_those_of_other_hosts(site: Site) -> None:
    site.options(consent={"h0": uuid_of(0), "h2": "of a host that is not asked"})
    environment = pulumi(site.folder, "exit 0")
    assert site.consent("--host", "h1", **environment).returncode == 0
    assert not (site.folder / "arguments").exists()
    assert site.consent("--host", "h1", "--write", **environment).returncode == 0
    *words, option, stack, name, quiet = (site.folder / "arguments").read_text().splitlines()
    assert (words, stack, name, quiet) == (["config", "set-all", "--json"], "--stack", "prod", "--non-interactive")
    assert json.loads(option)["okd-baremetal:consent"]["objectValue"] == {
        "h0": uuid_of(0),
        "h2": "of a host that is not asked",
        "h1": uuid_of(1),
    }


def test_nothing_is_written_if_a_machine_is_not_the_consented_one(site: Site) -> None:
    site.options(consent={"h0": uuid_of(7)})
    done = site.consent("--write", **pulumi(site.folder, "exit 0"))
    assert done.returncode == 2
    assert f"consent names {uuid_of(7)}, the BMC is that of Contoso 3500, UUID {uuid_of(0)}" in done.stderr
    assert done.stdout == f"okd-baremetal:consent:\n  h1: {uuid_of(1)}\n  h2: {uuid_of(2)}\n"
    assert not (site.folder / "arguments").exists()


def test_two_hosts_of_one_machine_stop_up_and_get_no_consent(site: Site) -> None:
    """Case C2: one BMC by two names, which only the machine's identity shows."""
    twin = {"UUID": uuid_of(0), "SerialNumber": serial_of(0)}
    site.fleet.fault(Fault("GET .*/Systems/1$", "says", says=twin), hosts=(1,))
    rows = {row["host"]: row["stops"] for row in json.loads(site.check("--json").stdout)}
    assert f"its BMC and that of h1 lead to one machine, a system, UUID {uuid_of(0)}" in rows["h0"][-1]
    assert "its BMC and that of h0 lead to one machine" in rows["h1"][-1]
    assert not [stop for stop in rows["h2"] if "one machine, a system" in stop]
    site.options()
    done = site.consent()
    assert (done.returncode, done.stdout) == (2, f"okd-baremetal:consent:\n  h2: {uuid_of(2)}\n")
    assert "h0, h1: their BMCs lead to one machine. Fix: correct their bmc.address" in done.stderr


def test_encrypted_logins_are_decrypted_by_pulumi(site: Site) -> None:
    login = {"username": "admin", "password": CANARY}
    values: dict[str, Any] = {"okd-baremetal:bmc_credentials": {f"h{index}": login for index in range(3)}}
    values |= {"okd-baremetal:consent": site.consents()}
    listed = {name: {"value": "", "objectValue": value} for name, value in values.items()}
    listed["okd-baremetal:bmc_ca"] = {"value": site.fleet.ca}
    (site.folder / "listed").write_text(json.dumps(listed))
    encrypted = {f"h{index}": {"username": "admin", "password": {"secure": "v1:x"}} for index in range(3)}
    site.options(bmc_credentials=encrypted)
    install_config = (site.folder / FILE).read_text()
    (site.folder / FILE).write_text(install_config.replace(CANARY, "a placeholder"))
    environment = pulumi(site.folder, f"cat {site.folder}/listed")
    done = run("bmc", "check", FILE, "--stack", "prod", folder=site.folder, **environment)
    assert (done.returncode, CANARY in done.stdout + done.stderr) == (0, False)


@pytest.mark.parametrize(
    ("script", "path", "text"),
    [
        (
            "echo 'error: incorrect passphrase' >&2; exit 255",
            None,
            "pulumi config failed: error: incorrect passphrase",
        ),
        ("", "/nonexistent", f"pulumi is not in PATH. Fix: run `make -C {ROOT} setup`"),
    ],
    ids=["fails", "missing"],
)
def test_a_stack_that_cannot_be_decrypted_is_refused(site: Site, script: str, path: str | None, text: str) -> None:
    site.options(bmc_credentials={"h0": {"secure": "v1:x"}})
    environment = pulumi(site.folder, script)
    done = site.consent(**({"PATH": path} if path else environment))
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert site.fleet.total().requests == 0


def test_a_capture_is_one_file_and_its_progress_a_line_per_resource(site: Site) -> None:
    done = site.capture("--host", "h1")
    (file,) = (site.folder / "captured").iterdir()
    tree = json.loads(file.read_text())
    assert (done.returncode, file.name, list(tree)) == (0, "capture.json", ["system", "resources"])
    assert done.stdout == "captured/capture.json: 19 resources. Read it before you send it.\n"
    assert done.stderr.splitlines()[:2] == ["reads /redfish/v1/Systems/1", "reads /redfish/v1/Managers/1"]
    assert len(done.stderr.splitlines()) == 19
    assert [bool(site.fleet.figures(index).lines) for index in range(3)] == [False, True, False]
    assert site.fleet.figures(1).writes == []


def test_a_capture_has_neither_login_nor_identity(site: Site) -> None:
    site.fleet.fault(Fault("GET .*/Managers/1$", "says", says={"FirmwareVersion": f"1.2 {CANARY} {serial_of(0)}"}))
    assert site.capture("--host", "h0").returncode == 0
    text = (site.folder / "captured" / "capture.json").read_text()
    assert "1.2 " in text
    assert not [word for word in (CANARY, json.dumps(CANARY)[1:-1], serial_of(0), uuid_of(0)) if word in text]


def test_a_capture_overwrites_nothing_and_an_empty_directory_is_used(site: Site) -> None:
    out = site.folder / "captured"
    out.mkdir()
    (out / "mine").write_text("kept")
    done = site.capture("--host", "h0")
    assert done.returncode == 2
    assert done.stderr == "captured: exists already. Fix: name another directory\n"
    assert (site.fleet.total().requests, [each.name for each in out.iterdir()]) == (0, ["mine"])
    (out / "mine").unlink()
    assert site.capture("--host", "h0").returncode == 0


def test_a_failed_capture_is_reported_and_writes_nothing(site: Site) -> None:
    site.fleet.change(0, listening=False)
    done = site.capture("--host", "h0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"{site.fleet.base(0)}/redfish/v1/Systems/1: cannot read the system: connection refused. "
        "Fix: compare bmc.address with the BMC's, and its network; then repeat the command\n"
    )
    assert not (site.folder / "captured").exists()


def test_a_directory_that_cannot_be_made_is_refused(site: Site) -> None:
    done = site.capture("--host", "h0", out="no/such/place")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "no/such/place: cannot be written (No such file or directory). Fix: name a writable directory"
    )


def test_a_capture_wants_one_host(site: Site) -> None:
    done = site.capture()
    assert (done.returncode, site.fleet.total().requests) == (2, 0)
    assert "--host" in done.stderr
