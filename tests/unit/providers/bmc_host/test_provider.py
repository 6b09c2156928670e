"""BmcHost as a resource: its check without a BMC, its state, and BMCs that do not answer."""

import hashlib
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pydantic import SecretStr

from base import errors, lock
from base.errors import (
    BmcAuthError,
    BmcIdentityError,
    BmcRefusedError,
    BmcTimeoutError,
    BusyError,
    ConfigError,
    OkdBaremetalError,
)
from cluster.values.phase import Phase
from providers import registered
from providers.bmc_host import engine as bmc_host_engine
from providers.bmc_host import provider as bmc_host
from providers.bmc_host.model import BmcHostSpec
from providers.bmc_host.provider import BmcHostProvider
from providers.mark_file import Ended, MarkFile
from providers.pulumi.dynamic import Props
from providers.registered import RunningCluster
from testing import clusters, plans
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.fleet.fleet import Fault, Fleet, Options, running, serial_of, uuid_of
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


class TestAnswering:
    """A BMC of the fake fleet, on a fake clock."""

    @pytest.fixture
    def fleet(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
        monkeypatch.setattr(bmc_host, "SYSTEM_CLOCK", FakeClock())
        monkeypatch.setattr(registered, "PHASE", {Phase.BOOTSTRAP})
        with running(Options()) as fleet:
            yield fleet

    @pytest.fixture
    def props(self, fleet: Fleet) -> dict[str, Any]:
        bmc = {"address": fleet.address(0), "username": fleet.options.username, "ca": fleet.ca}
        return {
            **PROPS,
            **{"bmc": bmc, "password": fleet.options.password, "consent": serial_of(0), "deadline_s": 60.0},
            **{"urn": "urn:pulumi:test::okd::BmcHost::m0", "__provider": "pickle"},
        }

    @pytest.fixture
    def machine(self) -> dict[str, Any]:
        return {
            **{"uuid": uuid_of(0), "serial": serial_of(0), "model": "3500", "manufacturer": "Contoso"},
            **{"bios_version": "P79 v1.45", "bmc_version": "1.45.455b66-rev4"},
        }

    def test_the_state_has_the_identity_and_the_override_as_found(
        self, fleet: Fleet, props: dict[str, Any], machine: dict[str, Any]
    ) -> None:
        fleet.change(power="On", image="http://192.0.2.1/x.iso", target="Pxe", enabled="Continuous")
        created = BmcHostProvider().create(props)
        override = {"target": "Pxe", "enabled": "Continuous", "mode": "UEFI"}
        found = {"override": override, "media": "http://192.0.2.1/x.iso", "secure_boot": ""}
        assert (created.id, created.outs) == (uuid_of(0), {**props, **machine, "found": found})
        assert (fleet.state().power, fleet.state().image) == ("Off", "")

    @pytest.mark.parametrize("power", ["Off", "On"])
    def test_only_a_server_that_was_off_is_taken_over_as_a_new_one(
        self, power: str, fleet: Fleet, props: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Another provisioner's `destroy` leaves it off, and cannot remove the mark on this one."""
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        mark = MarkFile.of(props["bmc"]["address"], print)
        mark.set(Ended(Identity(uuid_of(0), serial_of(0)), "digest"))
        fleet.change(power=power)
        BmcHostProvider().create(props)
        assert (mark.read() is None) is (power == "Off")

    @pytest.mark.parametrize(
        ("power", "running", "is_refused"),
        [("On", False, True), ("On", True, False), ("Off", False, False)],
        ids=["on", "import", "off"],
    )
    def test_a_server_that_is_a_node_is_not_cut_off_by_an_older_state(  # noqa: PLR0917
        self,
        power: str,
        running: bool,
        is_refused: bool,
        fleet: Fleet,
        props: Props,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        cluster = RunningCluster("prod", "api.okd.lab.test", "192.0.2.5")
        monkeypatch.setattr(registered, "RUNNING", {cluster})
        monkeypatch.setattr(bmc_host, "node_fault", lambda host, *_: errors.Fault(host, "it is a node", "leave it"))
        fleet.change(power=power)
        if not is_refused:
            assert BmcHostProvider().create({**props, "running": running}).id == uuid_of(0)
            return
        with pytest.raises(BmcRefusedError, match=r"\(https://.*\): it is a node\. Fix: leave it$"):
            BmcHostProvider().create(props)
        assert (fleet.figures().writes, fleet.state().power) == ([], "On")

    @pytest.mark.parametrize("told", [set(), {Phase.PRODUCTION}], ids=["nothing", "only-the-phase"])
    @pytest.mark.parametrize("power", ["On", "Off"])
    def test_a_run_that_knows_no_cluster_cuts_nothing_off(
        self, power: str, told: set[Phase], fleet: Fleet, props: Props, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`up --target` of one server has no part that knows whether a cluster is in production."""
        monkeypatch.setattr(registered, "PHASE", told)
        fleet.change(power=power)
        if power == "Off":
            assert BmcHostProvider().create(props).id == uuid_of(0)
            return
        with pytest.raises(BmcRefusedError, match=r"--exclude asks nobody.*Fix: run `pulumi up` without them"):
            BmcHostProvider().create(props)
        assert (fleet.figures().writes, fleet.state().power) == ([], "On")

    def test_a_refresh_after_a_renewed_certificate_names_what_helps(self, fleet: Fleet, props: Props) -> None:
        """It knows only the former pin, whatever the stack says: an `up` without --refresh tells it the new one."""
        pem = ssl.get_server_certificate((fleet.node(0), fleet.port))
        now = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
        former, pinned = ({**props, "bmc": {**props["bmc"], "fingerprint": pin}} for pin in ("ab" * 32, now))
        outs = BmcHostProvider().create(pinned).outs or {}
        with pytest.raises(BmcRefusedError, match="its certificate is not trusted") as caught:
            BmcHostProvider().read("u", {**outs, **former})
        assert str(caught.value).endswith(
            "Fix: if the certificate was renewed, correct bmc_trust.<host>.sha256; if not, find out what answers; a "
            "refresh knows only the last `up`: once options were changed, run `pulumi up` first, without --refresh"
        )
        outs = BmcHostProvider().update("u", {**outs, **former}, pinned).outs or {}
        assert BmcHostProvider().read("u", outs).outs == outs

    def test_a_server_of_a_running_cluster_is_imported_without_writes(
        self, fleet: Fleet, props: dict[str, Any]
    ) -> None:
        fleet.change(power="On")
        assert BmcHostProvider().create({**props, "running": True}).id == uuid_of(0)
        assert fleet.figures().writes == []

    @pytest.mark.parametrize(
        "act",
        [
            pytest.param(lambda it, state: it.create(state), id="create"),
            pytest.param(lambda it, state: it.update("u", state, state), id="update"),
            pytest.param(lambda it, state: it.read("u", state), id="read"),
        ],
    )
    def test_a_spare_is_recorded_each_time_and_not_touched(
        self,
        act: Callable[[BmcHostProvider, Props], Any],
        fleet: Fleet,
        props: Props,
        machine: Props,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        fleet.change(power="On", image="http://192.0.2.1/x.iso", target="Pxe", enabled="Continuous")
        # Another machine was there before: it has no consent that could forbid the change.
        spare = {**props, "consent": "", "spare": True}
        before = {**machine, "uuid": UUID, "serial": "SN-1", "found": AS_FOUND}
        outs = act(BmcHostProvider(), {**spare, **before}).outs
        override = {"target": "Pxe", "enabled": "Continuous", "mode": "UEFI"}
        found = {"override": override, "media": "http://192.0.2.1/x.iso", "secure_boot": ""}
        assert outs == {**spare, **machine, "found": found}
        assert fleet.figures().writes == []
        assert "changed by someone else" not in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("act", "fix"),
        [
            pytest.param(
                lambda it, state: it.read("u", state),
                "run `pulumi up` first, .* in install-config.yaml; this login",
                id="read",
            ),
            # Without a target, `up` would install again what a half of a destroy has deleted.
            pytest.param(
                lambda it, state: it.delete("u", state),
                "Fix: if its BMC has .* run `pulumi up --target [^`]+ --config destroyable=true` first; if",
                id="delete",
            ),
        ],
    )
    def test_a_refused_login_of_the_state_is_named_and_tried_once(
        self, act: Callable[[BmcHostProvider, Props], Any], fix: str, fleet: Fleet, props: Props, machine: Props
    ) -> None:
        """P12: the password was rotated, and corrected in the options; the state still has the old one."""
        state = {**props, **machine, "found": AS_FOUND, "password": "the old one"}
        for _ in range(2):
            with pytest.raises(BmcAuthError, match=f"the login in the state was refused.*{fix}") as caught:
                act(BmcHostProvider(), state)
            assert "the old one" not in str(caught.value)
        assert len(fleet.figures().lines) == 1
        assert BmcHostProvider().update("u", state, props).outs is not None, "`up` heals it"

    def test_a_renewed_certificate_has_a_way_out_of_a_destroy(
        self, fleet: Fleet, props: Props, machine: Props
    ) -> None:
        """The options have the new fingerprint; the state, which is all that a destroy knows, has the old one."""
        state = {**props, **machine, "found": AS_FOUND, "bmc": {**props["bmc"], "fingerprint": "ab" * 32}}
        way_out = "or certificate now, write that, .* run `pulumi up --target [^`]+ --config destroyable=true` first"
        with pytest.raises(BmcRefusedError, match=f"its certificate is not trusted.*{way_out}"):
            BmcHostProvider().delete("u", state)
        assert BmcHostProvider().update("u", state, props).outs is not None, "`up` heals it"

    def test_a_refresh_warns_of_a_certificate_that_expires(
        self, fleet: Fleet, props: Props, machine: Props, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fleet.change(certificate="expired")
        trusting = {**props["bmc"], "verify": False}
        BmcHostProvider().read("u", {**props, **machine, "found": AS_FOUND, "bmc": trusting})
        assert f"{props['host']}: the certificate of its BMC expired on " in capsys.readouterr().err

    def test_a_spare_that_goes_is_not_even_asked(self, fleet: Fleet, props: Props, machine: Props) -> None:
        BmcHostProvider().delete("u", {**props, **machine, "found": AS_FOUND, "spare": True})
        assert fleet.figures().lines == []

    def test_a_refresh_reports_the_server_and_warns_of_changes(
        self, fleet: Fleet, props: dict[str, Any], machine: dict[str, Any], capsys: pytest.CaptureFixture[str]
    ) -> None:
        state = {**props, **machine, "bios_version": "P79 v1.00", "found": AS_FOUND}
        fleet.change(power="On", image="http://192.0.2.1/x.iso")
        assert BmcHostProvider().read("u", state).outs == {**state, "bios_version": "P79 v1.45"}
        assert capsys.readouterr().err.splitlines() == [
            "m0: state: power On; virtual CD http://192.0.2.1/x.iso; boot override None Disabled",
            "m0: changed by someone else: virtual CD http://192.0.2.1/x.iso, left empty",
        ]

    @pytest.mark.parametrize(
        ("drive", "line", "warnings", "most_s"),
        [
            pytest.param(
                "2",
                "virtual CD http://192.0.2.1/x.iso",
                ["cannot read the virtual CD drive 2: HTTP 500", "changed by someone else: virtual CD http"],
                0,
                id="beside-a-good-one",
            ),
            pytest.param(
                "[12]",
                "virtual CD not read",
                ["cannot read the virtual CD: HTTP 500"],
                bmc_host_engine.QUICK_S,
                id="all",
            ),
        ],
    )
    def test_a_refresh_beside_a_drive_that_fails_for_good_tells_all_else(  # noqa: PLR0917
        self,
        props: Props,
        machine: Props,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        drive: str,
        line: str,
        warnings: list[str],
        most_s: float,
    ) -> None:
        clock = FakeClock(0)
        monkeypatch.setattr(bmc_host, "SYSTEM_CLOCK", clock)
        with running(Options(tls=False, vendors=("dell_r750",))) as fleet:
            fleet.change(power="On", image="http://192.0.2.1/x.iso", target="Pxe", enabled="Continuous")
            fleet.fault(Fault(f"GET .*/VirtualMedia/{drive}$", "status", status=500))
            state = {**props, **machine, "found": AS_FOUND, "bios_version": "old"}
            state["bmc"] = {**props["bmc"], "address": fleet.address(0)}
            outs = BmcHostProvider().read("u", state).outs or {}
        shown, *warned = capsys.readouterr().err.splitlines()
        assert shown == f"m0: state: power On; {line}; boot override Pxe Continuous"
        assert outs["bios_version"] not in ("", "old")
        for wanted in warnings:
            assert any(wanted in each for each in warned)
        assert "boot override Pxe Continuous, found Hdd" in warned[-1]
        assert len(warned) == 2
        assert clock.now() <= most_s

    def test_an_update_keeps_the_override_as_found(
        self, fleet: Fleet, props: dict[str, Any], machine: dict[str, Any]
    ) -> None:
        state = {**props, **machine, "found": AS_FOUND}
        outs = BmcHostProvider().update("u", state, {**props, "consent": uuid_of(0)}).outs
        assert outs == {**state, "consent": uuid_of(0)}
        assert fleet.figures().writes == []

    @pytest.mark.parametrize(("recorded", "kept"), [("", "off"), ("on", "on")], ids=["not-yet", "already"])
    def test_secure_boot_is_recorded_before_it_is_first_changed(
        self, props: dict[str, Any], machine: dict[str, Any], recorded: str, kept: str
    ) -> None:
        with running(Options(tls=False, vendors=("generic_system",))) as fleet:
            before = {**props, "bmc": {**props["bmc"], "address": fleet.address(0)}}
            state = {**before, **machine, "found": {**AS_FOUND, "secure_boot": recorded}}
            after = {**before, "bmc": {**before["bmc"], "boot_mode": "UEFISecureBoot"}}
            outs = BmcHostProvider().update("u", state, after).outs or {}
            assert (outs["found"]["secure_boot"], fleet.figures().writes) == (kept, [])
            assert BmcHostProvider().update("u", state, before).outs == state

    def test_a_new_consent_takes_over_another_machine(
        self, fleet: Fleet, props: dict[str, Any], machine: dict[str, Any], capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = {**machine, "uuid": UUID, "serial": "SN-1"}
        state = {**props, **before, "consent": "SN-1", "found": AS_FOUND}
        fleet.change(power="On")
        outs = BmcHostProvider().update("u", state, props).outs or {}
        assert {name: outs[name] for name in machine} == machine
        override = {"target": "None", "enabled": "Disabled", "mode": "UEFI"}
        assert outs["found"] == {"override": override, "media": "", "secure_boot": ""}
        assert fleet.state().power == "Off"
        replaced = f"replaces Contoso 3500, UUID {UUID}, serial SN-1, which is left as it is"
        assert f"m0: {replaced}" in capsys.readouterr().err.splitlines()

    def test_an_import_leaves_a_machine_on_that_the_state_knows_as_another(
        self, fleet: Fleet, props: dict[str, Any], machine: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It had replaced a dead one before the state was restored from a copy of the time before."""
        monkeypatch.setattr(registered, "RUNNING", {RunningCluster("prod", "api.okd.lab.test", "192.0.2.5")})
        monkeypatch.setattr(bmc_host, "node_fault", lambda host, *_: errors.Fault(host, "it is a node", "import"))
        state = {**props, **machine, "uuid": UUID, "serial": "SN-1", "consent": "SN-1", "found": AS_FOUND}
        fleet.change(power="On")
        with pytest.raises(BmcRefusedError, match=r"it is a node\. Fix: import$"):
            BmcHostProvider().update("u", state, props)
        outs = BmcHostProvider().update("u", state, {**props, "running": True}).outs or {}
        assert {name: outs[name] for name in machine} == machine
        assert (fleet.figures().writes, fleet.state().power) == ([], "On")

    def test_another_machine_without_a_new_consent_is_not_touched(
        self, fleet: Fleet, props: dict[str, Any], machine: dict[str, Any]
    ) -> None:
        state = {**props, **machine, "uuid": UUID, "serial": "SN-1", "found": AS_FOUND}
        with pytest.raises(BmcIdentityError, match="the record is of Contoso 3500"):
            BmcHostProvider().update("u", state, props)
        assert fleet.figures().writes == []

    @pytest.mark.parametrize(
        ("found", "override"),
        [
            pytest.param({"override": {"target": "Pxe", "enabled": "Once"}}, ("Pxe", "Once"), id="as-found"),
            pytest.param(None, ("None", "Disabled"), id="an-older-state"),
        ],
    )
    def test_a_delete_leaves_the_server_off_with_the_override_as_found(
        self, fleet: Fleet, props: dict[str, Any], found: dict[str, Any] | None, override: tuple[str, str]
    ) -> None:
        fleet.change(power="On", target="Cd", enabled="Continuous")
        BmcHostProvider().delete("u", {**props, "uuid": uuid_of(0), "serial": serial_of(0), "found": found})
        state = fleet.state()
        assert (state.power, state.target, state.enabled) == ("Off", *override)

    @pytest.mark.parametrize("power", ["On", "Off"])
    def test_a_server_that_nobody_has_drained_is_not_cut_off(
        self,
        fleet: Fleet,
        props: dict[str, Any],
        machine: dict[str, Any],
        monkeypatch: pytest.MonkeyPatch,
        power: str,
    ) -> None:
        """`--continue-on-error` deletes it although what drains it was skipped."""
        monkeypatch.setattr(registered, "UNDRAINED", {props["host"]})
        fleet.change(power=power)
        state = {**props, **machine, "found": AS_FOUND}
        if power == "Off":
            BmcHostProvider().delete("u", state)
            return
        with pytest.raises(BmcRefusedError, match=r"it is on, and was not drained by this run; nothing was changed"):
            BmcHostProvider().delete("u", state)
        assert (fleet.state().power, fleet.figures().writes) == ("On", [])

    def test_a_delete_warns_of_what_the_bmc_refuses_to_restore(
        self, fleet: Fleet, props: dict[str, Any], machine: dict[str, Any], capsys: pytest.CaptureFixture[str]
    ) -> None:
        fleet.change(power="On", target="Cd", enabled="Continuous")
        fleet.fault(Fault("PATCH", "status", status=400))
        BmcHostProvider().delete("u", {**props, **machine, "found": AS_FOUND})
        assert (fleet.state().power, fleet.state().target) == ("Off", "Cd")
        assert "m0: not as found: " in capsys.readouterr().err

    @pytest.mark.parametrize(
        "act",
        [
            pytest.param(lambda it, state: it.create(state), id="create"),
            pytest.param(lambda it, state: it.update("u", state, state), id="update"),
            pytest.param(lambda it, state: it.read("u", state), id="read"),
            pytest.param(lambda it, state: it.delete("u", state), id="delete"),
        ],
    )
    def test_a_session_that_was_opened_is_ended(
        self, act: Callable[[BmcHostProvider, Props], object], fleet: Fleet, props: Props, machine: Props
    ) -> None:
        """Else they pile up in the BMC, until it lets nobody in."""
        act(BmcHostProvider(), {**props, **machine, "found": AS_FOUND, "bmc": {**props["bmc"], "session": True}})
        assert fleet.figures().writes[0] == "POST /redfish/v1/SessionService/Sessions"
        assert fleet.state().sessions == 0


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
