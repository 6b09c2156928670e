"""The sentences on machines: each is derived from the steps, by the rules of the providers."""

from collections.abc import Mapping
from typing import Any

import pytest

from review.page import page_of
from review.preview import UNKNOWN, read_preview
from testing.preview_steps import bmc_host, file, installation, preview, records, step

VM = {"name": "okd-bootstrap", "pool": "p", "vcpus": 4, "deadline_s": 60, "ignition_sha256": "e5"}
HANDOFF = {"phase": "bootstrap", "vips": ["192.0.2.5"], "balancer": "OpenShiftManagedDefault"}
PRODUCTION = {**HANDOFF, "phase": "production"}
NOT_KNOWN = {"uuid": UNKNOWN, "serial": UNKNOWN}


def sentences(*steps: Mapping[str, Any], **options: Any) -> list[str]:
    """Return the verdict; a grave sentence begins with `!`."""
    page = page_of(read_preview(preview(*steps, **options), "a preview"), "prod")
    return [f"!{each.text}" if each.is_grave else each.text for each in page.verdict]


def installs(old: dict[str, Any], new: dict[str, Any], *installed: str) -> dict[str, Any]:
    return step("update", "HostProvisioning", "okd-x", old, new, outs=records(*installed))


def test_nothing_changes() -> None:
    assert sentences() == ["Nothing changes."]


def test_the_vip_moves_only_from_phase_bootstrap_to_production() -> None:
    assert sentences(step("update", "VipHandoff", "okd-api", HANDOFF, PRODUCTION)) == [
        "Moves the API VIP `192.0.2.5` from the bootstrap VM to the control plane."
    ]
    later = step("update", "VipHandoff", "okd-api", PRODUCTION, {**PRODUCTION, "soak_s": 5})
    assert sentences(later) == ["No machine is changed.", "Probes who holds the API VIP."]
    dual = {"vips": ["192.0.2.5", "2001:db8::5"]}
    (both,) = sentences(step("update", "VipHandoff", "okd-api", {**HANDOFF, **dual}, {**PRODUCTION, **dual}))
    assert both.startswith("Moves the API VIP `192.0.2.5` and `2001:db8::5` from ")


def test_behind_a_balancer_of_the_site_no_vip_moves() -> None:
    site = {"balancer": "UserManaged"}
    assert sentences(step("update", "VipHandoff", "okd-api", {**HANDOFF, **site}, {**PRODUCTION, **site})) == [
        "Ends the bootstrap VM once the control plane serves behind your balancer."
    ]


@pytest.mark.parametrize(
    ("operation", "new", "sentence"),
    [
        ("create", VM, "Creates the bootstrap VM `okd-bootstrap`."),
        ("delete", None, "!Deletes the bootstrap VM `okd-bootstrap`, with its disk."),
        (
            "replace",
            VM | {"pool": "q"},
            "!Deletes the bootstrap VM `okd-bootstrap` with its disk, and builds it again.",
        ),
        (
            "update",
            VM | {"ignition_sha256": "f6"},
            "!Builds the bootstrap VM `okd-bootstrap` again, with a new disk; if a server of the control plane "
            "answers already, `up` ends there with an error.",
        ),
        ("update", VM | {"deadline_s": 90}, "Starts the bootstrap VM `okd-bootstrap` if it is off."),
    ],
    ids=["create", "delete", "replace", "rebuild", "keep"],
)
def test_the_bootstrap_vm(operation: str, new: dict[str, Any] | None, sentence: str) -> None:
    old = None if operation == "create" else VM
    assert sentences(step(operation, "BootstrapVm", "okd-bootstrap", old, new)) == [sentence]


def test_new_servers_are_switched_off_and_wiped_with_their_consent() -> None:
    found = sentences(
        *(step("create", "BmcHost", f"okd-{host}", None, bmc_host(host)) for host in ("m0", "m1")),
        step("create", "HostProvisioning", "okd-x", None, installation("m0", "m1", identities={"m0": NOT_KNOWN})),
    )
    assert found == [
        "!Switches off m0 and m1, where the machine is the one that its consent names.",
        "!Wipes `/dev/sda` of m0 (consent `SERIAL-m0`) and `/dev/sda` of m1 (consent `SERIAL-m1`), and installs them "
        "(control plane).",
    ]


def test_a_server_that_was_recorded_earlier_may_run_already() -> None:
    made = step("create", "HostProvisioning", "okd-x", None, installation("w0", role="compute"))
    assert sentences(made, consent={"w0": "CZJ1"}) == [
        "!Wipes `/dev/sda` of w0 (consent `CZJ1`), and installs it (compute); a server that runs from its disk "
        "already is only recorded."
    ]
    (line,) = sentences(made, consent={"w0": "[secret]"})
    assert line.startswith("!Wipes `/dev/sda` of w0, and installs it")


@pytest.mark.parametrize(
    ("hints", "disk"),
    [
        ({"model": "X5", "rotational": "true"}, "the disk with `model: X5, rotational: true`"),
        ({"deviceName": "/dev/sda", "hctl": "0:0:0:1"}, "the disk with `deviceName: /dev/sda, hctl: 0:0:0:1`"),
        ({}, "a disk"),
    ],
    ids=["hints", "two-hints", "no-hints"],
)
def test_a_disk_is_named_by_its_hints(hints: dict[str, str], disk: str) -> None:
    inputs = installation("w0", role="compute")
    inputs["hosts"]["w0"]["root_device"] = hints
    (line,) = sentences(step("create", "HostProvisioning", "okd-x", None, inputs))
    assert line.startswith(f"!Wipes {disk} of w0, and")


def test_only_a_new_line_of_reinstall_wipes_and_all_others_are_left_alone() -> None:
    old = installation("m0", "m1", "m2", reinstall={"m1": "uuid-m1"})
    new = installation("m0", "m1", "m2", reinstall={"m0": "uuid-m0", "m1": "uuid-m1"}, payload_sha256="b2")
    assert sentences(installs(old, new, "m0", "m1", "m2"), file("control-plane", "/etc/a", "1\n", "2\n")) == [
        "!Wipes `/dev/sda` of m0 (`reinstall` names `uuid-m0`), and installs it again (control plane).",
        "2 installed servers are not touched by this change to 1 file: m1, m2.",
    ]


def test_a_line_of_reinstall_for_a_host_without_a_record_installs_it_once() -> None:
    new = installation("m0", reinstall={"m0": "uuid-m0"})
    (line,) = sentences(installs(installation("m0"), new))
    assert line.startswith("!Wipes `/dev/sda` of m0, and installs it (control plane); a server that runs")


def test_another_machine_than_the_record_is_installed() -> None:
    new = installation("m0", identities={"m0": {"uuid": "uuid-of-another", "serial": ""}})
    (line,) = sentences(installs(installation("m0"), new, "m0"))
    assert line.startswith("!Wipes `/dev/sda` of m0, and installs it")


def test_a_new_consent_may_wipe_another_machine() -> None:
    host = step("update", "BmcHost", "okd-m0", bmc_host("m0"), bmc_host("m0", consent="NEW"))
    both = installs(installation("m0", "m1"), installation("m0", "m1", identities={"m0": NOT_KNOWN}), "m0", "m1")
    assert sentences(host, both, consent={"m0": "NEW", "m1": "SERIAL-m1"}) == [
        "!Switches off m0, where the BMC shows another machine than is recorded, and the new consent names it.",
        "!Wipes `/dev/sda` of m0 (consent `NEW`), where the BMC shows another machine than is recorded, and installs "
        "that (control plane).",
        "Probes the BMC of m0.",
    ]


def test_a_new_password_wipes_nothing_although_the_identity_is_not_known() -> None:
    host = step("update", "BmcHost", "okd-m0", bmc_host("m0"), bmc_host("m0", deadline_s=9))
    same = installs(installation("m0"), installation("m0", identities={"m0": NOT_KNOWN}), "m0")
    assert sentences(host, same) == ["No machine is changed.", "Probes the BMC of m0."]


def test_a_server_that_becomes_a_spare_and_a_spare_that_becomes_a_server() -> None:
    assert sentences(
        step("create", "BmcHost", "okd-h", None, bmc_host("h", spare=True, consent=""), inside="Spares"),
        step("delete", "BmcHost", "okd-h", bmc_host("h"), inside="Servers"),
    ) == [
        "!Switches off h, and gives it up; nothing on disks is deleted.",
        "Records h as spare, and leaves it as found.",
    ]
    assert sentences(
        step("create", "BmcHost", "okd-h", None, bmc_host("h"), inside="Servers"),
        step("delete", "BmcHost", "okd-h", bmc_host("h", spare=True), inside="Spares"),
    ) == ["!Switches off h, where the machine is the one that its consent names."]


def test_servers_of_a_cluster_whose_state_was_lost_run_on() -> None:
    assert sentences(step("create", "BmcHost", "okd-h", None, bmc_host("h", running=True))) == [
        "Records h without switching it off."
    ]


def test_probes_come_in_one_sentence_and_the_end_last() -> None:
    kinds = ("VipHeld", "OkdInstalled", "NetworkPreflight", "ProvisionerPreflight")
    assert sentences(*(step("create", kind, f"okd-{kind}", None, {}) for kind in kinds)) == [
        "No machine is changed.",
        "Probes the provisioner, the network and who holds the Ingress VIP.",
        "Waits until OKD reports that its installation is complete.",
    ]


def test_another_kind_of_resource_is_named() -> None:
    assert sentences(step("replace", "Volume", "okd-base", {"pool": "a"}, {"pool": "b"})) == [
        "!Deletes and creates again the Volume `okd-base`."
    ]


def test_the_three_steps_of_a_replacement_are_one() -> None:
    old, new = {"pool": "a"}, {"pool": "b"}
    steps = [
        step("delete-replaced", "Volume", "okd-base", old),
        step("replace", "Volume", "okd-base", old, new),
        step("create-replacement", "Volume", "okd-base", old, new),
    ]
    assert sentences(*steps) == sentences(steps[1])
