"""Which hosts an update installs, leaves untouched or refuses, decided from inputs and records."""

from dataclasses import replace
from typing import Any

import pulumi
import pytest

from base.errors import BmcTimeoutError, ProvisioningError
from providers.host_provisioning import records
from providers.host_provisioning.model import (
    HostProvisioningOuts,
    HostProvisioningSpec,
    InstallationRecord,
    VrrpNode,
)
from providers.host_provisioning.provider import HostProvisioningProvider
from providers.host_provisioning.records import InstallationPlan, InstalledHost
from providers.joining.certificates import Approval
from testing.refusals import refusals
from tests.unit.providers.host_provisioning.specs import AT, BOARD, ROLE, host, of_hosts, outs, record, spec

UNKNOWN = pulumi.output.UNKNOWN


def failures(news: dict[str, Any], olds: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    answer = HostProvisioningProvider().check(olds or {}, {**ROLE, **news})
    return refusals(answer)


@pytest.mark.parametrize(
    ("identity", "kept"),
    [
        pytest.param({"uuid": "w0"}, True, id="same"),
        pytest.param({"uuid": "W0"}, True, id="case"),
        pytest.param({}, True, id="unreported"),
        pytest.param(None, True, id="unknown"),
        pytest.param({"uuid": "w9"}, False, id="replaced"),
        pytest.param({"uuid": BOARD, "serial": "W0"}, True, id="by-serial"),
        pytest.param({"uuid": BOARD, "serial": "w9"}, False, id="replaced-by-serial"),
    ],
)
def test_a_record_is_valid_only_for_its_machine(identity: dict[str, str] | None, kept: bool) -> None:
    wanted = spec(**{**of_hosts("w0"), "identities": {} if identity is None else {"w0": identity}})
    plan = InstallationPlan.of(spec(), outs(installed={"w0": record("w0")}), wanted)
    assert (plan.untouched, plan.pending) == ((("w0",), ()) if kept else ((), ("w0",)))


def test_a_plan_carries_the_outputs_of_the_hosts_that_are_still_installed() -> None:
    approved = {name: [{"request": f"csr-{name}", "signer": "s", "at": AT}] for name in ("w0", "w9")}
    by_host = {"disks": "/dev/sda", "steps": {"media": 1.0}, "requests": 9}
    before = outs(
        installed={name: record(name) for name in ("w0", "w9")},
        approved=approved,
        **{key: {"w0": value, "w9": value} for key, value in by_host.items()},
    )
    plan = InstallationPlan.of(spec(), before, spec())
    assert plan.carried == outs(
        installed={"w0": record("w0")},
        approved={"w0": approved["w0"]},
        **{key: {"w0": value} for key, value in by_host.items()},
    )
    assert (plan.pending, plan.without_record, plan.untouched) == (("w1",), ("w1",), ("w0",))


@pytest.mark.parametrize(
    ("listed", "reinstall", "pending"),
    [
        pytest.param({"w0": "SN-w0"}, {"w0": "SN-w0"}, ("w0", "w2"), id="installed"),
        pytest.param({"w2": "SN-w2"}, {}, ("w2",), id="without-a-record"),
        pytest.param({"w1": "SN-w1"}, {}, ("w2",), id="of-an-earlier-up"),
    ],
)
def test_a_plan_wipes_only_installed_hosts_that_are_newly_listed(
    listed: dict[str, str], reinstall: dict[str, str], pending: tuple[str, ...]
) -> None:
    plan = InstallationPlan.of(
        spec(reinstall={"w1": "SN-w1"}), outs(), spec(**of_hosts("w0", "w1", "w2"), reinstall=listed)
    )
    assert (plan.reinstall, plan.pending, plan.without_record) == (reinstall, pending, ("w2",))
    assert plan.untouched == tuple(host for host in ("w0", "w1") if host not in reinstall)


RUNNING = spec(snapshots="/saved")


@pytest.mark.parametrize(
    ("new", "before", "running", "saves"),
    [
        pytest.param(RUNNING, outs(), (), False, id="nothing-to-install"),
        pytest.param(RUNNING.changed(reinstall={"w0": "SN-w0"}), outs(), (), True, id="reinstalled"),
        pytest.param(spec(reinstall={"w0": "SN-w0"}), outs(), (), False, id="no-folder"),
        pytest.param(RUNNING, outs().of_hosts(["w0"]), (), True, id="added"),
        pytest.param(RUNNING, outs().of_hosts([]), (), False, id="the-first-installation"),
        pytest.param(
            spec(snapshots="/saved", identities={"w0": {"uuid": "w9"}}), outs(), (), True, id="another-machine"
        ),
        pytest.param(
            spec(snapshots="/saved", identities={"w0": {"uuid": "w9"}}), outs(), ("w0",), False, id="one-that-runs"
        ),
        pytest.param(
            spec(**{**of_hosts("w0"), "identities": {"w0": {"uuid": "w9"}}}, snapshots="/saved"),
            outs().of_hosts(["w0"]),
            (),
            True,
            id="the-only-server",
        ),
    ],
)
def test_etcd_is_saved_before_a_server_that_runs_is_wiped(
    new: HostProvisioningSpec, before: HostProvisioningOuts, running: tuple[str, ...], saves: bool
) -> None:
    plan = replace(InstallationPlan.of(spec(), before, new), adopted=frozenset(running))
    assert plan.saves_etcd(new) is saves
    note = ["etcd will be saved into /saved/test before a server is wiped"] if saves else []
    if not running:
        assert [line for line in records.notes(spec(), before, new) if "etcd" in line] == note


def test_the_outputs_of_a_reinstalled_host_replace_those_before() -> None:
    before = outs(approved={"w0": [{"request": "csr-0", "signer": "s", "at": AT}]})
    plan = InstallationPlan.of(spec(), before, spec(reinstall={"w0": "w0"}))
    new = InstalledHost(InstallationRecord(**record("w0", "ee")), disk="", steps={"media": 2.0}, requests=3)
    approvals = [Approval(request="csr-1", signer="s", at=AT)]
    assert plan.outputs({"w0": new}, {"w0": approvals}) == outs(
        installed={"w0": record("w0", "ee"), "w1": record("w1")},
        disks={},
        steps={"w0": {"media": 2.0}},
        requests={"w0": 3},
        approved={"w0": approvals},
    )
    assert plan.outputs({"w0": new}, {}).approved == before.approved, "an old approval stays without a new one"


@pytest.mark.parametrize(
    ("before", "now", "listed"),
    [
        pytest.param(None, {"w0": "SN-w0"}, {"w0": "SN-w0"}, id="no-state"),
        pytest.param({}, {"w0": "SN-w0"}, {"w0": "SN-w0"}, id="new"),
        pytest.param({"w0": "w0"}, {"w0": "SN-w0"}, {"w0": "SN-w0"}, id="another-value"),
        pytest.param({"w0": "SN-w0"}, {"w0": "SN-w0"}, {}, id="left-in"),
        pytest.param({"w0": "SN-w0"}, {}, {}, id="taken-out"),
    ],
)
def test_each_line_of_reinstall_takes_effect_once(
    before: dict[str, str] | None, now: dict[str, str], listed: dict[str, str]
) -> None:
    old = None if before is None else spec(reinstall=before)
    assert records.newly_listed(old, spec(reinstall=now)) == listed


@pytest.mark.parametrize("key", ["passwords", "ours", "ignition_sha256"])
def test_check_names_the_inputs_that_a_host_lacks(key: str) -> None:
    assert failures({}) == []
    assert failures({key: {"w1": "x"}}) == [(key, "missing for w0. Fix: give one for each host")]
    assert failures({key: {}}) == [(key, "missing for w0, w1. Fix: give one for each host")]


FIRST, LAST = VrrpNode(sources=("192.0.2.31",), priority=40), VrrpNode(sources=("192.0.2.32",), priority=39)
LISTS = FIRST.changed(peers=("192.0.2.20", "192.0.2.32"))
UNLISTED = "hosts: w1: not listed as a VRRP peer (unicast) by w0, so two hosts would claim a VIP"
EQUAL = "hosts: w1: its priority for the API VIP would be that of w0, which is installed"


def joining_faults(known: VrrpNode | None, own: VrrpNode, **changes: Any) -> list[str]:
    """Return the faults of w1, which joins w0."""
    before = outs(installed={"w0": record("w0")}, installed_vrrp={"w0": known} if known else {})
    new = spec(vrrp={"w1": own}, **changes)
    faults = records.planned_faults(InstallationPlan.of(spec(), before, new), spec(), new)
    return [f"{fault.where}: {fault.what}" for fault in faults]


@pytest.mark.parametrize(
    ("unicast", "known", "own", "refused"),
    [
        pytest.param(True, LISTS, LAST, [], id="listed"),
        pytest.param(True, FIRST.changed(peers=("192.0.2.20",)), LAST, [UNLISTED], id="not-listed"),
        pytest.param(True, LISTS, LAST.changed(sources=("192.0.2.32", "fd00::32")), [UNLISTED], id="of-one-family"),
        pytest.param(True, LISTS, LAST.changed(sources=("192.0.2.33",)), [UNLISTED], id="another-address"),
        pytest.param(True, None, LAST, [UNLISTED], id="nobody-knows"),
        pytest.param(True, LISTS, LAST.changed(priority=40), [EQUAL], id="not-the-last"),
        pytest.param(False, FIRST, LAST, [], id="multicast"),
        pytest.param(False, FIRST, FIRST, [EQUAL], id="multicast-not-the-last"),
        pytest.param(False, VrrpNode(), VrrpNode(), [], id="no-api-vip"),
        pytest.param(False, None, LAST, [], id="multicast-nobody-knows"),
    ],
)
def test_a_host_joins_only_those_that_list_it_and_behind_them(
    unicast: bool, known: VrrpNode | None, own: VrrpNode, refused: list[str]
) -> None:
    assert joining_faults(known, own, unicast=unicast) == refused


@pytest.mark.parametrize(
    ("installed", "changes", "refused"),
    [
        pytest.param(("w0", "w1", "w2"), {}, False, id="one"),
        pytest.param(("w0", "w1"), {}, True, id="two"),
        pytest.param(("w0", "w1", "w2"), {"reinstall": {"w0": "w0"}}, True, id="and-one-reinstalled"),
        pytest.param(("w0", "w1", "w2"), {"identities": {"w0": {"uuid": "w9"}}}, True, id="and-one-replaced"),
        pytest.param(("w0", "w1"), {"out_of_etcd": ()}, False, id="without-etcd"),
        pytest.param(("w0",), {"role": "arbiter"}, True, id="arbiters"),
        pytest.param((), {}, False, id="the-first-ones"),
    ],
)
def test_one_host_joins_etcd_at_a_time(installed: tuple[str, ...], changes: dict[str, Any], refused: bool) -> None:
    names = ("w0", "w1", "w2", "w3")
    old = spec(**of_hosts(*installed))
    new = spec(**{**of_hosts(*names), "out_of_etcd": names, **changes})
    before = outs(installed={name: record(name) for name in installed})
    faults = [*records.planned_faults(InstallationPlan.of(old, before, new), old, new)]
    assert [fault.what.endswith("joins it or is wiped, in one update") for fault in faults] == [True] * refused


NUMBER = "hosts: {}: a control plane of one grows to 3 servers, and the file has {}"
ONLY_WIPED = "hosts: {}: join etcd, whose only member, that of w0, is wiped"
UNSAVED = "snapshots: {}: on the way, etcd has two members, of which none may be lost; no snapshot is taken before"


@pytest.mark.parametrize("servers", [2, 3, 4, 5])
@pytest.mark.parametrize("snapshots", ["", "/saved"], ids=["not-saved", "saved"])
@pytest.mark.parametrize(
    ("changes", "wiped"),
    [
        pytest.param({}, False, id="kept"),
        pytest.param({"reinstall": {"w0": "SN-w0"}}, True, id="reinstalled"),
        pytest.param({"identities": {"w0": {"uuid": "another"}}}, True, id="replaced"),
    ],
)
def test_a_control_plane_of_one_becomes_one_of_three_at_once_or_stays(
    servers: int, snapshots: str, changes: dict[str, Any], wiped: bool
) -> None:
    """With two, etcd would have two members, of which none may be lost (ADR 82)."""
    names = [f"w{number}" for number in range(servers)]
    old = spec(**of_hosts("w0"), role="control-plane")
    new = spec(
        **{**of_hosts(*names), "role": "control-plane", "out_of_etcd": names, "snapshots": snapshots, **changes}
    )
    before = outs(installed={"w0": record("w0")})
    plan = InstallationPlan.of(old, before, new)
    added = " and ".join(names[1:])
    wanted = [NUMBER.format(added, servers)] * (servers != 3)
    wanted += [ONLY_WIPED.format(added)] * wiped + [UNSAVED.format(added)] * (not snapshots)
    assert [f"{fault.where}: {fault.what}" for fault in records.planned_faults(plan, old, new)] == wanted
    assert plan.grows_from_one(new)


@pytest.mark.parametrize(
    ("before", "now", "changes", "refused"),
    [
        pytest.param(3, 1, {}, True, id="three-to-one"),
        pytest.param(3, 2, {}, True, id="three-to-two"),
        pytest.param(5, 2, {}, True, id="five-to-two"),
        pytest.param(5, 3, {}, False, id="five-to-three"),
        pytest.param(2, 1, {}, False, id="what-was-never-three"),
        pytest.param(3, 1, {"role": "compute"}, False, id="compute"),
        pytest.param(3, 1, {"out_of_etcd": ()}, False, id="in-phase-bootstrap"),
    ],
)
def test_a_control_plane_of_three_stays_one(before: int, now: int, changes: dict[str, Any], refused: bool) -> None:
    names = [f"w{number}" for number in range(before)]
    old, role = spec(**of_hosts(*names)), {"role": "control-plane", "out_of_etcd": names[:now]}
    new = spec(**{**of_hosts(*names[:now]), **role, **changes})
    plan = InstallationPlan.of(old, outs(installed={name: record(name) for name in names}), new)
    what = f"a control plane of {before} servers cannot become one of {now}"
    assert [fault.what for fault in records.planned_faults(plan, old, new)] == [what] * refused


def test_a_control_plane_of_one_may_be_installed_again() -> None:
    old = spec(**of_hosts("w0"), role="control-plane")
    new = old.changed(out_of_etcd=("w0",), reinstall={"w0": "SN-w0"})
    plan = InstallationPlan.of(old, outs(installed={"w0": record("w0")}), new)
    assert ([*records.planned_faults(plan, old, new)], plan.grows_from_one(new)) == ([], False)


def test_what_a_host_was_installed_with_stays_on_record() -> None:
    plan = InstallationPlan.of(
        spec(), outs(installed_vrrp={"w0": LISTS, "w1": LAST}), spec(reinstall={"w0": "w0", "w1": "w1"})
    )
    host = InstalledHost(InstallationRecord(**record("w0")), disk="", steps={}, requests=3)
    assert plan.outputs({"w0": replace(host, vrrp=FIRST)}, {}).installed_vrrp == {"w0": FIRST, "w1": LAST}
    assert plan.outputs({"w0": host}, {}).installed_vrrp == {"w1": LAST}, "an adopted one runs what nobody knows"


@pytest.mark.parametrize(
    ("before", "uuid", "serial", "who", "refused"),
    [
        pytest.param({}, "w0", "SN-0", "W0", False, id="uuid"),
        pytest.param({}, "w0", "SN-0", "sn-0", False, id="serial"),
        pytest.param({}, "w0", "SN-0", "SN-1", True, id="another"),
        pytest.param({}, BOARD, "SN-0", BOARD, True, id="of-many-boards"),
        pytest.param({"w0": "SN-1"}, "w0", "SN-0", "SN-1", False, id="of-an-earlier-up"),
        pytest.param({}, UNKNOWN, UNKNOWN, "SN-1", False, id="not-known-yet"),
        pytest.param({}, "w0", UNKNOWN, "SN-1", False, id="not-wholly-known-yet"),
    ],
)
def test_a_preview_refuses_to_reinstall_another_machine(
    before: dict[str, str], uuid: object, serial: object, who: str, refused: bool
) -> None:
    news = {"identities": {"w0": {"uuid": uuid, "serial": serial}}, "reinstall": {"w0": who}}
    actual = f"the host is a system, UUID {uuid}, serial {serial}"
    why = f"reinstall.w0 names {who}, {actual}. Fix: name its own serial or UUID, or remove the line"
    assert failures(news, {**ROLE, "reinstall": before}) == ([("reinstall", why)] if refused else [])


WIPED = "will be wiped and installed again, as `reinstall` requests: "
DRAINED = "will be cordoned and drained, then switched off, and their nodes deleted: "
UNTOUCHED = "installed already, and not touched by this change: "


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"base_iso_sha256": "ee"}, [f"{UNTOUCHED}w0, w1"], id="iso"),
        pytest.param({"ignition_sha256": {"w0": "2", "w1": "1"}}, [f"{UNTOUCHED}w0, w1"], id="ignition"),
        pytest.param({"payload_sha256": "ee"}, [f"{UNTOUCHED}w0, w1"], id="payload"),
        pytest.param({"media_url": "http://192.0.2.1/isos"}, [f"{UNTOUCHED}w0, w1"], id="media"),
        pytest.param(
            {"hosts": {**ROLE["hosts"], "w0": {**host("w0"), "root_device": {"deviceName": "/dev/sdb"}}}},
            [f"{UNTOUCHED}w0, w1"],
            id="disk",
        ),
        pytest.param({"deadline_s": 9.0}, [], id="what-is-in-no-iso"),
        pytest.param({"reinstall": {"w0": "w0"}}, [f"{WIPED}w0"], id="reinstall"),
        pytest.param(
            {"reinstall": {"w0": "w0"}, "base_iso_sha256": "ee"}, [f"{WIPED}w0", f"{UNTOUCHED}w1"], id="both"
        ),
        pytest.param({"reinstall": {"w9": "w9"}}, [], id="a-host-without-record"),
        pytest.param(
            {**of_hosts("w0"), "base_iso_sha256": "ee"}, [f"{DRAINED}w1", f"{UNTOUCHED}w0"], id="a-host-less"
        ),
        pytest.param(
            {"identities": {"w0": {"uuid": "w9"}}, "base_iso_sha256": "ee"}, [f"{UNTOUCHED}w1"], id="another-machine"
        ),
    ],
)
def test_a_preview_names_the_hosts_that_are_wiped_and_those_untouched(
    changes: dict[str, Any], lines: list[str]
) -> None:
    assert list(records.notes(spec(), outs(), spec(**changes))) == lines


def test_the_error_of_an_update_has_a_line_for_each_host_that_failed() -> None:
    late = BmcTimeoutError("power On was not reached in time", where="https://bmc", fix="look at the console")
    error = records.not_installed(spec(), {"w1": late, "w0": ProvisioningError("no luck")}, set())
    assert type(error) is ProvisioningError
    assert str(error).splitlines() == [
        "2 of 2 compute hosts were not installed:",
        "    w1: https://bmc: power On was not reached in time. Fix: look at the console",
        "    w0: no luck",
        "    All others run. Fix: do what each line says, then run `pulumi up` again, which retries those hosts",
    ]


def test_the_error_of_a_partial_reinstall_names_the_lines_to_remove() -> None:
    error = records.not_installed(spec(), {"w1": ProvisioningError("no luck")}, {"w2", "w0"})
    assert str(error).endswith(
        "Fix: do what each line says, then run `pulumi up` again, which retries those hosts."
        " Before that, remove from `reinstall` the hosts that are reinstalled already: w0, w2"
    )


PROXIED = {"boot_server": "http://172.22.0.3:6180", "boot_macs": {"w0": "52:54:00:00:00:01"}}
LATER = {**of_hosts("w0", "w1", "w2"), "boot_macs": {"w0": "52:54:00:00:00:01", "w2": "52:54:00:00:00:02"}}


def test_compute_that_dhcp_of_the_control_plane_lacks_cannot_be_added() -> None:
    ((key, why),) = failures({**PROXIED, **LATER}, {**ROLE, **PROXIED})
    assert (key, why.partition(". Fix: ")[0]) == (
        "hosts",
        "w2: the control plane is installed, and its DHCP does not know the MAC 52:54:00:00:00:02",
    )


@pytest.mark.parametrize(
    ("news", "olds"),
    [
        pytest.param({**PROXIED, **LATER}, None, id="nothing-installed-yet"),
        pytest.param({**PROXIED, **of_hosts("w0", "w1", "w2")}, {**ROLE, **PROXIED}, id="by-virtual-cd"),
        pytest.param({**LATER, "boot_server": "http://127.0.0.1:0"}, {**ROLE, **PROXIED}, id="dhcp-of-the-site"),
        pytest.param({**PROXIED, **LATER, "role": "control-plane"}, {**ROLE, **PROXIED}, id="control-plane"),
    ],
)
def test_other_hosts_can_be_added(news: dict[str, Any], olds: dict[str, Any] | None) -> None:
    assert failures(news, olds) == []
