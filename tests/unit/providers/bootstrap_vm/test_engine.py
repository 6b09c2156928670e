"""The bootstrap VM: when it is adopted, built, rebuilt or removed; a foreign VM is never touched."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from base.errors import HypervisorError, SegmentError
from providers.bootstrap_vm.engine import BootstrapVmEngine, NetworkProbes, base_taken_away
from providers.bootstrap_vm.model import BootstrapVmSpec, VmBase
from testing import clusters
from testing.fakes.clock import FakeClock
from testing.fakes.hypervisor import BASE, FakeHypervisor, Overlay
from testing.fakes.lan import FLOOD
from testing.progress import into
from wires.libvirt.hypervisor import Card, Domain, DomainSpec

NAME = "okd-bootstrap"
PROPS: dict[str, Any] = {
    "name": NAME,
    "owner": "okd-baremetal/lab",
    "libvirt_uri": "qemu:///system",
    "pool": "default",
    "base_volume": BASE,
    "bridge": "baremetal",
    "mac": "52:54:00:00:00:10",
    "disk_gib": 32.0,
    "memory_mib": 320.0,
    "vcpus": 1.0,
    "emulated": True,
    "vip": "192.0.2.5",
    "address": "192.0.2.20",
    "nodes": ["192.0.2.21"],
    "stack": "lab",
    "payload_sha256": "c" * 64,
    "ignition_sha256": "a" * 64,
    "ours": "{}",
    "deadline_s": 60.0,
}
"""Inputs as Pulumi's engine passes them: numbers are floats."""
SPEC = BootstrapVmSpec(**PROPS)


def spec_with(**changes: Any) -> BootstrapVmSpec:
    return BootstrapVmSpec(**{**PROPS, **changes})


CHANGED = spec_with(ignition_sha256="b" * 64)
STRANGER, NODE = "0a:00:00:00:00:01", "52:54:00:00:00:21"
IGNITION = b'{"ignition": {"version": "3.2.0"}}'
BUILT = [f"make {NAME}.qcow2", f"make {NAME}.ign", f"define {NAME}", f"start {NAME}"]


@dataclass
class Rig:
    """An engine, its hypervisor and its network."""

    vip_macs: frozenset[str] = frozenset()
    node: str | None = None
    running: str | None = None
    """Of a node: the address at which its kubelet listens."""
    installed: str | None = None
    """Of a node: the address at which it has come up before."""
    elsewhere: bool = False
    """Whether the VM runs under another libvirt."""
    clock: FakeClock = field(default_factory=FakeClock)
    lines: list[str] = field(default_factory=list)
    composed: int = 0
    hypervisor: FakeHypervisor = field(init=False)

    def __post_init__(self) -> None:
        self.hypervisor = FakeHypervisor(self.clock)

    def has(self, spec: BootstrapVmSpec = SPEC, *, running: bool = True, owner: str | None = None) -> "Rig":
        """Add an existing domain."""
        mark = spec.owner if owner is None else owner
        self.hypervisor.domains[NAME] = Domain(mark, spec.build if mark else "", running)
        self.hypervisor.volumes |= {f"{NAME}.qcow2": Overlay("", 0), f"{NAME}.ign": b""}
        return self

    @property
    def engine(self) -> BootstrapVmEngine:
        return BootstrapVmEngine(self.hypervisor, self.clock, into(self.lines))

    @property
    def network(self) -> NetworkProbes:
        macs = {SPEC.vip: self.vip_macs, **dict.fromkeys(SPEC.nodes, frozenset({NODE}))}
        if self.elsewhere:
            macs[SPEC.address] = frozenset({SPEC.mac})
        return NetworkProbes(
            lambda: self.node,
            lambda: self.running,
            lambda: self.installed,
            "/cache/installed",
            lambda address: macs.get(address, frozenset()),
        )

    def ensure(self, spec: BootstrapVmSpec = SPEC) -> list[str]:
        def ignition() -> bytes:
            self.composed += 1
            return IGNITION

        self.engine.ensure(spec, ignition, self.network)
        return self.hypervisor.calls

    def remove(self) -> None:
        self.engine.remove(SPEC, self.network)

    def refuses(self, spec: BootstrapVmSpec = SPEC) -> str:
        with pytest.raises(HypervisorError) as caught:
            self.ensure(spec)
        assert self.hypervisor.calls == []
        assert "\n" not in str(caught.value)
        return str(caught.value)


def test_a_missing_vm_is_built_and_started() -> None:
    rig = Rig()
    assert rig.ensure() == BUILT
    assert rig.hypervisor.volumes[f"{NAME}.ign"] == IGNITION
    assert rig.hypervisor.find(NAME) == Domain(SPEC.owner, SPEC.build, running=True)


def test_a_second_run_adopts_what_the_first_one_built() -> None:
    rig = Rig()
    rig.ensure()
    assert rig.ensure() == BUILT
    assert rig.composed == 1


def test_a_stopped_vm_is_started_and_not_rebuilt() -> None:
    rig = Rig().has(running=False)
    assert rig.ensure() == [f"start {NAME}"]
    assert rig.composed == 0


def test_a_vm_that_went_off_is_started_though_a_node_has_the_vip() -> None:
    """`cases/simulation` B: OKD cannot complete without it, nor etcd have its quorum (docs/adr/0069)."""
    for node in (None, "192.0.2.21"):
        assert Rig(frozenset({NODE}), node=node).has(running=False).ensure() == [f"start {NAME}"]


def test_a_vm_that_went_off_is_not_started_beside_a_stranger_with_the_vip() -> None:
    rig = Rig(frozenset({NODE, STRANGER})).has(running=False)
    assert f"already answered by {STRANGER}, wanted only the bootstrap VM" in rig.refuses()


def test_a_vm_that_has_to_be_built_is_not_while_a_node_has_the_vip() -> None:
    """A new disk is another cluster."""
    assert f"already answered by {NODE} (192.0.2.21), wanted" in Rig(frozenset({NODE})).refuses()
    changed = Rig(frozenset({NODE})).has(CHANGED, running=False).refuses()
    assert (
        ". Fix: if a node of this cluster has it, revert the change of the VM's configuration; else free " in changed
    )


def test_a_vm_that_somebody_removed_is_not_built_beside_its_control_plane() -> None:
    """Found by simulation (seed 1358): right after the VM has gone, no node has the VIP yet."""
    assert (
        Rig(node="192.0.2.21")
        .refuses()
        .startswith(
            f"{NAME}: it is gone, and 192.0.2.21 answers already. Fix: if that is a node of this cluster, go on "
        )
    )


def test_a_vm_that_is_gone_is_not_built_while_its_control_plane_is_off() -> None:
    """As after a power cut, or under another libvirt: what does not answer now is not gone."""
    assert Rig(installed="192.0.2.21").refuses() == (
        f"{NAME}: it is gone, and 192.0.2.21 of the control plane has run with it already, though it does not answer "
        "now. Fix: have it run, and go on to phase production once its API answers; if that never does, begin again "
        "with `pulumi destroy`; or, if no server of that cluster is left, remove from /cache/installed the marks "
        "with 192.0.2.21"
    )


def test_a_changed_vm_that_went_off_is_not_said_to_meet_a_stranger() -> None:
    """`free the address` would be no fix: it is a node's of this cluster, which needs the VM as it was."""
    line = Rig(frozenset({NODE}), node="192.0.2.21").has(running=False).refuses(CHANGED)
    assert ". Fix: revert the change of the VM, or go on to phase production; or begin again " in line


def test_on_platform_baremetal_a_vm_that_went_off_is_needed_no_more() -> None:
    """The nodes' keepalived does not hear it: both would answer the VIP."""
    vm = spec_with(balancer="operator")
    line = Rig(frozenset({NODE}), node="192.0.2.21").has(vm, running=False).refuses(vm)
    assert line.partition(" Fix: ")[2] == (
        "if 192.0.2.21, which answers, is of this cluster: go on to phase production, which needs no VM"
    )


def test_a_vm_that_never_ran_is_not_said_to_be_needed_no_more() -> None:
    """The node may be another cluster's, which phase production would take over."""
    assert "go on to phase production" not in Rig(frozenset({STRANGER}), node="192.0.2.21").refuses()


def test_a_running_vm_is_adopted_whichever_machine_holds_the_vip() -> None:
    assert Rig(frozenset({STRANGER}), node="192.0.2.21").has().ensure() == []


@pytest.mark.parametrize(
    ("owner", "wanted"),
    [("okd-baremetal/other", "okd-baremetal/other"), ("", "somebody else")],
    ids=["another-stack", "no-mark"],
)
@pytest.mark.parametrize("running", [True, False], ids=["running", "off"])
def test_a_foreign_domain_is_never_touched(owner: str, wanted: str, running: bool) -> None:
    rig = Rig().has(owner=owner, running=running)
    line = f"{NAME}: a domain of this name belongs to {wanted}, wanted okd-baremetal/lab. Fix: give one of the two"
    assert rig.refuses().startswith(line)
    assert rig.refuses(CHANGED).startswith(line)
    with pytest.raises(HypervisorError, match=line):
        rig.remove()
    assert rig.hypervisor.calls == []


@pytest.mark.parametrize(
    ("macs", "rig"),
    [
        pytest.param({STRANGER}, Rig(), id="build"),
        pytest.param({STRANGER, SPEC.mac}, Rig().has(CHANGED), id="build-again-beside-our-own"),
        pytest.param({STRANGER}, Rig().has(running=False), id="start"),
        pytest.param({STRANGER}, Rig().has(CHANGED), id="build-again"),
    ],
)
def test_no_vm_is_started_while_another_machine_answers_the_vip(macs: set[str], rig: Rig) -> None:
    rig.vip_macs = frozenset(macs)
    assert rig.refuses().startswith(
        f"API VIP 192.0.2.5: already answered by {STRANGER}, wanted only the bootstrap VM {SPEC.mac}. Fix: "
    )


def test_of_a_flood_of_answers_few_are_named() -> None:
    """S19."""
    rig = Rig()
    rig.vip_macs = FLOOD
    assert ", 23,886 more, wanted only the bootstrap VM" in rig.refuses()
    assert len(rig.refuses()) < 1000


def test_where_the_site_balances_the_claim_is_the_vms_own_address() -> None:
    rig = Rig(frozenset({STRANGER}))
    assert rig.refuses(spec_with(balancer="site")).startswith(
        f"address of the bootstrap VM 192.0.2.5: already answered by {STRANGER}, wanted only the bootstrap VM"
    )
    spec = BootstrapVmSpec.of(clusters.plan("balancer"), (), VmBase("default", "base.qcow2", "", ""), "o/p", "p")
    assert (spec.vip, spec.claim) == ("192.168.111.20", "address of the bootstrap VM")


@pytest.mark.parametrize(
    ("vip_macs", "answered"),
    [
        pytest.param({SPEC.mac}, "192.0.2.5", id="with-the-vip"),
        pytest.param({NODE}, "192.0.2.20", id="a-node-has-the-vip"),
        pytest.param({}, "192.0.2.20", id="nobody-has-the-vip"),
    ],
)
@pytest.mark.parametrize(
    "rig",
    [Rig(), Rig().has(running=False), Rig().has(CHANGED, running=False)],
    ids=["build", "start", "build-again"],
)
def test_a_vm_that_runs_elsewhere_gets_no_twin_and_is_not_forgotten(
    rig: Rig, vip_macs: Collection[str], answered: str
) -> None:
    """Two share a state, and each has a libvirt of its own: both would have the MAC, the addresses and the VIP."""
    rig.vip_macs, rig.elsewhere = frozenset(vip_macs), True
    assert rig.refuses() == (
        f"{NAME}: it does not run here, and its MAC {SPEC.mac} answers {answered}: it runs on another machine. Fix: "
        "run this on the provisioner that has started it; if that one is given up, end the VM there: "
        f"`virsh destroy {NAME}; virsh undefine {NAME}`"
    )
    with pytest.raises(HypervisorError, match="it runs on another machine"):
        rig.remove()
    assert rig.hypervisor.calls == []


def test_the_segment_is_not_asked_for_a_twin_of_a_vm_that_runs_here() -> None:
    rig = Rig().has()
    rig.engine.remove(SPEC, replace(rig.network, macs_of=lambda address: pytest.fail(f"{address} was asked")))
    assert rig.hypervisor.domains == {}


def test_a_state_of_an_earlier_release_has_no_address_of_the_vm() -> None:
    rig = Rig(elsewhere=True)
    assert rig.ensure(spec_with(address="")) == BUILT


def test_a_vm_is_removed_by_a_machine_that_has_no_such_bridge() -> None:
    def unasked(_: str) -> frozenset[str]:
        raise SegmentError("no interface")

    rig = Rig()
    rig.engine.remove(SPEC, replace(rig.network, macs_of=unasked))
    assert rig.lines == ["removed, with its volumes"]


@pytest.mark.parametrize("running", [True, False], ids=["running", "off"])
def test_a_changed_vm_is_refused_while_its_control_plane_is_off(running: bool) -> None:
    """Found by simulation (seed 50191), with a server that had just been switched on. As after a power cut."""
    rig = Rig(installed="192.0.2.21").has(running=running)
    assert rig.refuses(CHANGED) == (
        f"{NAME}: its configuration has changed, and 192.0.2.21 of the control plane has run with it already, "
        "though it does not answer now. Fix: revert the change of the VM, or go on to phase production; or begin "
        "again with `pulumi destroy`"
    )
    assert rig.ensure() == ([] if running else [f"start {NAME}"])


@pytest.mark.parametrize("sign", ["node", "running"])
def test_a_changed_vm_is_refused_while_the_control_plane_runs(sign: str) -> None:
    """Simulation, seed 20045: a server that has joined etcd needs the VM before its own API answers."""
    rig = Rig(**{sign: "192.0.2.21"}).has()  # type: ignore[arg-type]
    assert rig.refuses(CHANGED) == (
        f"{NAME}: its configuration has changed, and 192.0.2.21 of the control plane runs already. "
        "Fix: revert the change of the VM, or go on to phase production; or begin again with `pulumi destroy`"
    )


@pytest.mark.parametrize(
    ("running", "before"),
    [(True, [f"button {NAME}", f"undefine {NAME}"]), (False, [f"undefine {NAME}"])],
    ids=["running", "off"],
)
def test_a_changed_configuration_is_rebuilt_while_no_node_answers(running: bool, before: list[str]) -> None:
    rig = Rig(frozenset({SPEC.mac} if running else ())).has(running=running)
    assert rig.ensure(CHANGED) == [*before, *BUILT]
    assert rig.hypervisor.find(NAME) == Domain(SPEC.owner, CHANGED.build, running=True)


def test_a_vm_that_an_earlier_run_built_keeps_its_build() -> None:
    """Another digest here would rebuild every VM that runs now."""
    assert SPEC.build == "21fa053227f9a04c92d55b9ae15e72577a473689f8384c9e492850425882c480"


@pytest.mark.parametrize(("rig", "spec"), [(Rig(), SPEC), (Rig().has(), CHANGED)], ids=["build", "build-again"])
def test_an_unreadable_payload_leaves_everything_as_it_was(rig: Rig, spec: BootstrapVmSpec) -> None:
    def unreadable() -> bytes:
        raise HypervisorError("no payload")

    with pytest.raises(HypervisorError, match=r"^no payload$"):
        rig.engine.ensure(spec, unreadable, rig.network)
    assert rig.hypervisor.calls == []


def test_the_next_run_completes_a_killed_build() -> None:
    rig = Rig()
    rig.hypervisor.volumes |= {f"{NAME}.qcow2": Overlay("", 0), f"{NAME}.ign": b"half"}
    assert rig.ensure() == BUILT
    assert rig.hypervisor.volumes[f"{NAME}.ign"] == IGNITION


def test_a_missing_base_volume_is_an_error_before_anything_is_made() -> None:
    rig = Rig()
    del rig.hypervisor.volumes[BASE]
    assert BASE in rig.refuses()


@pytest.mark.parametrize("rig", [Rig(), Rig().has(CHANGED)], ids=["build", "build-again"])
def test_another_base_image_is_refused_before_anything_is_made(rig: Rig) -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert rig.refuses(spec_with(base_sha256="d" * 64)) == (
        f"base volume {BASE} of pool default: sha256 is {empty}, wanted {'d' * 64}. "
        "Fix: correct bootstrap.base_sha256, or name another volume in bootstrap.base_volume"
    )
    assert rig.refuses(spec_with(base_sha256="d" * 64, pool_path="/srv/okd")).endswith(
        f"Fix: `pulumi up --replace '**::{BASE}'`, which uploads it again"
    )


def test_a_base_image_with_the_wanted_digest_is_accepted() -> None:
    rig = Rig()
    rig.hypervisor.volumes[BASE] = b"coreos"
    assert rig.ensure(spec_with(base_sha256=hashlib.sha256(b"coreos").hexdigest())) == BUILT


def test_the_base_image_of_a_running_vm_is_not_read_again() -> None:
    assert Rig().has().ensure(spec_with(base_sha256="d" * 64)) == []


def test_a_removal_deletes_everything_but_the_base_volume() -> None:
    rig = Rig().has()
    for _ in range(2):
        rig.remove()
    assert rig.hypervisor.calls == [
        f"button {NAME}", f"undefine {NAME}", f"delete {NAME}.qcow2", f"delete {NAME}.ign"
    ]  # fmt: skip
    assert rig.hypervisor.domains == {}
    assert list(rig.hypervisor.volumes) == [BASE]


@pytest.mark.parametrize(
    ("running", "holds"),
    [
        pytest.param(True, True, id="the-cluster-would-lose-its-vip"),
        pytest.param(True, False, id="a-node-has-the-vip"),
        pytest.param(False, False, id="it-went-off"),
    ],
)
@pytest.mark.parametrize("sign", ["node", "running"])
def test_a_vm_that_no_handoff_has_ended_is_not_removed(running: bool, holds: bool, sign: str) -> None:
    """Whichever machine has the VIP, and before its API answers: OKD may need the VM, or etcd its disk.

    Seeds 1310, 1908 and 31822.
    """
    rig = Rig().has(running=running)
    rig.vip_macs = frozenset({SPEC.mac} if holds else ())
    setattr(rig, sign, "192.0.2.21")
    with pytest.raises(HypervisorError, match=r"no handoff has ended it, and 192\.0\.2\.21 .* runs already"):
        rig.remove()
    assert rig.hypervisor.calls == []


@pytest.mark.parametrize("running", [True, False], ids=["running", "off"])
def test_a_vm_is_not_removed_while_its_control_plane_is_off(running: bool) -> None:
    """As after a power cut: what does not answer now is not gone."""
    rig = Rig(installed="192.0.2.21").has(running=running)
    with pytest.raises(HypervisorError) as caught:
        rig.remove()
    assert str(caught.value) == (
        f"{NAME}: no handoff has ended it, and 192.0.2.21 of the control plane has run with it already, though it "
        "does not answer now. Fix: run `pulumi up` without --continue-on-error; if its name, pool or libvirtURI was "
        "changed, revert that first; or, if this cluster is given up, "
        f"`virsh destroy {NAME}; virsh undefine {NAME}`, and repeat the command"
    )
    assert rig.hypervisor.calls == []


def test_a_vm_without_a_control_plane_is_removed() -> None:
    rig = Rig().has()
    rig.vip_macs = frozenset({SPEC.mac})
    rig.remove()
    assert rig.hypervisor.domains == {}


def test_a_vm_that_the_handoff_has_ended_is_removed_beside_nodes() -> None:
    rig = Rig().has()
    del rig.hypervisor.domains[NAME]
    rig.node = rig.installed = "192.0.2.21"
    rig.remove()
    assert list(rig.hypervisor.volumes) == [BASE]


def test_the_next_run_completes_a_killed_removal() -> None:
    rig = Rig().has(running=False)
    del rig.hypervisor.domains[NAME], rig.hypervisor.volumes[f"{NAME}.qcow2"]
    rig.remove()
    assert rig.hypervisor.calls == [f"delete {NAME}.ign"]


def test_the_domain_has_the_vms_inputs_and_volumes() -> None:
    rig = Rig()
    rig.ensure(spec_with(network="uplink", emulated=False, memory_mib=512, vcpus=2))
    assert rig.hypervisor.defined[NAME] == DomainSpec(
        name=NAME,
        owner="okd-baremetal/lab",
        build=spec_with(network="uplink", emulated=False, memory_mib=512, vcpus=2).build,
        memory_mib=512,
        vcpus=2,
        emulated=False,
        disk=f"/default/{NAME}.qcow2",
        ignition=f"/default/{NAME}.ign",
        cards=(Card("52:54:00:00:00:10", "baremetal", "uplink"),),
    )


def test_the_vm_has_a_second_card_for_a_control_plane_that_network_boots() -> None:
    base = VmBase("default", "base.qcow2", "", "uplink", "provisioning")
    specs = {
        name: BootstrapVmSpec.of(clusters.plan(name), (), base, "o/p", "p")
        for name in ("managed", "unmanaged", "rehearsal")
    }
    seconds = {name: spec.provisioning and spec.provisioning.model_dump() for name, spec in specs.items()}
    card = {"mac": "52:54:00:ea:6c:2a", "bridge": "provisioning", "network": "provisioning"}
    assert seconds == {"managed": card, "unmanaged": None, "rehearsal": None}
    rig = Rig()
    rig.ensure(spec_with(provisioning=card))
    assert rig.hypervisor.defined[NAME].cards == (
        Card("52:54:00:00:00:10", "baremetal"),
        Card("52:54:00:ea:6c:2a", "provisioning", "provisioning"),
    )


def test_the_disk_is_an_overlay_of_the_base_volume_with_the_wanted_size() -> None:
    rig = Rig()
    rig.ensure(spec_with(disk_gib=7))
    assert rig.hypervisor.volumes[f"{NAME}.qcow2"] == Overlay(f"/default/{BASE}", 7)


MANAGED = spec_with(pool_path="/srv/okd")


@pytest.mark.parametrize(
    ("old", "new", "faults"),
    [
        pytest.param(MANAGED, MANAGED.changed(memory_mib=640, base_volume="next.qcow2"), [], id="another-image"),
        pytest.param(
            MANAGED, MANAGED.changed(pool_path="/srv/new"),
            ["provisioner.pool_path: /srv/new, was /srv/okd: the VM's disk is an overlay of "],
            id="path",
        ),
        pytest.param(MANAGED, MANAGED.changed(pool="new"), ["bootstrap.pool: new, was default: "], id="pool"),
        pytest.param(
            MANAGED, MANAGED.changed(libvirt_uri="qemu+ssh://root:pw@b/system"),
            ["platform.baremetal.libvirtURI: changed: "], id="host",
        ),
        pytest.param(
            MANAGED, MANAGED.changed(pool_path=None), ["provisioner.manage: false, but the VM's disk"], id="by-hand"
        ),
        pytest.param(MANAGED, MANAGED.changed(pool_path=None, pool="other"), [], id="by-hand-in-another-pool"),
        pytest.param(SPEC, SPEC.changed(pool="other", libvirt_uri="qemu:///session"), [], id="the-operators"),
        pytest.param(SPEC, MANAGED, [], id="managed-from-now-on"),
    ],
)  # fmt: skip
def test_the_base_is_not_taken_from_under_the_vm(
    old: BootstrapVmSpec, new: BootstrapVmSpec, faults: list[str]
) -> None:
    """N3: a pool that gets another folder or name is deleted first, with its volumes."""
    found = [str(fault) for fault in base_taken_away(old, new)]
    assert len(found) == len(faults)
    assert all(line.startswith(start) and ". Fix: write " in line for line, start in zip(found, faults, strict=True))
    assert "pw" not in "".join(found)
