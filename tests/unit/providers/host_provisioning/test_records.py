"""Which hosts an update installs, leaves alone or refuses, by the records alone."""

from collections.abc import Set
from typing import Any

import pulumi
import pytest

from base.errors import BmcTimeoutError, ProvisioningError
from providers.host_provisioning import records
from providers.host_provisioning.model import InstallationRecord
from providers.host_provisioning.provider import HostProvisioningProvider
from tests.unit.providers.host_provisioning.specs import BOARD, ROLE, host, of_hosts, outs, record, spec

UNKNOWN = pulumi.output.UNKNOWN


def failures(news: dict[str, Any], olds: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    found = HostProvisioningProvider().check(olds or {}, {**ROLE, **news}).failures or []
    return [(failure.property, failure.reason) for failure in found]


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
    wanted = spec(identities={} if identity is None else {"w0": identity})
    before = {"w0": InstallationRecord(**record("w0"))}
    assert records.still_installed(before, wanted) == (before if kept else {})


def test_the_record_of_a_removed_host_is_dropped() -> None:
    before = {"w9": InstallationRecord(**record("w9"))}
    assert records.still_installed(before, spec()) == {}


@pytest.mark.parametrize(
    ("before", "now", "anew"),
    [
        pytest.param(None, {"w0": "SN-w0"}, {"w0": "SN-w0"}, id="no-state"),
        pytest.param({}, {"w0": "SN-w0"}, {"w0": "SN-w0"}, id="new"),
        pytest.param({"w0": "w0"}, {"w0": "SN-w0"}, {"w0": "SN-w0"}, id="another-value"),
        pytest.param({"w0": "SN-w0"}, {"w0": "SN-w0"}, {}, id="left-in"),
        pytest.param({"w0": "SN-w0"}, {}, {}, id="taken-out"),
    ],
)
def test_each_line_of_reinstall_takes_effect_once(
    before: dict[str, str] | None, now: dict[str, str], anew: dict[str, str]
) -> None:
    old = None if before is None else spec(reinstall=before)
    assert records.named_anew(old, spec(reinstall=now)) == anew


@pytest.mark.parametrize("key", ["passwords", "ours", "ignition_sha256"])
def test_check_names_the_inputs_that_a_host_lacks(key: str) -> None:
    assert failures({}) == []
    assert failures({key: {"w1": "x"}}) == [(key, "missing for w0. Fix: give one for each host")]
    assert failures({key: {}}) == [(key, "missing for w0, w1. Fix: give one for each host")]


@pytest.mark.parametrize(
    ("unicast", "before", "refused"),
    [
        pytest.param(True, {"w0"}, True, id="one-more"),
        pytest.param(True, {"w0", "w1"}, False, id="the-same"),
        pytest.param(True, {"w0", "w1", "w2"}, False, id="one-less"),
        pytest.param(True, set(), False, id="the-first-ones"),
        pytest.param(False, {"w0"}, False, id="multicast"),
    ],
)
def test_a_host_that_its_unicast_peers_do_not_list_is_refused(unicast: bool, before: Set[str], refused: bool) -> None:
    olds = {**ROLE, **of_hosts(*before), "unicast": unicast} if before else {}
    why = (
        "w1: no installed host lists it as a VRRP peer (unicast), so two hosts would claim a VIP. "
        "Fix: remove it, or lower the replicas to make it a spare"
    )
    assert failures({"unicast": unicast}, olds) == ([("hosts", why)] if refused else [])


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
    seen = f"the host is a system, UUID {uuid}, serial {serial}"
    why = f"reinstall.w0 names {who}, {seen}. Fix: name its own serial or UUID, or remove the line"
    assert failures(news, {**ROLE, "reinstall": before}) == ([("reinstall", why)] if refused else [])


WIPED = "reinstalled, disk wiped, as `reinstall` requests: "
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
    ],
)
def test_a_preview_names_the_hosts_that_are_wiped_and_those_left_alone(
    changes: dict[str, Any], lines: list[str]
) -> None:
    assert list(records.notes(spec(), outs(), spec(**changes))) == lines


def test_the_error_of_an_update_has_a_line_for_each_host_that_failed() -> None:
    late = BmcTimeoutError("power On was not reached in time", where="https://bmc", fix="look at the console")
    error = records.summary(spec(), {"w1": late, "w0": ProvisioningError("no luck")}, set())
    assert type(error) is ProvisioningError
    assert str(error).splitlines() == [
        "2 of 2 compute hosts were not installed:",
        "  w1: https://bmc: power On was not reached in time. Fix: look at the console",
        "  w0: no luck",
        "All others run. Fix: run `pulumi up` again, which retries those hosts",
    ]


def test_the_error_of_a_partial_reinstall_names_the_lines_to_remove() -> None:
    error = records.summary(spec(), {"w1": ProvisioningError("no luck")}, {"w2", "w0"})
    assert str(error).endswith(
        "Fix: run `pulumi up` again, which retries those hosts."
        " Before that, remove from `reinstall` the hosts that are reinstalled already: w0, w2"
    )


PROXIED = {"boot_server": "http://172.22.0.3:6180", "boot_macs": {"w0": "52:54:00:00:00:01"}}
LATER = {**of_hosts("w0", "w1", "w2"), "boot_macs": {"w0": "52:54:00:00:00:01", "w2": "52:54:00:00:00:02"}}


def test_compute_that_the_control_plane_s_dhcp_does_not_know_cannot_be_added() -> None:
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
