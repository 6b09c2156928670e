"""BmcHost as a resource, with BMCs of the fake fleet, on a fake clock."""

import hashlib
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from base import errors
from base.errors import BmcAuthError, BmcIdentityError, BmcRefusedError
from cluster.values.phase import Phase
from providers import registered
from providers.bmc_host import engine as bmc_host_engine
from providers.bmc_host import provider as bmc_host
from providers.bmc_host.provider import BmcHostProvider
from providers.mark_file import Ended, MarkFile
from providers.pulumi.dynamic import Props
from providers.registered import RunningCluster
from testing.fakes.clock import FakeClock
from testing.fakes.fleet.fleet import Fault, Fleet, Options, running, serial_of, uuid_of
from wires.bmc.client import Identity

UUID = "c0ffee00-0000-4000-8000-000000000001"
"""Of another machine than the fleet's."""
AS_FOUND = {"override": {"target": "Hdd", "enabled": "", "mode": ""}, "media": "", "secure_boot": ""}


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    monkeypatch.setattr(bmc_host, "SYSTEM_CLOCK", FakeClock())
    monkeypatch.setattr(registered, "PHASE", {Phase.BOOTSTRAP})
    with running(Options()) as fleet:
        yield fleet


@pytest.fixture
def props(fleet: Fleet) -> dict[str, Any]:
    bmc = {"address": fleet.address(0), "username": fleet.options.username, "ca": fleet.ca}
    return {
        **{"host": "okd-master-0", "bmc": bmc, "password": fleet.options.password, "consent": serial_of(0)},
        "deadline_s": 60.0,
        **{"urn": "urn:pulumi:test::okd::BmcHost::m0", "__provider": "pickle"},
    }


@pytest.fixture
def machine() -> dict[str, Any]:
    return {
        **{"uuid": uuid_of(0), "serial": serial_of(0), "model": "3500", "manufacturer": "Contoso"},
        **{"bios_version": "P79 v1.45", "bmc_version": "1.45.455b66-rev4"},
    }


def test_the_state_has_the_identity_and_the_override_as_found(
    fleet: Fleet, props: dict[str, Any], machine: dict[str, Any]
) -> None:
    fleet.change(power="On", image="http://192.0.2.1/x.iso", target="Pxe", enabled="Continuous")
    created = BmcHostProvider().create(props)
    override = {"target": "Pxe", "enabled": "Continuous", "mode": "UEFI"}
    found = {"override": override, "media": "http://192.0.2.1/x.iso", "secure_boot": ""}
    assert (created.id, created.outs) == (uuid_of(0), {**props, **machine, "found": found})
    assert (fleet.state().power, fleet.state().image) == ("Off", "")


@pytest.mark.parametrize("power", ["Off", "On"])
def test_only_a_server_that_was_off_is_taken_over_as_a_new_one(
    power: str, fleet: Fleet, props: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
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
    power: str, told: set[Phase], fleet: Fleet, props: Props, monkeypatch: pytest.MonkeyPatch
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


def test_a_refresh_after_a_renewed_certificate_names_what_helps(fleet: Fleet, props: Props) -> None:
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


def test_a_server_of_a_running_cluster_is_imported_without_writes(fleet: Fleet, props: dict[str, Any]) -> None:
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
            "Fix: if its BMC has .* run `pulumi up --target [^`]+ --config destroyable=true` first, and, if the "
            "cluster stays, `pulumi config rm destroyable` at the end; if",
            id="delete",
        ),
    ],
)
def test_a_refused_login_of_the_state_is_named_and_tried_once(
    act: Callable[[BmcHostProvider, Props], Any], fix: str, fleet: Fleet, props: Props, machine: Props
) -> None:
    """P12: the password was rotated, and corrected in the options; the state still has the old one."""
    state = {**props, **machine, "found": AS_FOUND, "password": "the old one"}
    for _ in range(2):
        with pytest.raises(BmcAuthError, match=f"the login in the state was refused.*{fix}") as caught:
            act(BmcHostProvider(), state)
        assert "the old one" not in str(caught.value)
    assert len(fleet.figures().lines) == 1
    assert BmcHostProvider().update("u", state, props).outs is not None, "`up` heals it"


def test_a_renewed_certificate_has_a_way_out_of_a_destroy(fleet: Fleet, props: Props, machine: Props) -> None:
    """The options have the new fingerprint; the state, which is all that a destroy knows, has the old one."""
    state = {**props, **machine, "found": AS_FOUND, "bmc": {**props["bmc"], "fingerprint": "ab" * 32}}
    way_out = "or certificate now, write that, .* run `pulumi up --target [^`]+ --config destroyable=true` first"
    with pytest.raises(BmcRefusedError, match=f"its certificate is not trusted.*{way_out}"):
        BmcHostProvider().delete("u", state)
    assert BmcHostProvider().update("u", state, props).outs is not None, "`up` heals it"


def test_a_refresh_warns_of_a_certificate_that_expires(
    fleet: Fleet, props: Props, machine: Props, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.change(certificate="expired")
    trusting = {**props["bmc"], "verify": False}
    BmcHostProvider().read("u", {**props, **machine, "found": AS_FOUND, "bmc": trusting})
    assert f"{props['host']}: the certificate of its BMC expired on " in capsys.readouterr().err


def test_a_spare_that_goes_is_not_even_asked(fleet: Fleet, props: Props, machine: Props) -> None:
    BmcHostProvider().delete("u", {**props, **machine, "found": AS_FOUND, "spare": True})
    assert fleet.figures().lines == []


def test_a_refresh_reports_the_server_and_warns_of_changes(
    fleet: Fleet, props: dict[str, Any], machine: dict[str, Any], capsys: pytest.CaptureFixture[str]
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


def test_an_update_keeps_the_override_as_found(fleet: Fleet, props: dict[str, Any], machine: dict[str, Any]) -> None:
    state = {**props, **machine, "found": AS_FOUND}
    outs = BmcHostProvider().update("u", state, {**props, "consent": uuid_of(0)}).outs
    assert outs == {**state, "consent": uuid_of(0)}
    assert fleet.figures().writes == []


@pytest.mark.parametrize(("recorded", "kept"), [("", "off"), ("on", "on")], ids=["not-yet", "already"])
def test_secure_boot_is_recorded_before_it_is_first_changed(
    props: dict[str, Any], machine: dict[str, Any], recorded: str, kept: str
) -> None:
    with running(Options(tls=False, vendors=("generic_system",))) as fleet:
        before = {**props, "bmc": {**props["bmc"], "address": fleet.address(0)}}
        state = {**before, **machine, "found": {**AS_FOUND, "secure_boot": recorded}}
        after = {**before, "bmc": {**before["bmc"], "boot_mode": "UEFISecureBoot"}}
        outs = BmcHostProvider().update("u", state, after).outs or {}
        assert (outs["found"]["secure_boot"], fleet.figures().writes) == (kept, [])
        assert BmcHostProvider().update("u", state, before).outs == state


def test_a_new_consent_takes_over_another_machine(
    fleet: Fleet, props: dict[str, Any], machine: dict[str, Any], capsys: pytest.CaptureFixture[str]
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
    fleet: Fleet, props: dict[str, Any], machine: dict[str, Any], monkeypatch: pytest.MonkeyPatch
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
    fleet: Fleet, props: dict[str, Any], machine: dict[str, Any]
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
    fleet: Fleet, props: dict[str, Any], found: dict[str, Any] | None, override: tuple[str, str]
) -> None:
    fleet.change(power="On", target="Cd", enabled="Continuous")
    BmcHostProvider().delete("u", {**props, "uuid": uuid_of(0), "serial": serial_of(0), "found": found})
    state = fleet.state()
    assert (state.power, state.target, state.enabled) == ("Off", *override)


@pytest.mark.parametrize("power", ["On", "Off"])
def test_a_server_that_nobody_has_drained_is_not_cut_off(
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


def test_a_run_that_does_not_know_who_left_cuts_nothing_off(
    fleet: Fleet, props: Props, machine: Props, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--exclude` leaves out `Machines`, and `--continue-on-error` deletes a server that nothing has drained."""
    monkeypatch.setattr(registered, "PHASE", set())
    fleet.change(power="On")
    BmcHostProvider().check({}, {**props, "urn": "urn:another"})
    with pytest.raises(BmcRefusedError, match=r"it is on, and was not drained by this run; nothing was changed"):
        BmcHostProvider().delete("u", {**props, **machine, "found": AS_FOUND})
    assert fleet.figures().writes == []


def test_a_delete_warns_of_what_the_bmc_refuses_to_restore(
    fleet: Fleet, props: dict[str, Any], machine: dict[str, Any], capsys: pytest.CaptureFixture[str]
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
    act: Callable[[BmcHostProvider, Props], object], fleet: Fleet, props: Props, machine: Props
) -> None:
    """Else they pile up in the BMC, until it lets nobody in."""
    act(BmcHostProvider(), {**props, **machine, "found": AS_FOUND, "bmc": {**props["bmc"], "session": True}})
    assert fleet.figures().writes[0] == "POST /redfish/v1/SessionService/Sessions"
    assert fleet.state().sessions == 0
