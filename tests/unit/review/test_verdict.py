"""The sentences on machines: each is derived from the steps, by the rules of the providers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assets.contract import CONNECTIONS
from base.spec import Spec
from cluster.options import Release
from cluster.plan import ClusterPlan, Role
from providers.bmc_host.model import BmcHostOuts
from providers.bootstrap_vm.model import BootstrapVmSpec
from providers.cluster_power.model import ClusterPowerSpec
from providers.cluster_upgrade.model import ClusterUpgradeSpec
from providers.host_provisioning.model import HostProvisioningSpec
from providers.network_preflight.model import NetworkPreflightSpec
from providers.okd_installed.model import OkdInstalledSpec
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.server_objects.model import ServerObjectsSpec
from providers.vip_held.model import VipHeldSpec
from review.document import page_of
from review.preview import read_preview
from testing import clusters, plans
from testing.install_configs import bare
from testing.plan_files import Files
from testing.preview_steps import (
    NOT_KNOWN,
    bmc_host,
    bootstrap_vm,
    file,
    handoff,
    installation,
    preview,
    records,
    step,
    step_of,
)
from wires.bmc.identity import MachineId

PLAN = plans.plan()
M0, M1, M2, W0, W1 = plans.HOSTS


def sentences(*steps: Mapping[str, Any], **options: Any) -> list[str]:
    """Return the verdict; a grave sentence begins with `!`."""
    page = page_of(read_preview(preview(*steps, **options), "a preview"), "prod")
    return [f"!{each.text}" if each.is_grave else each.text for each in page.verdict]


def made(plan: ClusterPlan, host: str, **more: Any) -> dict[str, Any]:
    return step("create", f"okd-{host}", None, bmc_host(plan, host), **more)


def installs(old: HostProvisioningSpec, new: HostProvisioningSpec, *installed: str) -> dict[str, Any]:
    return step("update", "okd-x", old, new, outs=records(PLAN, *installed))


def test_nothing_changes() -> None:
    assert sentences() == ["Nothing changes."]


def moved(cluster: str) -> dict[str, Any]:
    """Return the step on the handoff of one of `clusters.VARIANTS` when it goes to production."""
    before, after = clusters.plan(cluster), clusters.plan(cluster, phase="production")
    return step("update", "okd-api", handoff(before), handoff(after))


def test_the_vip_moves_only_from_phase_bootstrap_to_production() -> None:
    assert sentences(moved("rehearsal")) == [
        "Moves the API VIP `192.168.111.5` from the bootstrap VM to the control plane."
    ]
    later = [handoff(plans.plan(phase="production", handoff={"soak_s": number})) for number in (5, 6)]
    assert sentences(step("update", "okd-api", *later)) == [
        "No machine is changed.",
        "Checks who holds the API VIP.",
    ]
    (both,) = sentences(moved("dual-stack"))
    assert both.startswith("Moves the API VIP `192.168.111.5` and `fd2e::5` from ")


def test_what_saves_etcd_first_says_so() -> None:
    saved = {"snapshots": "/saved"}
    before, after = plans.plan(**saved), plans.plan(**saved, phase="production")
    first, _ = sentences(step("update", "okd-api", handoff(before), handoff(after)))
    assert first == "Saves etcd below `/saved` before the API VIP moves; without a snapshot, that is not begun."
    again = installation(plans.plan(**saved, phase="production", reinstall={"okd-master-0": "SERIAL-okd-master-0"}))
    first, *_ = sentences(installs(installation(after), again, M0, M1, M2))
    assert first == "Saves etcd below `/saved` before a server is wiped; without a snapshot, that is not begun."


def test_behind_a_balancer_of_the_site_no_vip_moves() -> None:
    assert sentences(moved("balancer")) == [
        "Ends the bootstrap VM once the control plane serves behind your balancer."
    ]


def test_behind_a_balancer_of_the_site_it_is_what_is_probed() -> None:
    plan = clusters.plan("balancer", phase="production")
    slower = clusters.plan("balancer", phase="production", handoff={"soak_s": 6})
    assert sentences(
        step("update", "okd-api", handoff(plan), handoff(slower)),
        step("create", "okd-ingress", None, VipHeldSpec.of(plan, plan.ingress.address)),
    ) == ["No machine is changed.", "Checks your balancer."]


VM = bootstrap_vm(PLAN)
REBUILT = (
    "!Builds the bootstrap VM `okd-bootstrap` again, with a new disk; if a server of the control plane runs "
    "already, `up` ends there with an error."
)


@pytest.mark.parametrize(
    ("operation", "old", "new", "sentence"),
    [
        ("create", None, VM, "Creates the bootstrap VM `okd-bootstrap`."),
        ("delete", VM, None, "!Deletes the bootstrap VM `okd-bootstrap`, with its disk."),
        (
            "replace",
            VM,
            bootstrap_vm(plans.plan(bootstrap={**plans.options()["bootstrap"], "pool": "q"})),
            "!Deletes the bootstrap VM `okd-bootstrap` with its disk, and builds it again.",
        ),
        (
            "update",
            VM,
            bootstrap_vm(plans.plan(handoff={"shutdown_s": 90})),
            "Starts the bootstrap VM `okd-bootstrap` if it is off.",
        ),
    ],
    ids=["create", "delete", "replace", "keep"],
)
def test_the_bootstrap_vm(
    operation: str, old: BootstrapVmSpec | None, new: BootstrapVmSpec | None, sentence: str
) -> None:
    assert sentences(step(operation, "okd-bootstrap", old, new)) == [sentence]


@pytest.mark.parametrize("name", ["memory_mib", "vcpus", "disk_gib"])
def test_another_size_rebuilds_the_bootstrap_vm(name: str) -> None:
    size = {name: getattr(PLAN.options.bootstrap, name) * 2}
    larger = bootstrap_vm(plans.plan(bootstrap={**plans.options()["bootstrap"], **size}))
    assert sentences(step("update", "okd-bootstrap", VM, larger)) == [REBUILT]


def test_another_ignition_config_rebuilds_the_bootstrap_vm() -> None:
    other = bootstrap_vm(plans.plan(payload={**plans.PAYLOAD, "bootstrap": "e5" * 32}))
    assert sentences(step("update", "okd-bootstrap", VM, other)) == [REBUILT]


def test_new_servers_are_switched_off_and_wiped_with_their_consent() -> None:
    compact = clusters.plan("compact")
    unknown = dict.fromkeys((M0, M1, M2), NOT_KNOWN)
    found = sentences(
        *(made(compact, host) for host in (M0, M1, M2)),
        step("create", "okd-x", None, installation(compact, identities=unknown)),
    )
    assert found == [
        f"!Switches off {M0}, {M1} and {M2}, where the machine is the one that its consent names.",
        f"!Wipes `/dev/vda` of {M0} (consent `SERIAL-{M0}`), `/dev/vda` of {M1} (consent `SERIAL-{M1}`) and "
        f"`/dev/vda` of {M2} (consent `SERIAL-{M2}`), and installs them (control plane).",
    ]


def test_a_server_that_was_recorded_earlier_may_run_already() -> None:
    created = step("create", "okd-x", None, installation(PLAN, Role.COMPUTE))
    assert sentences(created, consent={W0: "CZJ1", W1: "CZJ2"}) == [
        f"!Wipes `/dev/vda` of {W0} (consent `CZJ1`) and `/dev/vda` of {W1} (consent `CZJ2`), and installs them "
        "(compute); a server that runs from its disk already is only recorded."
    ]
    (line,) = sentences(created, consent={W0: "[secret]"})
    assert line.startswith(f"!Wipes `/dev/vda` of {W0} and `/dev/vda` of {W1}, and installs them")


@pytest.mark.parametrize(
    ("hints", "disk"),
    [
        ({"rootDeviceHints": {"model": "X5", "rotational": True}}, "the disk with `model: x5, rotational: true`"),
        (
            {"rootDeviceHints": {"deviceName": "/dev/sda", "hctl": "0:0:0:1"}},
            "the disk with `deviceName: /dev/sda, hctl: 0:0:0:1`",
        ),
        (
            {"rootDeviceHints": {"wwn": "0x6000C29E1B2C3D4E5F60718293A4B5C6"}},
            "the disk with `wwn: 0x6000c29e1b2c3d4e5f60718293a4b5c6`",
        ),
        ({}, "a disk with no hint (/dev/sda, else the smallest disk of at least 4 GiB)"),
    ],
    ids=["hints", "two-hints", "W02-wwn", "no-hints"],
)
def test_a_disk_is_named_by_its_hints(tmp_path: Path, hints: dict[str, Any], disk: str) -> None:
    def change(config: dict[str, Any]) -> None:
        del bare(config)["hosts"][3]["rootDeviceHints"]
        bare(config)["hosts"][3].update(hints)

    plan = Files(tmp_path).plan(change)
    (line,) = sentences(step("create", "okd-x", None, installation(plan, Role.COMPUTE)))
    assert line.startswith(f"!Wipes {disk} of {W0} and ")


def test_a_further_disk_that_may_be_wiped_is_named() -> None:
    named = plans.plan(wipe_disks={W0: ["S1", "S2"]})
    (line,) = sentences(step("create", "okd-x", None, installation(named, Role.COMPUTE)))
    assert line.startswith(f"!Wipes `/dev/vda`, and `S1` and `S2` if stale, of {W0} and `/dev/vda` of {W1}, and ")


def test_only_a_new_line_of_reinstall_wipes() -> None:
    old = installation(plans.plan(reinstall={M1: "u1"}))
    new = installation(plans.plan(reinstall={M0: "u0", M1: "u1"}, payload={**plans.PAYLOAD, "master": "b2" * 32}))
    assert sentences(installs(old, new, M0, M1, M2), file("control-plane", "/etc/a", "1\n", "2\n")) == [
        f"!Wipes `/dev/vda` of {M0} (`reinstall` names `u0`), and installs it again "
        "(control plane: 1 of its 3 servers, and only if etcd can do without).",
        f"2 installed servers are not touched by this change to 1 file: {M1}, {M2}.",
    ]


@pytest.mark.parametrize(
    ("old", "new"), [("vlan=7\n", "vlan=8\n"), (None, "[bond]\n"), ("[bond]\n", None)], ids=["changed", "new", "gone"]
)
def test_the_network_of_an_installed_server_stays_and_that_is_said_first(old: str | None, new: str | None) -> None:
    before, after = (installation(plans.plan(payload={**plans.PAYLOAD, "master": digit * 64})) for digit in "12")
    rest = "2 installed servers are not touched by this change"
    connection = file(f"hosts/{M0}", f"{CONNECTIONS}/bond0.nmconnection", old, new)
    found = sentences(installs(before, after, M0, M1), connection)
    assert found[0] == (
        f"!Leaves the network of {M0} as it is: it is installed, and `up` writes to no installed server. "
        "Only `reinstall` brings the connections below."
    )
    assert found[-1].startswith(rest)
    other = file(f"hosts/{M2}", f"{CONNECTIONS}/bond0.nmconnection", old, new)
    assert not any("Leaves" in line for line in sentences(installs(before, after, M0, M1), other))


def test_a_server_that_is_installed_again_in_production_leaves_etcd_first() -> None:
    old, new = (installation(plans.plan(phase="production", reinstall=lines)) for lines in ({}, {M0: f"SERIAL-{M0}"}))
    first, second, *_ = sentences(installs(old, new, M0, M1, M2))
    assert first == (
        f"!Removes the etcd member of {M0}, and deletes its node, once {M0} is off and all other members of etcd "
        "answer; ends when it is a member again."
    )
    assert second.startswith(f"!Wipes `/dev/vda` of {M0} (`reinstall` names `SERIAL-{M0}`)")


def test_a_server_that_joins_etcd_is_not_said_to_be_in_it() -> None:
    plan = plans.plan(phase="production")
    first, second, *_ = sentences(installs(installation(plan), installation(plan), M0, M1))
    assert first == (
        f"!Adds {M2} to etcd while all its members answer, and ends when that is done; what an interrupted run has "
        "left of it there is removed first."
    )
    assert second.startswith(f"!Wipes `/dev/vda` of {M2}")


def test_a_line_of_reinstall_for_a_host_without_a_record_installs_it_once() -> None:
    (line,) = sentences(installs(installation(PLAN), installation(plans.plan(reinstall={M0: "u0"})), M1, M2))
    assert line.startswith(f"!Wipes `/dev/vda` of {M0}, and installs it (control plane); a server that runs")


def test_another_machine_than_the_record_is_installed() -> None:
    new = installation(PLAN, identities={M0: MachineId(uuid="uuid-of-another")})
    (line,) = sentences(installs(installation(PLAN), new, M0, M1, M2))
    assert line == (
        f"!Wipes `/dev/vda` of {M0}, and installs it (control plane: 1 of its 3 servers, and only if etcd can do "
        "without); a server that runs from its disk already is only recorded."
    )


def test_a_new_consent_may_wipe_another_machine() -> None:
    consent = {**plans.CONSENT, M0: "NEW"}
    host = step("update", f"okd-{M0}", bmc_host(PLAN, M0), bmc_host(plans.plan(consent=consent), M0))
    both = installs(installation(PLAN), installation(PLAN, identities={M0: NOT_KNOWN}), M0, M1, M2)
    assert sentences(host, both, consent=consent) == [
        f"!Switches off {M0}, where the BMC shows another machine than is recorded, and the new consent names it.",
        f"!Wipes `/dev/vda` of {M0} (consent `NEW`), where the BMC shows another machine than is recorded, and "
        "installs that (control plane: 1 of its 3 servers, and only if etcd can do without).",
        f"Checks the BMC of {M0}.",
    ]


@pytest.mark.parametrize(
    "consent", ["6058DE92-E7E4-55E9-914D-943D53924E75", "6058de92e7e455e9914d943d53924e75", "cz1"]
)
def test_another_name_of_the_recorded_machine_allows_no_other(consent: str) -> None:
    recorded = BmcHostOuts(uuid="6058de92-e7e4-55e9-914d-943d53924e75", serial="CZ1")
    new = bmc_host(plans.plan(consent={**plans.CONSENT, M0: consent}), M0)
    same = installs(installation(PLAN), installation(PLAN, identities={M0: NOT_KNOWN}), M0, M1, M2)
    host = step("update", f"okd-{M0}", bmc_host(PLAN, M0), new, outs=recorded)
    assert sentences(host, same) == ["No machine is changed.", f"Checks the BMC of {M0}."]


def test_a_new_deadline_wipes_nothing_although_the_identity_is_not_known() -> None:
    host = step("update", f"okd-{M0}", bmc_host(PLAN, M0), bmc_host(plans.plan(deadlines={"bmc_s": 9}), M0))
    same = installs(installation(PLAN), installation(PLAN, identities={M0: NOT_KNOWN}), M0, M1, M2)
    assert sentences(host, same) == ["No machine is changed.", f"Checks the BMC of {M0}."]


def test_the_state_of_an_older_release_is_no_reason_to_ask_a_bmc() -> None:
    """It has neither the place of the login, nor whether the server is protected."""
    new = bmc_host(plans.plan(phase="production", destroyable=False), M0)
    old = new.changed(protected=False, bmc=new.bmc.changed(login=""))
    assert sentences(step("update", f"okd-{M0}", old, new)) == ["No machine is changed."]


def test_a_server_that_becomes_a_spare_and_a_spare_that_becomes_a_server() -> None:
    name, server, spare = f"okd-{W1}", bmc_host(PLAN, W1), bmc_host(clusters.plan("spares"), W1)
    assert sentences(
        step("create", name, None, spare, inside="Spares"), step("delete", name, server, inside="Servers")
    ) == [
        f"!Switches off {W1}, and gives it up; nothing on disks is deleted.",
        f"Records {W1} as spare, and leaves it as found.",
    ]
    assert sentences(
        step("create", name, None, server, inside="Servers"), step("delete", name, spare, inside="Spares")
    ) == [f"!Switches off {W1}, where the machine is the one that its consent names."]


def test_compute_that_leaves_is_drained_before_it_is_given_up() -> None:
    old = installation(PLAN, Role.COMPUTE)
    new = old.changed(hosts={W0: old.hosts[W0]})
    given_up = step("delete", f"okd-{W1}", bmc_host(PLAN, W1), None)
    drains = (
        f"!Cordons and drains {W1}, as far as PodDisruptionBudgets allow; then switches it off, and deletes its node."
    )
    assert sentences(installs(old, new, W0, W1), given_up) == [
        drains,
        f"!Switches off {W1}, and gives it up; nothing on disks is deleted.",
        f"1 installed server is not touched by this change: {W0}.",
    ]
    assert sentences(step("delete", "okd-compute", old, None), given_up)[0] != drains, "a destroy drains nothing"


def test_a_server_that_is_replaced_is_switched_off_twice() -> None:
    server = bmc_host(PLAN, W1)
    assert sentences(step("replace", f"okd-{W1}", server, server)) == [
        f"!Switches off {W1}, where the machine is the one that its consent names.",
        f"!Switches off {W1}, and gives it up; nothing on disks is deleted.",
    ]


def test_servers_of_a_cluster_whose_state_was_lost_run_on() -> None:
    found = plans.plan(phase="production", import_production=True)
    assert sentences(made(found, W0)) == [f"Records {W0} without switching it off."]


def test_probes_come_in_one_sentence_and_the_end_last() -> None:
    specs: list[Spec] = [
        VipHeldSpec.of(PLAN, PLAN.ingress.address),
        OkdInstalledSpec.of(PLAN, plans.STACK),
        NetworkPreflightSpec.of(PLAN),
        ProvisionerPreflightSpec.of(PLAN, plans.STACK, ()),
    ]
    assert sentences(*(step("create", f"okd-{number}", None, spec) for number, spec in enumerate(specs))) == [
        "No machine is changed.",
        "Checks the provisioner, the network and who holds the Ingress VIP.",
        "Waits until OKD reports that its installation is complete.",
    ]


def test_what_is_deleted_is_not_checked() -> None:
    specs: list[Spec] = [handoff(PLAN), VipHeldSpec.of(PLAN, PLAN.ingress.address), NetworkPreflightSpec.of(PLAN)]
    gone = [step("delete", f"okd-{number}", spec, None) for number, spec in enumerate(specs)]
    assert sentences(*gone) == ["No machine is changed."]


POWER = ClusterPowerSpec.of(plans.plan(phase="production"), plans.STACK)
ASLEEP = POWER.changed(power="off", snapshots="/srv/etcd")


def test_a_cluster_that_goes_to_sleep_or_wakes_names_each_server_in_order() -> None:
    masters, workers = "okd-master-0, okd-master-1 and okd-master-2", "okd-worker-0 and okd-worker-1"
    assert sentences(step("update", "okd-power", POWER, ASLEEP)) == [
        "Saves etcd below `/srv/etcd` before a server goes off; without a snapshot, none does.",
        f"!Puts the cluster to sleep: cordons all nodes, and shuts down {workers}, then {masters}.",
    ]
    wakes = f"Wakes the cluster: switches on {masters}, then {workers}; {{}}uncordons what it has cordoned."
    assert sentences(step("update", "okd-power", ASLEEP, POWER)) == [
        wakes.format("approves what their kubelets request, and ")
    ]
    by_hand = POWER.changed(approve_certificates=False)
    assert sentences(step("update", "okd-power", ASLEEP, by_hand)) == [wakes.format("")]
    assert sentences(step("create", "okd-power", None, POWER)) == ["No machine is changed."]
    moved = ASLEEP.changed(passwords=dict.fromkeys(POWER.hosts, "new"))
    assert sentences(step("update", "okd-power", ASLEEP, moved)) == ["No machine is changed."]


def test_a_compact_cluster_that_sleeps_has_only_its_control_plane() -> None:
    on = ClusterPowerSpec.of(clusters.plan("compact", phase="production"), plans.STACK)
    masters = "okd-master-0, okd-master-1 and okd-master-2"
    (sleeps,) = sentences(step("update", "okd-power", on, on.changed(power="off")))
    assert sleeps == f"!Puts the cluster to sleep: cordons all nodes, and shuts down {masters}."
    (wakes,) = sentences(step("update", "okd-power", on.changed(power="off"), on))
    assert wakes.startswith(f"Wakes the cluster: switches on {masters}; ")


def test_objects_of_servers_are_made_and_those_of_one_that_leaves_go() -> None:
    spec = ServerObjectsSpec.of(PLAN, plans.STACK)
    without = "or repairs them; none has a `bmc`, so that metal3 touches no server."
    made = f"Makes the BareMetalHosts and Machines of {{}}, {without}"
    assert sentences(step("create", "okd-objects", None, spec)) == [made.format("5 servers")]
    fewer = spec.changed(objects={name: own for name, own in spec.objects.items() if "worker-1" not in name})
    assert sentences(step("update", "okd-objects", spec, fewer)) == [
        made.format("4 servers"),
        "!Deletes BareMetalHost and Machine of okd-worker-1: OKD drains and deletes the node if it is still there.",
    ]
    none = spec.changed(objects={name: own for name, own in spec.objects.items() if "worker" not in name})
    *_, both = sentences(step("update", "okd-objects", spec, none))
    assert both.startswith("!Deletes BareMetalHost and Machine of okd-worker-0 and okd-worker-1: ")
    assert sentences(step("delete", "okd-objects", spec, None)) == [
        "Leaves the BareMetalHosts and Machines to the cluster."
    ]


def test_an_upgrade_is_grave_and_names_version_image_and_snapshot() -> None:
    release = Release(version="4.21.3", image=f"quay.io/okd/scos-release@sha256:{'5e' * 32}")
    spec = ClusterUpgradeSpec.of(plans.plan(snapshots="/srv/etcd"), plans.STACK, release)
    said = f"!Upgrades OKD to `4.21.3`, image `sha256:{'5e' * 32}` of `quay.io/okd/scos-release`: "
    assert sentences(step("create", "okd-upgrade", None, spec)) == [
        "Saves etcd below `/srv/etcd` before OKD is upgraded; without a snapshot, that is not begun.",
        f"{said}one node after the other restarts, and no cluster goes back.",
    ]
    assert sentences(step("delete", "okd-upgrade", spec, None)) == ["No machine is changed."]


def test_another_kind_of_resource_is_named() -> None:
    assert sentences(step_of("replace", "Volume", "okd-base", {"pool": "a"}, {"pool": "b"})) == [
        "!Deletes and creates again the Volume `okd-base`."
    ]


def test_the_three_steps_of_a_replacement_are_one() -> None:
    old, new = {"pool": "a"}, {"pool": "b"}
    steps = [
        step_of("delete-replaced", "Volume", "okd-base", old, None),
        step_of("replace", "Volume", "okd-base", old, new),
        step_of("create-replacement", "Volume", "okd-base", old, new),
    ]
    assert sentences(*steps) == sentences(steps[1])
