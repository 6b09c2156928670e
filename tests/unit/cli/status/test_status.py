"""`okd-baremetal status` of a whole stack, whose servers are those of the fake fleet, over TLS."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from cli.status.answers import Level, Row
from cli.status.cluster import Cluster
from cli.status.printed import openmetrics_of
from cli.status.servers import HEALTH, expiry
from testing import plans
from testing.command_line import run
from testing.fakes.fleet.fleet import Fault, Fleet, Options, running, uuid_of
from wires.bmc.access import Limits
from wires.certificates import Life

CANARY = "c4nary-Pässword"
GOOD, WARNING, WRONG = "good", "warning", "wrong"
SAMPLE = re.compile(r'[a-z_]+\{stack="[^"]*",kind="[a-z]+",name="(\\.|[^"\\])*"\} [0-9]+')


class Site:
    """A project with the stack `prod`: the rehearsal's cluster, on the servers of a fleet."""

    def __init__(self, folder: Path, fleet: Fleet) -> None:
        self.folder, self.fleet = folder, fleet
        config = plans.install_config()
        for index, host in enumerate(config["platform"]["baremetal"]["hosts"]):
            host["bmc"] = {"address": fleet.address(index), "username": "admin", "password": CANARY}
        (folder / "stacks" / "prod").mkdir(parents=True)
        (folder / "stacks" / "prod" / "install-config.yaml").write_text(yaml.safe_dump(config))
        self.options()

    def options(self, **options: Any) -> None:
        """Write the stack's file."""
        consent = {name: uuid_of(index) for index, name in enumerate(plans.HOSTS)}
        given = plans.options(**{"bmc_ca": self.fleet.ca, "consent": consent, "phase": "production", **options})
        config = {f"{plans.PROJECT}:{name}": value for name, value in given.items()}
        (self.folder / "stacks" / "Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": config}))

    def status(self, *words: str) -> CompletedProcess[str]:
        return run("status", "prod", *words, folder=self.folder)

    def rows(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Return level and text by kind and name."""
        listed = json.loads(self.status("--json").stdout)["rows"]
        by_name = {(row["kind"], row["name"]): (row["level"], row["says"]) for row in listed}
        assert len(by_name) == len(listed), "no two rows have the same kind and name"
        return by_name


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr("cli.status.command.DEADLINE_S", 100)  # other work may slow this one down
    monkeypatch.setattr("cli.status.servers.LIMITS", Limits(whole_s=90))
    with running(Options(password=CANARY, hosts=5)) as fleet:
        yield Site(tmp_path, fleet)


def test_a_stack_whose_cluster_is_gone_has_a_row_for_each_thing(site: Site) -> None:
    """No machine of the cluster answers, and its payload is gone: as after `destroy`, or before the first `up`."""
    done = site.status()
    assert (done.returncode, done.stderr) == (1, "")
    assert CANARY not in done.stdout
    assert "Traceback" not in done.stdout
    rows = site.rows()
    assert {kind for kind, _ in rows} == {"vip", "api", "node", "etcd", "release", "request", "bmc", "certificate"}
    assert "no interface of this machine is on its network" in rows["vip", "API 192.168.111.5"][1]
    assert "master.ign: cannot be read" in rows["api", "VIP 192.168.111.5"][1]
    assert rows["certificate", "kubelet of okd-master-0"][0] == WARNING
    for name in plans.HOSTS:
        level, says = rows["bmc", name]
        assert level == WRONG
        assert says.startswith("power Off, wanted On; health OK; certificate until ")
    for index in range(5):
        assert site.fleet.figures(index).writes == []
        assert 0 < site.fleet.figures(index).requests.total() <= 4, "two runs"


def test_phase_bootstrap_wants_only_those_servers_on_that_it_installs(site: Site) -> None:
    site.options(phase="bootstrap")
    rows = site.rows()
    assert rows["bmc", "okd-master-0"][0] == WARNING
    assert rows["bmc", "okd-worker-0"][0] == GOOD
    assert rows["bmc", "okd-worker-0"][1].startswith("power Off; health OK")
    assert "cannot be read" in rows["payload", "bootstrap.ign"][1]
    assert ("node", "okd-worker-0") not in rows


def test_of_a_cluster_that_sleeps_only_the_bmcs_are_asked(site: Site) -> None:
    site.options(power="off")
    site.fleet.change(3, power="On")
    done, rows = site.status(), site.rows()
    assert (done.returncode, done.stderr) == (0, "")
    asleep = "asleep, since the option `power` is off: nothing but the BMCs is asked"
    assert rows.pop(("power", "cluster")) == (GOOD, asleep)
    assert {kind for kind, _ in rows} == {"bmc"}
    says = {name: (level, text.partition(";")[0]) for (_, name), (level, text) in rows.items()}
    off, on = (GOOD, "power Off"), (WARNING, "power On, wanted Off")
    assert says == {name: on if name == plans.HOSTS[3] else off for name in plans.HOSTS}


def test_a_bmc_of_another_machine_or_that_refuses_the_login_is_wrong(site: Site) -> None:
    consent = {name: uuid_of(index) for index, name in enumerate(plans.HOSTS)}
    site.options(consent={**consent, "okd-master-1": "0000-another"})
    site.fleet.fault(Fault("GET", "status", status=401), hosts=(2,))
    site.fleet.change(0, 1, 2, 3, 4, power="On")
    rows = site.rows()
    assert rows["bmc", "okd-master-0"][0] == GOOD
    level, says = rows["bmc", "okd-master-1"]
    assert (level, f"{uuid_of(1)}, serial FLEET0001, the consent names 0000-another; " in says) == (WRONG, True), says
    level, says = rows["bmc", "okd-master-2"]
    assert (level, "the BMC refuses" in says, CANARY in says) == (WRONG, True, False), says


def test_the_health_of_all_parts_counts_before_that_of_the_system(site: Site) -> None:
    site.fleet.change(0, 1, 2, 3, 4, power="On")
    told = [
        {"Health": "OK", "HealthRollup": "Critical"},
        {"Health": "Warning"},
        {"Health": None},
        {},
        {"Health": "Odd"},
    ]
    for index, status in enumerate(told):
        site.fleet.fault(Fault("GET .*/Systems/1$", "says", says={"Status": status}), hosts=(index,))
    rows = site.rows()
    seen = [(rows["bmc", name][0], rows["bmc", name][1].split("; ")[1]) for name in plans.HOSTS]
    silent = (GOOD, "health not told")
    told_badly = [(WRONG, "health Critical"), (WARNING, "health Warning")]
    assert seen == [*told_badly, silent, silent, (WARNING, "health Odd")]


def test_a_server_without_a_consent_waits_for_a_person(site: Site) -> None:
    site.options(consent={"okd-master-0": uuid_of(0)})
    level, says = site.rows()["consent", "okd-worker-1"]
    assert level == WARNING
    assert "run `pulumi config set --path 'consent.okd-worker-1' <UUID>`" in says


@pytest.mark.parametrize("words", [(), ("--json",), ("--openmetrics",)], ids=["table", "json", "openmetrics"])
def test_wrong_inputs_are_lines_and_code_2_and_no_bmc_is_asked(site: Site, words: tuple[str, ...]) -> None:
    site.options(phase="prodution")
    done = site.status(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("config: phase: ")
    assert site.fleet.total().requests == 0


def test_each_row_has_a_level_for_prometheus_and_certificates_an_end(site: Site) -> None:
    done = site.status("--openmetrics")
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[-1]) == (1, "# EOF")
    samples = [line for line in lines if not line.startswith("#")]
    assert all(SAMPLE.fullmatch(line) for line in samples)
    assert 'okd_baremetal_status_level{stack="prod",kind="bmc",name="okd-master-0"} 2' in samples
    [end] = [line for line in samples if line.startswith("okd_baremetal_certificate_end") and "okd-master-0" in line]
    assert float(end.split()[-1]) > datetime.now(UTC).timestamp()
    assert len([line for line in samples if "_level{" in line]) == len(site.rows())


def test_a_label_cannot_end_its_line() -> None:
    cluster = Cluster('a"b', plans.plan(), datetime.now(UTC))
    text = openmetrics_of(cluster, [Row("bmc", 'x\\y"\nz', Level.GOOD, "")])
    assert r'{stack="a\"b",kind="bmc",name="x\\y\"\nz"} 0' in text.splitlines()[2]


@pytest.mark.parametrize(
    ("left_days", "level", "says"),
    [
        (400, Level.GOOD, "certificate until "),
        (29.5, Level.WARNING, "certificate expires on "),
        (-1, Level.WRONG, "certificate expired on "),
    ],
)
def test_an_expired_certificate_is_wrong_and_one_near_its_end_a_warning(
    left_days: float, level: Level, says: str
) -> None:
    cluster = Cluster("prod", plans.plan(), datetime.now(UTC))
    ends = cluster.now + timedelta(days=left_days)
    seen, text = expiry(Life(ends - timedelta(days=3650), ends), cluster)
    assert (seen, text.startswith(says)) == (level, True)


def test_redfish_s_words_for_health_have_a_level_each() -> None:
    """Resource.Health of DSP2046 has these three."""
    assert HEALTH == {"OK": Level.GOOD, "": Level.GOOD, "Warning": Level.WARNING, "Critical": Level.WRONG}
