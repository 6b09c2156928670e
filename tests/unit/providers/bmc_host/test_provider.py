"""BmcHost as a resource: its check without a BMC, its state, and BMCs that do not answer."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pydantic import SecretStr

from base import lock
from base.errors import (
    BmcTimeoutError,
    BusyError,
    ConfigError,
    OkdBaremetalError,
)
from providers.bmc_host import provider as bmc_host
from providers.bmc_host.model import BmcHostSpec
from providers.bmc_host.provider import BmcHostProvider
from providers.mark_file import Ended, MarkFile
from providers.pulumi.dynamic import Props
from testing import clusters, plans
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from testing.plan_files import Files
from testing.refusals import refusals
from wires.bmc.access import BmcAccess
from wires.bmc.client import Identity
from wires.redfish.sushy_bmc import SushyBmc

HOST = "okd-master-0"
UUID = "c0ffee00-0000-4000-8000-000000000001"
URL = "redfish-virtualmedia+https://192.0.2.9/redfish/v1/Systems/1"
UNKNOWN = pulumi.output.UNKNOWN
BMC = {"address": URL, "username": "admin"}
PROPS: dict[str, Any] = {"host": HOST, "bmc": BMC, "password": "hidden", "consent": UUID}
MISSING = f"{HOST}: missing; it names the one machine whose disk may be wiped"

DEAD: dict[str, Any] = {
    "host": "m0",
    "bmc": {"address": "redfish-virtualmedia+http://127.0.0.1:1/redfish/v1/Systems/m0", "username": "admin"},
    "password": "hidden",
    "consent": "SN-1",
    "urn": "urn:pulumi:test::okd::BmcHost::m0",
    "deadline_s": 0.0,
}
AS_FOUND = {"override": {"target": "Hdd", "enabled": "", "mode": ""}, "media": "", "secure_boot": ""}
RECORDED = {
    **DEAD,
    **{"uuid": "u", "serial": "SN-1", "model": "R650", "manufacturer": "Dell", "bios_version": "1.2"},
    **{"bmc_version": "7.10", "found": AS_FOUND},
}
CHANGES = [
    pytest.param(lambda it: it.create(DEAD), id="create"),
    pytest.param(lambda it: it.update("u", RECORDED, DEAD), id="update"),
    pytest.param(lambda it: it.delete("u", RECORDED), id="delete"),
]


def test_the_spec_of_a_planned_server() -> None:
    plan = plans.plan(bmc_ca="of all")
    spec = BmcHostSpec.of(plan, plan.servers[0])
    assert spec.model_dump(exclude={"bmc"}) == {
        "urn": "",
        "host": HOST,
        "password": SecretStr("rehearsal-only"),
        "consent": "SERIAL-okd-master-0",
        "deadline_s": 60.0,
        "protected": False,
        "running": False,
        "fenced": False,
        "spare": False,
    }
    assert spec.bmc == BmcAccess.of(plan.options, plan.servers[0], ca="of all")
    assert "rehearsal-only" not in repr(spec)


def test_only_servers_that_fence_each_other_are_looked_at_again() -> None:
    plan = clusters.plan("fenced")
    fenced = {server.name for server in plan.servers if BmcHostSpec.of(plan, server).fenced}
    assert fenced == {server.name for server in plan.control_plane} == {*plans.HOSTS[:2]}


def test_the_spec_of_a_spare_has_no_consent_and_is_never_imported(tmp_path: Path) -> None:
    consent = {**plans.CONSENT, "okd-worker-1": "SN-1"}
    production = {"phase": "production", "import_production": True}
    plan = Files(tmp_path).plan(lambda c: c["compute"][0].update(replicas=1), consent=consent, **production)
    spec = BmcHostSpec.of(plan, plan.spares[0])
    assert (spec.host, spec.spare, spec.running, spec.consent) == ("okd-worker-1", True, False, "")


class TestCheck:
    @pytest.mark.parametrize(
        ("change", "failing"),
        [
            ({}, []),
            ({"consent": ""}, ["consent"]),
            ({"consent": " "}, ["consent"]),
            ({"consent": None}, ["consent"]),
            ({"consent": "", "spare": True}, []),
            ({"consent": UNKNOWN}, []),
            ({"password": UNKNOWN}, []),
            ({"bmc": {**BMC, "address": UNKNOWN}}, []),
            ({"bmc": {**BMC, "address": "redfish-virtualmedia://bmc"}}, []),
            ({"bmc": {**BMC, "address": "ipmi://x"}}, []),
            ({"bmc": {**BMC, "address": "ilo5://x"}}, ["bmc"]),
            ({"bmc": {**BMC, "address": URL.replace("-virtualmedia", "")}}, []),
            ({"bmc": {**BMC, "address": URL.replace("-virtualmedia", "-uefihttp")}}, []),
        ],
        ids=[
            "good",
            "empty",
            "blank",
            "none",
            "spare",
            "unknown",
            "password-unknown",
            "address-unknown",
            "no-system",
            "ipmi",
            "removed-type",
            "over-network",
            "uefihttp",
        ],
    )
    def test_check_needs_no_bmc(self, change: dict[str, object], failing: list[str]) -> None:
        refused = refusals(BmcHostProvider().check({}, {**PROPS, **change}))
        assert [key for key, _ in refused] == failing
        assert all("\n" not in reason and "hidden" not in reason for _, reason in refused)

    @pytest.mark.parametrize(
        ("address", "place"),
        [
            pytest.param(URL, "GET https://192.0.2.9/redfish/v1/Systems/1", id="system"),
            pytest.param("redfish-virtualmedia://bmc", "GET https://bmc/redfish/v1/Systems/<id>", id="no-system"),
            pytest.param("ilo5://x", "GET /redfish/v1/Systems/<id>", id="no-address"),
            pytest.param("x", "`ipmitool -I lanplus -H x -p 623 -U <user> -a mc guid`", id="ipmi"),
        ],
    )
    def test_a_missing_consent_names_the_command_and_where_to_find_the_uuid(self, address: str, place: str) -> None:
        news = {**PROPS, "bmc": {**BMC, "address": address}, "consent": ""}
        refused = refusals(BmcHostProvider().check({}, news))[-1]
        command = f"pulumi config set --path 'consent.{HOST}' <UUID>"
        source = f"UUID or serial as the BMC reports it ({place}, or the sticker)"
        assert refused == (
            "consent",
            f"{MISSING}. Fix: run `{command}`, with its {source}",
        )


def test_a_changed_host_replaces_the_resource() -> None:
    diff = BmcHostProvider().diff("u", {**PROPS, "host": "m0"}, {**PROPS, "host": "m1", "consent": "x"})
    assert (diff.changes, diff.replaces) == (None, ["host"])
    assert BmcHostProvider().diff("u", PROPS, {**PROPS, "consent": "x"}).replaces == []


class TestUnreachable:
    """A BMC that does not answer."""

    def test_a_refresh_keeps_the_state(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        clock = FakeClock(0)
        monkeypatch.setattr(bmc_host, "SYSTEM_CLOCK", clock)
        state = {**RECORDED, "deadline_s": 3600.0}
        answer = BmcHostProvider().read("u", state)
        assert (answer.id, answer.outs) == ("u", state)
        assert clock.now() == 30
        line = capsys.readouterr().err
        assert line.startswith("m0: kept the recorded values: ")
        assert "connection refused" in line

    @pytest.mark.parametrize("act", CHANGES)
    def test_create_update_and_delete_fail_at_the_deadline(self, act: Callable[[BmcHostProvider], object]) -> None:
        with pytest.raises(BmcTimeoutError, match="connection refused") as caught:
            act(BmcHostProvider())
        assert "hidden" not in str(caught.value)


def test_a_protected_server_is_not_switched_off_by_ignore_protect() -> None:
    """`--ignore-protect` of Pulumi's CLI 3.256 passes `protect`; no BMC is asked."""
    with pytest.raises(ConfigError, match=r"m0: it belongs to a cluster in production .* `pulumi config set destroy"):
        BmcHostProvider().delete("u", {**RECORDED, "protected": True})


def test_a_deletion_forgets_the_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Seed 775: a killed installation has no `HostProvisioning` in the state, whose deletion would do it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    mark = MarkFile.of(DEAD["bmc"]["address"], print)
    mark.set(Ended(Identity("u", "s"), "digest"))
    with pytest.raises(BmcTimeoutError):
        BmcHostProvider().delete("u", RECORDED)
    assert mark.read() is None


def test_the_mark_of_an_installation_follows_its_bmc_to_another_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Found by simulation (seed 48): between a kill and the next run, the BMC gets another address."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    server, ended = FakeBmc(FakeClock()), Ended(Identity(UUID, "SN-1"), "digest")
    monkeypatch.setattr(bmc_host, "client_of", lambda *_, **__: server)
    before, now = ({**DEAD["bmc"], "address": f"redfish-virtualmedia://127.0.0.{last}/{last}"} for last in (1, 2))
    MarkFile.of(before["address"], print).set(ended)
    props = {**DEAD, "consent": server.machine.serial, "deadline_s": 60.0}
    recorded = {**RECORDED, **props, "uuid": server.machine.uuid, "serial": server.machine.serial, "bmc": before}
    BmcHostProvider().update(server.machine.uuid, recorded, {**props, "bmc": now})
    assert [MarkFile.of(bmc["address"], print).read() for bmc in (before, now)] == [None, ended]


MOVED = {"bmc": {**DEAD["bmc"], "login": "bmc_credentials.m0"}}


@pytest.mark.parametrize("change", [{"protected": True}, MOVED, {"protected": True, **MOVED}], ids=str)
def test_a_change_of_protection_or_of_the_logins_place_asks_no_bmc(change: Props) -> None:
    """So an `up` by a newer release, which adds these inputs, needs no BMC."""
    outs = BmcHostProvider().update("u", RECORDED, {**DEAD, **change}).outs
    assert outs == {**RECORDED, **change}


@pytest.mark.parametrize(
    "own",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"ca": "its own"}, id="ca"),
        pytest.param({"fingerprint": "ab"}, id="fingerprint"),
        pytest.param({"session": True}, id="session"),
        pytest.param({"boot_mode": "Legacy"}, id="boot-mode"),
        pytest.param({"verify": False}, id="lax"),
        pytest.param({"legacy_tls": True}, id="legacy-tls"),
        pytest.param({"login": "bmc_credentials.m0"}, id="login"),
        pytest.param({"boot_mac": "52:54:00:11:10:01"}, id="boot-mac"),
    ],
)
def test_a_bmc_is_reached_with_the_access_of_the_inputs(monkeypatch: pytest.MonkeyPatch, own: dict[str, Any]) -> None:
    asked: list[tuple[BmcAccess, SecretStr]] = []

    def bmc_at(access: BmcAccess, password: SecretStr, **_: Any) -> SushyBmc:
        asked.append((access, password))
        return SushyBmc(access.changed(ca="", fingerprint="", session=False), password)

    monkeypatch.setattr("wires.redfish.sushy_bmc.SushyBmc", bmc_at)
    with pytest.raises(OkdBaremetalError):
        BmcHostProvider().create({**DEAD, "bmc": {**DEAD["bmc"], **own}})
    wanted = {"address": DEAD["bmc"]["address"], "username": "admin", "ca": "", "fingerprint": ""}
    wanted |= {"verify": True, "legacy_tls": False, "session": False, "boot_mode": "UEFI", "boot_mac": ""}
    wanted |= {"login": "", **own}
    assert [(access.model_dump(), password.get_secret_value()) for access, password in asked] == [(wanted, "hidden")]


class TestInUse:
    """A BMC that another run works with at the same time."""

    @pytest.fixture(autouse=True)
    def _another_run(self, own_locks: None) -> Iterator[None]:
        with lock.held("http://127.0.0.1:1/redfish/v1/Systems/m0"):
            yield

    @pytest.mark.parametrize("act", CHANGES)
    def test_a_bmc_that_another_run_uses_gets_no_request(self, act: Callable[[BmcHostProvider], object]) -> None:
        with pytest.raises(BusyError, match="another run has worked on it"):
            act(BmcHostProvider())

    def test_a_refresh_keeps_what_was_known(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert BmcHostProvider().read("u", RECORDED).outs == RECORDED
        assert "m0: kept the recorded values: http://127.0.0.1:1/redfish/v1/Systems/m0: another run" in (
            capsys.readouterr().err
        )
