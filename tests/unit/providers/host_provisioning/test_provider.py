"""HostProvisioning as a resource: the hosts that an update installs, its state, and BMCs that do not answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import SecretStr

from providers.base.errors import OkdBaremetalError, ProvisioningError
from providers.host_provisioning import provider as provisioning
from providers.host_provisioning.engine import Installation, Target
from providers.host_provisioning.provider import HostProvisioningProvider
from testing.fakes.fleet.fleet import Fault, Options, running
from tests.unit.providers.host_provisioning.specs import BOARD, INSTALLED, ROLE, host, of_hosts, record
from wires.redfish.access import BmcAccess
from wires.redfish.sushy_bmc import SushyBmc


@dataclass
class Rollouts:
    """Replaces the rollout: records the hosts to install, and fails the chosen ones."""

    targets: list[Target] = field(default_factory=list)
    failing: tuple[str, ...] = ()

    def __call__(self, ways: Mapping[str, Installation], **_: Any) -> dict[str, Exception]:
        self.targets += [way.host for way in ways.values()]
        for way in ways.values():
            way.iso_sha256, way.seconds = "cd", {"media": 2.5}
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


class TestUnreachable:
    """BMCs that do not answer."""

    def test_each_failed_host_has_its_line(self) -> None:
        with pytest.raises(ProvisioningError, match="2 of 2 compute hosts were not installed") as caught:
            HostProvisioningProvider().create(ROLE)
        lines = str(caught.value).splitlines()
        assert [line.split(":")[0].strip() for line in lines[1:3]] == ["w0", "w1"]
        assert all("step 'BMC'" in line and "connection refused" in line for line in lines[1:3])
        assert "hidden" not in str(caught.value)

    def test_an_installed_host_of_a_failing_role_keeps_its_record(self) -> None:
        """The engine keeps the old state of a failed update; the host with a record is not in the error."""
        with pytest.raises(ProvisioningError, match="1 of 2 compute hosts") as caught:
            updated({**ROLE, "installed": {"w0": record("w0")}})
        assert "w0:" not in str(caught.value)

    def test_a_refresh_reports_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        answer = HostProvisioningProvider().read("test-compute", INSTALLED)
        assert answer.outs == INSTALLED
        assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("power", "lines"),
    [
        pytest.param("Off", ["compute: installed, but off: w0, w1"], id="off"),
        pytest.param("On", [], id="on"),
    ],
)
def test_a_refresh_warns_of_installed_hosts_that_are_off(
    capsys: pytest.CaptureFixture[str], power: str, lines: list[str]
) -> None:
    with running(Options(hosts=3, tls=False)) as fleet:
        hosts = {
            name: {**host(name), "bmc": {"address": fleet.address(index), "username": "admin"}}
            for index, name in enumerate(("w0", "w1", "w2"))
        }
        fleet.change(0, 1, power=power)
        passwords = dict.fromkeys(hosts, fleet.options.password)
        state = {**INSTALLED, "hosts": hosts, "passwords": passwords}
        assert HostProvisioningProvider().read("test-compute", state).outs == state
        assert fleet.figures(2).lines == [], "a host that is not installed is not asked"
        assert fleet.figures(0).writes == []
    assert capsys.readouterr().err.splitlines() == lines


def test_a_refresh_ends_the_sessions_that_it_opened() -> None:
    with running(Options(tls=False)) as fleet:
        bmc = {"address": fleet.address(0), "username": "admin", "session": True}
        fleet.fault(Fault("GET", "status", status=503, times=1))
        state = {**INSTALLED, "hosts": {"w0": {**host("w0"), "bmc": bmc}}}
        HostProvisioningProvider().read("test-compute", {**state, "passwords": {"w0": fleet.options.password}})
        assert fleet.figures().writes[0] == "POST /redfish/v1/SessionService/Sessions"
        assert fleet.state().sessions == 0


@pytest.mark.parametrize(
    ("own", "reached"),
    [
        pytest.param({}, ("of all", "", False), id="nothing"),
        pytest.param({"ca": "its own"}, ("its own", "", False), id="ca"),
        pytest.param({"fingerprint": "ab"}, ("of all", "ab", False), id="fingerprint"),
        pytest.param({"session": True}, ("of all", "", True), id="session"),
    ],
)
def test_a_bmc_is_reached_with_the_access_of_its_host(
    monkeypatch: pytest.MonkeyPatch, own: dict[str, Any], reached: tuple[str, str, bool]
) -> None:
    asked: list[tuple[BmcAccess, SecretStr]] = []

    def bmc_at(access: BmcAccess, password: SecretStr) -> SushyBmc:
        asked.append((access, password))
        return SushyBmc(access.model_copy(update={"ca": "", "fingerprint": "", "session": False}), password)

    monkeypatch.setattr("wires.redfish.sushy_bmc.SushyBmc", bmc_at)
    with pytest.raises(OkdBaremetalError):
        HostProvisioningProvider().create({**ROLE, "ca": "of all", "hosts": {"w0": host("w0", **own)}})
    ((access, password),) = asked
    assert (access.ca, access.fingerprint, access.session) == reached
    assert password.get_secret_value() == "hidden"


class TestCreate:
    def test_every_host_gets_a_record(self, rollouts: Rollouts) -> None:
        created = HostProvisioningProvider().create({**ROLE, "__provider": "pickle"})
        assert created.id == "test-compute"
        outs: dict[str, Any] = created.outs or {}
        assert [(each["uuid"], each["iso_sha256"]) for each in outs["installed"].values()] == [
            ("w0", "cd"),
            ("w1", "cd"),
        ]
        assert (outs["steps"], outs["requests"]) == (
            {"w0": {"media": 2.5}, "w1": {"media": 2.5}},
            {"w0": 0, "w1": 0},
        )
        assert rollouts.targets == [Target("w0", "w0", "192.0.2.31"), Target("w1", "w1", "192.0.2.31")]

    def test_the_rendered_ignition_and_the_keyfiles_are_no_outputs(self, rollouts: Rollouts) -> None:
        ours = {"w0": "canary-1", "w1": "canary-1"}
        secrets = {"ours": ours, "keyfiles": {"w0": {"eth0.nmconnection": "canary-2"}}}
        outs = HostProvisioningProvider().create({**ROLE, **secrets}).outs or {}
        assert "canary" not in str(outs)
        kept = {name: outs[name] for name in ROLE if name != "ours"}
        assert kept == {name: value for name, value in ROLE.items() if name != "ours"}
        assert updated(outs, **secrets)["installed"] == outs["installed"], "the next update can read the outputs"

    def test_an_unknown_machine_is_installed_without_a_check_of_its_identity(self, rollouts: Rollouts) -> None:
        HostProvisioningProvider().create({**ROLE, "identities": {"w1": {"uuid": BOARD, "serial": "SN-1"}}})
        assert [target.uuid for target in rollouts.targets] == ["", "sn-1"]


class TestUpdate:
    def test_an_installed_host_is_never_asked_again(self) -> None:
        olds = {**INSTALLED, "installed": {**INSTALLED["installed"], "gone": record("gone")}}
        changes = {"base_iso_sha256": "other", "payload_sha256": "other", "ignition_sha256": {"w0": "2", "w1": "2"}}
        outs = updated({**olds, "steps": {"w0": {"media": 1.5}, "gone": {"media": 1.0}}}, **changes)
        assert outs["installed"] == INSTALLED["installed"]
        assert (outs["steps"], outs["requests"]) == ({"w0": {"media": 1.5}}, {"w0": 9})

    def test_only_an_added_host_is_installed(self, rollouts: Rollouts) -> None:
        outs = updated(INSTALLED, **of_hosts("w0", "w1", "w2"))
        assert [target.name for target in rollouts.targets] == ["w2"]
        assert list(outs["installed"]) == ["w0", "w1", "w2"]

    @pytest.mark.parametrize(
        ("before", "reinstall", "anew"),
        [
            pytest.param({}, {"w0": "SN-w0"}, {"w0": "SN-w0"}, id="new"),
            pytest.param({"w0": "w0"}, {"w0": "SN-w0"}, {"w0": "SN-w0"}, id="another-value"),
            pytest.param({"w0": "SN-w0"}, {"w0": "SN-w0"}, {}, id="left-in"),
            pytest.param({"w0": "SN-w0"}, {}, {}, id="taken-out"),
        ],
    )
    def test_each_line_of_reinstall_takes_effect_once(
        self, rollouts: Rollouts, before: dict[str, str], reinstall: dict[str, str], anew: dict[str, str]
    ) -> None:
        outs = updated({**INSTALLED, "reinstall": before}, reinstall=reinstall)
        assert {target.name: target.uuid for target in rollouts.targets if target.anew} == anew
        assert len(rollouts.targets) == len(anew)
        assert {name: each["iso_sha256"] for name, each in outs["installed"].items()} == {
            "w0": "cd" if anew else "ab",
            "w1": "ab",
        }
        assert outs["requests"] == {"w0": 0 if anew else 9}

    def test_reinstall_does_not_apply_to_a_host_without_a_record(self, rollouts: Rollouts) -> None:
        HostProvisioningProvider().create({**ROLE, "reinstall": {"w0": "w0"}})
        updated({**INSTALLED, "installed": {"w1": record("w1")}}, reinstall={"w0": "w0"})
        assert [(target.name, target.anew) for target in rollouts.targets] == [
            ("w0", False),
            ("w1", False),
            ("w0", False),
        ]

    def test_the_error_of_a_partial_reinstall_names_the_lines_to_remove(self, rollouts: Rollouts) -> None:
        rollouts.failing = ("w1",)
        with pytest.raises(
            ProvisioningError, match=r"remove from `reinstall` the hosts that are reinstalled already: w0$"
        ):
            updated(INSTALLED, reinstall={"w0": "w0", "w1": "w1"})

    def test_the_error_of_an_update_without_a_reinstall_does_not_mention_it(self, rollouts: Rollouts) -> None:
        rollouts.failing = ("w1",)
        with pytest.raises(ProvisioningError, match=r"which retries those hosts$"):
            updated({**INSTALLED, "installed": {}}, reinstall={"w0": "w0"})

    def test_a_machine_with_a_shared_uuid_is_identified_by_its_serial(self, rollouts: Rollouts) -> None:
        machine = {"uuid": BOARD, "serial": "SN-0"}
        state = {**INSTALLED, "installed": {"w0": record("sn-0")}}
        only = {**of_hosts("w0"), "identities": {"w0": machine}}
        assert updated(state, **only)["installed"] == {"w0": record("sn-0")}
        replaced = updated(state, **only | {"identities": {"w0": {**machine, "serial": "SN-9"}}})
        assert replaced["installed"]["w0"]["uuid"] == "sn-9"
        assert [target.uuid for target in rollouts.targets] == ["sn-9"]


def test_a_preview_names_the_hosts_that_are_wiped_and_those_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    news = {**ROLE, "base_iso_sha256": "other", "reinstall": {"w0": "w0"}}
    diff = HostProvisioningProvider().diff("test-compute", INSTALLED, news)
    assert (diff.changes, diff.replaces) == (None, [])
    assert capsys.readouterr().err.splitlines() == [
        "compute: reinstalled, disk wiped, as `reinstall` requests: w0",
        "compute: installed already, and not touched by this change: w1",
    ]
