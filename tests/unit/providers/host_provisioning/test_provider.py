"""HostProvisioning as a resource: its state, its previews, and BMCs that do not answer."""

from collections.abc import Iterator
from typing import Any

import pytest
from pulumi.dynamic import Config, ConfigureRequest
from pydantic import SecretStr

from base import lock
from base.errors import ConfigError, OkdBaremetalError, ProvisioningError
from providers import registered
from providers.asleep import STACK
from providers.host_provisioning.provider import HostProvisioningProvider
from testing.fakes.fleet.fleet import Fault, Options, running
from tests.unit.providers.host_provisioning.rollouts import Rollouts, updated
from tests.unit.providers.host_provisioning.specs import BOARD, INSTALLED, ROLE, host, of_hosts, record
from wires.bmc.access import BmcAccess
from wires.redfish.sushy_bmc import SushyBmc


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


class TestInUse:
    """A server that another run works on at the same time."""

    @pytest.fixture(autouse=True)
    def _another_run(self, own_locks: None) -> Iterator[None]:
        with lock.held("http://127.0.0.1:1/redfish/v1/Systems/w0"):
            yield

    def test_a_bmc_that_another_run_uses_gets_no_request(self) -> None:
        with pytest.raises(ProvisioningError) as caught:
            HostProvisioningProvider().create(ROLE)
        first, second = str(caught.value).splitlines()[1:3]
        assert first.startswith("    w0: http://127.0.0.1:1/redfish/v1/Systems/w0: another run has worked on it")
        assert "connection refused" in second, "the others are"

    def test_a_refresh_sends_nothing_to_a_bmc_that_another_run_uses(self) -> None:
        with running(Options(tls=False)) as fleet, lock.held(f"{fleet.base(0)}/redfish/v1/Systems/1"):
            bmc = {"address": fleet.address(0), "username": "admin"}
            state = {**INSTALLED, "hosts": {"w0": {**host("w0"), "bmc": bmc}}}
            HostProvisioningProvider().read("test-compute", {**state, "passwords": {"w0": fleet.options.password}})
            assert fleet.figures().lines == []


@pytest.mark.parametrize(
    ("power", "option", "lines"),
    [
        pytest.param("Off", "on", ["compute: installed, but off: w0, w1"], id="off"),
        pytest.param("On", "on", [], id="on"),
        pytest.param("Off", "off", [], id="asleep"),
    ],
)
def test_a_refresh_warns_of_installed_hosts_that_are_off(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    power: str,
    option: str,
    lines: list[str],
) -> None:
    """The engine gives each provider process the options of the last `up`, as tests/e2e/test_hosts.py has it."""
    monkeypatch.setattr(STACK, "sleeps", False)
    HostProvisioningProvider().configure(ConfigureRequest(Config({"site:power": option}, "site")))
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


@pytest.mark.parametrize(
    ("role", "ports"), [("control-plane", [10250, 2379]), ("compute", [10250])], ids=["holds-etcd", "compute"]
)
def test_a_refresh_warns_of_certificates_that_expire(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, role: str, ports: list[int]
) -> None:
    asked = list[int]()

    def soon(_: str, port: int) -> str | None:
        asked.append(port)
        return "expires on 2026-12-27 08:00 UTC, in 30 days" if port == ports[-1] else None

    monkeypatch.setattr("providers.host_provisioning.provider.expiry_warning", soon)
    HostProvisioningProvider().read("test", {**INSTALLED, "role": role, "installed": {"w0": record("w0")}})
    what = "etcd" if len(ports) > 1 else "kubelet"
    assert asked == ports
    assert f"w0: the certificate of its {what} expires on 2026-12-27" in capsys.readouterr().err


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
        pytest.param({}, {}, id="nothing"),
        pytest.param({"ca": "its own"}, {"ca": "its own"}, id="ca"),
        pytest.param({"fingerprint": "ab"}, {"fingerprint": "ab"}, id="fingerprint"),
        pytest.param({"session": True}, {"session": True}, id="session"),
        pytest.param({"boot_mode": "Legacy"}, {"boot_mode": "Legacy"}, id="boot-mode"),
        pytest.param({"verify": False}, {"verify": False}, id="lax"),
        pytest.param({"legacy_tls": True}, {"legacy_tls": True}, id="legacy-tls"),
        pytest.param({"login": "bmc_credentials.w0"}, {"login": "bmc_credentials.w0"}, id="login"),
    ],
)
def test_a_bmc_is_reached_with_the_access_of_its_host(
    monkeypatch: pytest.MonkeyPatch, own: dict[str, Any], reached: dict[str, Any]
) -> None:
    asked: list[tuple[BmcAccess, SecretStr]] = []

    def bmc_at(access: BmcAccess, password: SecretStr, **_: Any) -> SushyBmc:
        asked.append((access, password))
        return SushyBmc(access.changed(ca="", fingerprint="", session=False), password)

    monkeypatch.setattr("wires.redfish.sushy_bmc.SushyBmc", bmc_at)
    with pytest.raises(OkdBaremetalError):
        HostProvisioningProvider().create({**ROLE, "ca": "of all", "hosts": {"w0": host("w0", **own)}})
    ((access, password),) = asked
    wanted = {"address": host("w0")["bmc"]["address"], "username": "admin", "ca": "of all", "fingerprint": ""}
    assert access.model_dump() == {
        **wanted,
        "verify": True,
        "legacy_tls": False,
        "session": False,
        "boot_mode": "UEFI",
        "boot_mac": "",
        "login": "",
        **reached,
    }
    assert password.get_secret_value() == "hidden"


class TestUpdate:
    def test_an_installed_host_is_never_asked_again(self) -> None:
        olds = {**INSTALLED, "installed": {**INSTALLED["installed"], "gone": record("gone")}}
        changes = {"base_iso_sha256": "other", "payload_sha256": "other", "ignition_sha256": {"w0": "2", "w1": "2"}}
        outs = updated({**olds, "steps": {"w0": {"media": 1.5}, "gone": {"media": 1.0}}}, **changes)
        assert outs["installed"] == INSTALLED["installed"]
        assert (outs["steps"], outs["requests"]) == ({"w0": {"media": 1.5}}, {"w0": 9})

    def test_servers_that_have_changed_places_are_not_wiped(self, rollouts: Rollouts) -> None:
        with pytest.raises(ConfigError) as error:
            updated(INSTALLED, identities={"w0": {"uuid": "w1"}, "w1": {"uuid": "w0"}})
        fix = "Fix: give each host the bmc.address and the consent of its own machine"
        for name, owner in (("w0", "w1"), ("w1", "w0")):
            assert f"{name}: its machine is installed as {owner}. {fix}" in str(error.value)
        assert rollouts.targets == []

    def test_only_an_added_host_is_installed(self, rollouts: Rollouts) -> None:
        outs = updated(INSTALLED, **of_hosts("w0", "w1", "w2"))
        assert [target.name for target in rollouts.targets] == ["w2"]
        assert list(outs["installed"]) == ["w0", "w1", "w2"]

    @pytest.mark.parametrize(
        ("before", "listed", "reinstalled"),
        [
            pytest.param({}, {"w0": "SN-w0"}, {"w0": "SN-w0"}, id="new"),
            pytest.param({"w0": "w0"}, {"w0": "SN-w0"}, {"w0": "SN-w0"}, id="another-value"),
            pytest.param({"w0": "SN-w0"}, {"w0": "SN-w0"}, {}, id="left-in"),
            pytest.param({"w0": "SN-w0"}, {}, {}, id="taken-out"),
        ],
    )
    def test_each_line_of_reinstall_takes_effect_once(
        self, rollouts: Rollouts, before: dict[str, str], listed: dict[str, str], reinstalled: dict[str, str]
    ) -> None:
        outs = updated({**INSTALLED, "reinstall": before}, reinstall=listed)
        assert {target.name: target.uuid for target in rollouts.targets if target.reinstall} == reinstalled
        assert len(rollouts.targets) == len(reinstalled)
        assert {name: installed["iso_sha256"] for name, installed in outs["installed"].items()} == {
            "w0": "cd" if reinstalled else "ab",
            "w1": "ab",
        }
        assert outs["requests"] == {"w0": 0 if reinstalled else 9}

    def test_reinstall_does_not_apply_to_a_host_without_a_record(self, rollouts: Rollouts) -> None:
        HostProvisioningProvider().create({**ROLE, "reinstall": {"w0": "w0"}})
        updated({**INSTALLED, "installed": {"w1": record("w1")}}, reinstall={"w0": "w0"})
        assert [(target.name, target.reinstall) for target in rollouts.targets] == [
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
        state = {**INSTALLED, **of_hosts("w0"), "installed": {"w0": record("sn-0")}}
        only = {**of_hosts("w0"), "identities": {"w0": machine}}
        assert updated(state, **only)["installed"] == {"w0": record("sn-0")}
        replaced = updated(state, **only | {"identities": {"w0": {**machine, "serial": "SN-9"}}})
        assert replaced["installed"]["w0"]["uuid"] == "sn-9"
        assert [target.uuid for target in rollouts.targets] == ["sn-9"]


def test_a_preview_names_the_hosts_that_are_wiped_and_those_untouched(capsys: pytest.CaptureFixture[str]) -> None:
    news = {**ROLE, "base_iso_sha256": "other", "reinstall": {"w0": "w0"}}
    diff = HostProvisioningProvider().diff("test-compute", INSTALLED, news)
    assert (diff.changes, diff.replaces) == (None, [])
    assert capsys.readouterr().err.splitlines() == [
        "compute: will be wiped and installed again, as `reinstall` requests: w0",
        "compute: installed already, and not touched by this change: w1",
    ]


def test_a_preview_refuses_another_bootstrap_vm_for_servers_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them may be off, and their marks be lost (simulation, seed 50191)."""
    monkeypatch.setattr(registered, "NEW_VM", {host["address"] for host in INSTALLED["hosts"].values()})
    with pytest.raises(ConfigError) as error:
        HostProvisioningProvider().diff("test", INSTALLED, {**ROLE, "reinstall": {"w0": "w0"}})
    what = "its bootstrap VM would be built anew, as another cluster than that of w1"
    assert f"compute: {what}. Fix: revert" in str(error.value)
    HostProvisioningProvider().diff("test", INSTALLED, {**ROLE, "reinstall": {"w0": "w0", "w1": "w1"}})
