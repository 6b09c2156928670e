"""The RPC shells against BMCs that do not answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pulumi.output import Unknown

from providers.base.errors import BmcTimeoutError, OkdBaremetalError, ProvisioningError
from providers.bmc_host import provider as bmc_host
from providers.bmc_host.provider import BmcHostProvider
from providers.host_provisioning import provider as provisioning
from providers.host_provisioning.engine import Host, Installation
from providers.host_provisioning.provider import HostProvisioningProvider
from wires.redfish.access import Access
from wires.redfish.sushy_bmc import SushyBmc

DEAD = "redfish-virtualmedia+http://127.0.0.1:1/redfish/v1/Systems/{}"
HOST: dict[str, Any] = {
    "host": "m0",
    "bmc_url": DEAD.format("m0"),
    "username": "admin",
    "password": "hidden",
    "consent": "SN-1",
    "urn": "urn:pulumi:test::okd::BmcHost::m0",
}
HOST |= {"deadline_s": 0.0, "uuid": "u", "found": {"override": {"target": "Hdd"}}}
HOSTS = {
    name: {
        "bmc_url": DEAD.format(name),
        "username": "admin",
        "address": "192.0.2.31",
        "root_device": "/dev/sda",
        "uuid": name,
    }
    for name in ("w0", "w1")
}
ROLE: dict[str, Any] = {
    "role": "compute",
    "hosts": HOSTS,
    "passwords": {"w0": "hidden", "w1": "hidden"},
    "media_address": "127.0.0.1",
    "media_port": 0.0,
    "base_iso_sha256": "cd",
    "ignition_sha256": {"w0": "1", "w1": "1"},
    "ours": {"w0": "{}", "w1": "{}"},
    "payload_sha256": "ef",
    "stack": "test",
    "api_name": "api.okd.lab.test",
    "deadline_s": 0.0,
}


def test_a_refresh_keeps_what_it_cannot_see(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bmc_host, "READ_DEADLINE_S", 0.0)
    answer = BmcHostProvider().read("u", HOST)
    assert (answer.id, answer.outs) == ("u", HOST)
    line = capsys.readouterr().err
    assert line.startswith("m0: kept as it was known: ")
    assert "connection refused" in line


@pytest.mark.parametrize("deed", ["create", "update", "delete"])
def test_an_unreachable_bmc_is_an_error_at_the_deadline(deed: str) -> None:
    provider = BmcHostProvider()
    deeds: dict[str, Callable[[], object]] = {
        "create": lambda: provider.create(HOST),
        "update": lambda: provider.update("u", HOST, HOST),
        "delete": lambda: provider.delete("u", HOST),
    }
    with pytest.raises(BmcTimeoutError, match="connection refused"):
        deeds[deed]()


def test_each_failed_host_has_its_line() -> None:
    with pytest.raises(ProvisioningError, match="2 of 2 compute hosts did not get there") as caught:
        HostProvisioningProvider().create(ROLE)
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:3]] == ["w0", "w1"]
    assert all("step 'BMC'" in line and "connection refused" in line for line in lines[1:3])
    assert "hidden" not in str(caught.value)


def test_an_installed_host_of_a_failing_role_keeps_its_record() -> None:
    """The engine keeps the old state of a failed update; the host with a record is not in the error."""
    record = {"uuid": "w0", "iso_sha256": "ab", "at": "2026-11-21T00:00:00+00:00"}
    olds = {**ROLE, "installed": {"w0": record}}
    with pytest.raises(ProvisioningError, match="1 of 2 compute hosts") as caught:
        HostProvisioningProvider().update("test-compute", olds, ROLE)
    assert "w0:" not in str(caught.value)


RECORD = {"uuid": "w0", "iso_sha256": "ab", "at": "2026-11-21T00:00:00+00:00"}
RAN = {**ROLE, "installed": {name: {**RECORD, "uuid": name} for name in ("w0", "w1")}}
RAN |= {"steps": {"w0": {"media": 1.0}}, "requests": {"w0": 9.0}}


@dataclass
class Rollouts:
    """Stands in for the rollout: notes who was to be installed, and lets some fail."""

    hosts: list[Host] = field(default_factory=list)
    failing: tuple[str, ...] = ()

    def __call__(self, ways: Mapping[str, Installation], **_: Any) -> dict[str, Exception]:
        self.hosts += [way.host for way in ways.values()]
        for way in ways.values():
            way.iso_sha256 = "cd"
        return {name: ProvisioningError("no luck") for name in self.failing if name in ways}


@pytest.fixture
def rollouts(monkeypatch: pytest.MonkeyPatch) -> Rollouts:
    made = Rollouts()
    monkeypatch.setattr(provisioning, "roll_out", made)
    return made


def updated(olds: dict[str, Any], **changes: Any) -> dict[str, Any]:
    answer = HostProvisioningProvider().update("test-compute", olds, {**ROLE, **changes})
    outs: dict[str, Any] = answer.outs or {}
    return outs


def test_a_refresh_of_hosts_that_do_not_answer_says_nothing_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    answer = HostProvisioningProvider().read("test-compute", RAN)
    assert answer.outs == RAN
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["BmcHost", "HostProvisioning"])
@pytest.mark.parametrize(
    ("own", "reached"),
    [
        pytest.param({}, ("of all", "", False), id="nothing"),
        pytest.param({"ca": "its own"}, ("its own", "", False), id="ca"),
        pytest.param({"fingerprint": "ab"}, ("of all", "ab", False), id="fingerprint"),
        pytest.param({"session": True}, ("of all", "", True), id="session"),
    ],
)
def test_a_bmc_is_reached_as_its_own_host_says(
    monkeypatch: pytest.MonkeyPatch, kind: str, own: dict[str, Any], reached: tuple[str, str, bool]
) -> None:
    asked: list[Access] = []

    def bmc_at(access: Access) -> SushyBmc:
        asked.append(access)
        return SushyBmc(replace(access, ca="", fingerprint="", session=False))

    monkeypatch.setattr(bmc_host, "SushyBmc", bmc_at)
    monkeypatch.setattr(provisioning, "SushyBmc", bmc_at)
    deeds: dict[str, Callable[[], object]] = {
        "BmcHost": lambda: BmcHostProvider().create({**HOST, "ca": "of all", **own}),
        "HostProvisioning": lambda: HostProvisioningProvider().create(
            {**ROLE, "ca": "of all", "hosts": {"w0": {**HOSTS["w0"], **own}}}
        ),
    }
    with pytest.raises(OkdBaremetalError):
        deeds[kind]()
    (access,) = asked
    assert (access.ca, access.fingerprint, access.session) == reached


@pytest.mark.parametrize(
    ("olds", "reinstall", "anew"),
    [
        pytest.param(RAN, {"w0": "SN-0"}, {"w0": "SN-0"}, id="new"),
        pytest.param({**RAN, "reinstall": {"w0": "w0"}}, {"w0": "SN-0"}, {"w0": "SN-0"}, id="another-value"),
        pytest.param({**RAN, "reinstall": {"w0": "SN-0"}}, {"w0": "SN-0"}, {}, id="left-in"),
        pytest.param({**RAN, "reinstall": {"w0": "SN-0"}}, {}, {}, id="taken-out"),
    ],
)
def test_a_line_of_reinstall_means_something_once(
    rollouts: Rollouts, olds: dict[str, Any], reinstall: dict[str, str], anew: dict[str, str]
) -> None:
    outs = updated(olds, reinstall=reinstall)
    assert {host.name: host.uuid for host in rollouts.hosts if host.anew} == anew
    assert len(rollouts.hosts) == len(anew)
    assert {name: record["iso_sha256"] for name, record in outs["installed"].items()} == {
        "w0": "cd" if anew else "ab",
        "w1": "ab",
    }
    assert outs["requests"] == {"w0": 0 if anew else 9}


def test_a_host_without_a_record_is_not_installed_anew_but_as_any(rollouts: Rollouts) -> None:
    HostProvisioningProvider().create({**ROLE, "reinstall": {"w0": "w0"}})
    updated({**RAN, "installed": {"w1": {**RECORD, "uuid": "w1"}}}, reinstall={"w0": "w0"})
    assert [(host.name, host.anew) for host in rollouts.hosts] == [("w0", False), ("w1", False), ("w0", False)]


def test_what_was_reinstalled_before_another_one_failed_is_to_be_taken_out(rollouts: Rollouts) -> None:
    rollouts.failing = ("w1",)
    with pytest.raises(ProvisioningError, match=r"take out of `reinstall` what was reinstalled already: w0$"):
        updated(RAN, reinstall={"w0": "w0", "w1": "w1"})


def test_a_failed_update_without_reinstall_does_not_speak_of_it(rollouts: Rollouts) -> None:
    rollouts.failing = ("w1",)
    with pytest.raises(ProvisioningError, match=r"goes on with these$"):
        updated({**RAN, "installed": {}}, reinstall={"w0": "w0"})


BOARD = "03000200-0400-0500-0006-000700080009"


@pytest.mark.parametrize(
    ("before", "uuid", "serial", "who", "refused"),
    [
        pytest.param({}, "w0", "SN-0", "W0", False, id="uuid"),
        pytest.param({}, "w0", "SN-0", "sn-0", False, id="serial"),
        pytest.param({}, "w0", "SN-0", "SN-1", True, id="another"),
        pytest.param({}, BOARD, "SN-0", BOARD, True, id="of-many-boards"),
        pytest.param({"w0": "SN-1"}, "w0", "SN-0", "SN-1", False, id="of-an-earlier-up"),
        pytest.param({}, Unknown(), Unknown(), "SN-1", False, id="not-known-yet"),  # type: ignore[no-untyped-call]
    ],
)
def test_a_preview_refuses_to_reinstall_another_machine(
    before: dict[str, str], uuid: object, serial: object, who: str, refused: bool
) -> None:
    hosts = {"w0": {"uuid": uuid, "serial": serial}, "w1": {}}
    news = {**ROLE, "hosts": hosts, "reinstall": {"w0": who}}
    failures = HostProvisioningProvider().check({**ROLE, "reinstall": before}, news).failures
    assert [failure.property for failure in failures] == (["reinstall"] if refused else [])
    assert all(failure.reason.startswith(f"reinstall.w0 names {who}, the host is ") for failure in failures)


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"base_iso_sha256": "ee"}, ["not touched by this change: w0, w1"], id="iso"),
        pytest.param({"reinstall": {"w0": "w0"}}, ["its disk wiped, as `reinstall` says: w0"], id="reinstall"),
        pytest.param(
            {"reinstall": {"w0": "w0"}, "base_iso_sha256": "ee"},
            ["its disk wiped, as `reinstall` says: w0", "not touched by this change: w1"],
            id="both",
        ),
        pytest.param({"reinstall": {"w9": "w9"}}, [], id="a-host-without-record"),
    ],
)
def test_a_preview_says_whose_disk_is_wiped_and_who_is_left_alone(
    capsys: pytest.CaptureFixture[str], changes: dict[str, Any], lines: list[str]
) -> None:
    HostProvisioningProvider().diff("test-compute", RAN, {**ROLE, "urn": "a::b", **changes})
    said = capsys.readouterr().err.splitlines()
    assert len(said) == len(lines)
    assert all(line.endswith(wanted) for line, wanted in zip(said, lines, strict=True))


def test_a_machine_whose_uuid_is_that_of_many_is_known_by_its_serial(rollouts: Rollouts) -> None:
    hosts: dict[str, dict[str, str]] = {"w0": {**HOSTS["w0"], "uuid": BOARD, "serial": "SN-0"}}
    record = {"w0": {**RECORD, "uuid": "sn-0"}}
    assert updated({**RAN, "installed": record}, hosts=hosts)["installed"] == record
    hosts["w0"]["serial"] = "SN-9"
    assert updated({**RAN, "installed": record}, hosts=hosts)["installed"]["w0"]["uuid"] == "sn-9"
    assert [host.uuid for host in rollouts.hosts] == ["sn-9"]
