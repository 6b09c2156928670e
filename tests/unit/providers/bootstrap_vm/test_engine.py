"""The bootstrap VM: what is adopted, built, built again and removed; and never somebody else's."""

import hashlib
from dataclasses import dataclass, field, replace
from xml.etree import ElementTree

import pytest

from providers.base.errors import HypervisorError
from providers.bootstrap_vm.engine import BootstrapVmEngine, Segment, Sources, VmSpec
from providers.bootstrap_vm.provider import BootstrapVmProvider
from testing.fakes.clock import FakeClock
from testing.fakes.hypervisor import BASE, FakeHypervisor
from wires.libvirt.connection import Found
from wires.libvirt.shutdown import BUTTON_AGAIN_S, stop

NAME = "okd-bootstrap"
SPEC = VmSpec(
    name=NAME,
    owner="okd-baremetal/lab",
    pool="default",
    base_volume=BASE,
    bridge="baremetal",
    mac="52:54:00:00:00:10",
    memory_mib=320,
    vcpus=1,
    emulated=True,
    ignition_sha256="a" * 64,
)
CHANGED = replace(SPEC, ignition_sha256="b" * 64)
IGNITION = b'{"ignition": {"version": "3.2.0"}}'
BUILT = [f"make {NAME}.qcow2", f"make {NAME}.ign", f"define {NAME}", f"start {NAME}"]
DEADLINE_S = 60


@dataclass
class Rig:
    """An engine, its hypervisor, and what its network shows."""

    vip_macs: frozenset[str] = frozenset()
    node: str | None = None
    clock: FakeClock = field(default_factory=FakeClock)
    lines: list[str] = field(default_factory=list)
    composed: int = 0
    base_sha256: str = ""
    hypervisor: FakeHypervisor = field(init=False)

    def __post_init__(self) -> None:
        self.hypervisor = FakeHypervisor(self.clock)

    def has(self, spec: VmSpec = SPEC, *, running: bool = True, owner: str | None = None) -> "Rig":
        """Have a domain there before."""
        mark = spec.owner if owner is None else owner
        self.hypervisor.domains[NAME] = Found(mark, spec.build if mark else "", running)
        self.hypervisor.volumes |= {f"{NAME}.qcow2": None, f"{NAME}.ign": b""}
        return self

    @property
    def engine(self) -> BootstrapVmEngine:
        return BootstrapVmEngine(self.hypervisor, self.clock, self.lines.append)

    @property
    def segment(self) -> Segment:
        return Segment("192.0.2.5", lambda: self.vip_macs, lambda: self.node)

    def ensure(self, spec: VmSpec = SPEC) -> list[str]:
        def ignition() -> bytes:
            self.composed += 1
            return IGNITION

        self.engine.ensure(spec, Sources(ignition, self.base_sha256), self.segment, deadline_s=DEADLINE_S)
        return self.hypervisor.calls

    def refuses(self, spec: VmSpec = SPEC) -> str:
        with pytest.raises(HypervisorError) as caught:
            self.ensure(spec)
        assert self.hypervisor.calls == []
        assert "\n" not in str(caught.value)
        return str(caught.value)


def test_a_vm_that_is_not_there_is_built_and_started() -> None:
    rig = Rig()
    assert rig.ensure() == BUILT
    assert rig.hypervisor.volumes[f"{NAME}.ign"] == IGNITION
    assert rig.hypervisor.find(NAME) == Found(SPEC.owner, SPEC.build, running=True)


def test_a_second_run_adopts_what_the_first_one_built() -> None:
    rig = Rig()
    rig.ensure()
    assert rig.ensure() == BUILT
    assert rig.composed == 1


def test_a_stopped_vm_is_started_not_built() -> None:
    rig = Rig().has(running=False)
    assert rig.ensure() == [f"start {NAME}"]
    assert rig.composed == 0


def test_a_running_vm_is_adopted_whoever_holds_the_vip() -> None:
    assert Rig(frozenset({"0a:00:00:00:00:01"}), node="192.0.2.21").has().ensure() == []


@pytest.mark.parametrize(
    ("owner", "said"),
    [("okd-baremetal/other", "belongs to okd-baremetal/other"), ("", "belongs to somebody else")],
    ids=["another-stack", "no-mark"],
)
@pytest.mark.parametrize("running", [True, False], ids=["running", "off"])
def test_a_foreign_domain_is_never_touched(owner: str, said: str, running: bool) -> None:
    rig = Rig().has(owner=owner, running=running)
    assert said in rig.refuses()
    assert said in rig.refuses(CHANGED)
    with pytest.raises(HypervisorError, match=said):
        rig.engine.remove(SPEC, rig.segment, deadline_s=DEADLINE_S)
    assert rig.hypervisor.calls == []


@pytest.mark.parametrize(
    ("macs", "rig"),
    [
        pytest.param({"0a:00:00:00:00:01"}, Rig(), id="build"),
        pytest.param({"0a:00:00:00:00:01", SPEC.mac}, Rig(), id="build-beside-our-own"),
        pytest.param({"0a:00:00:00:00:01"}, Rig().has(running=False), id="start"),
        pytest.param({"0a:00:00:00:00:01"}, Rig().has(CHANGED), id="build-again"),
    ],
)
def test_nothing_is_started_while_somebody_else_answers_the_vip(macs: set[str], rig: Rig) -> None:
    rig.vip_macs = frozenset(macs)
    said = rig.refuses()
    assert "API VIP 192.0.2.5: already answered by 0a:00:00:00:00:01, wanted nobody" in said


def test_its_own_mac_on_the_vip_is_no_stranger() -> None:
    assert Rig(frozenset({SPEC.mac})).has(running=False).ensure() == [f"start {NAME}"]


def test_a_changed_configuration_is_refused_while_the_control_plane_answers() -> None:
    rig = Rig(node="192.0.2.21").has()
    assert "configuration has changed, and 192.0.2.21 of the control plane answers" in rig.refuses(CHANGED)


@pytest.mark.parametrize(
    ("running", "before"),
    [(True, [f"button {NAME}", f"undefine {NAME}"]), (False, [f"undefine {NAME}"])],
    ids=["running", "off"],
)
def test_a_changed_configuration_is_built_while_no_node_answers(running: bool, before: list[str]) -> None:
    rig = Rig(frozenset({SPEC.mac})).has(running=running)
    assert rig.ensure(CHANGED) == [*before, *BUILT]
    assert rig.hypervisor.find(NAME) == Found(SPEC.owner, CHANGED.build, running=True)


@pytest.mark.parametrize(
    "change", ["memory_mib", "mac", "bridge", "base_volume", "emulated", "vcpus", "disk_gib", "network"]
)
def test_everything_a_running_vm_cannot_take_over_is_part_of_its_build(change: str) -> None:
    changed: dict[str, object] = {"memory_mib": 512, "vcpus": 2, "emulated": False, "disk_gib": 2}
    assert replace(SPEC, **{change: changed.get(change, "other")}).build != SPEC.build  # type: ignore[arg-type]


def test_a_vm_that_was_built_before_disk_gib_and_network_keeps_its_build() -> None:
    assert SPEC.build == "59a16fb908dbff76ed96d1728bed274b7316c89bd0015f665bdc75515dbd5085"


def test_a_payload_that_cannot_be_read_leaves_nothing_half_built() -> None:
    rig = Rig()

    def unreadable() -> bytes:
        raise HypervisorError("no payload")

    segment = Segment("192.0.2.5", lambda: rig.vip_macs, lambda: None)
    with pytest.raises(HypervisorError, match="no payload"):
        rig.engine.ensure(SPEC, Sources(unreadable, ""), segment, deadline_s=DEADLINE_S)
    assert rig.hypervisor.calls == []


def test_a_payload_that_cannot_be_read_keeps_the_vm_that_was_to_be_built_again() -> None:
    rig = Rig().has()

    def unreadable() -> bytes:
        raise HypervisorError("no payload")

    segment = Segment("192.0.2.5", lambda: rig.vip_macs, lambda: None)
    with pytest.raises(HypervisorError, match="no payload"):
        rig.engine.ensure(CHANGED, Sources(unreadable, ""), segment, deadline_s=DEADLINE_S)
    assert rig.hypervisor.calls == []


def test_a_killed_build_is_finished_by_the_next_run() -> None:
    rig = Rig()
    rig.hypervisor.volumes |= {f"{NAME}.qcow2": None, f"{NAME}.ign": b"half"}
    assert rig.ensure() == BUILT
    assert rig.hypervisor.volumes[f"{NAME}.ign"] == IGNITION


def test_a_missing_base_volume_is_an_error_before_anything_is_made() -> None:
    rig = Rig()
    del rig.hypervisor.volumes[BASE]
    assert BASE in rig.refuses()


@pytest.mark.parametrize(
    "rig", [Rig(base_sha256="d" * 64), Rig(base_sha256="d" * 64).has(CHANGED)], ids=["build", "build-again"]
)
def test_another_base_image_is_refused_before_anything_is_made(rig: Rig) -> None:
    said = rig.refuses()
    assert said.startswith(f"base volume {BASE} of pool default: sha256 is e3b0c442")
    assert f"wanted {'d' * 64}. Mend " in said


def test_the_base_image_of_the_digest_is_taken() -> None:
    rig = Rig(base_sha256=hashlib.sha256(b"coreos").hexdigest())
    rig.hypervisor.volumes[BASE] = b"coreos"
    assert rig.ensure() == BUILT


def test_the_base_image_of_a_running_vm_is_not_read_again() -> None:
    assert Rig(base_sha256="d" * 64).has().ensure() == []


def test_a_state_of_before_disk_gib_and_network_can_still_be_removed() -> None:
    # libvirt's own test driver: a hypervisor within this process.
    spec = {**vars(SPEC), "name": "of-long-ago", "memory_mib": 320.0, "vcpus": 1.0, "pool": "default-pool"}
    props = {**spec, "libvirt_uri": "test:///default", "deadline_s": 1.0, "urn": "", "running": True}
    props |= {"vip": "192.0.2.5", "nodes": []}
    del props["disk_gib"], props["network"]
    BootstrapVmProvider().delete("of-long-ago", props)


def test_a_removed_vm_leaves_nothing_and_the_base_volume_alone() -> None:
    rig = Rig().has()
    for _ in range(2):
        rig.engine.remove(SPEC, rig.segment, deadline_s=DEADLINE_S)
    assert rig.hypervisor.calls == [
        f"button {NAME}", f"undefine {NAME}", f"delete {NAME}.qcow2", f"delete {NAME}.ign"
    ]  # fmt: skip
    assert rig.hypervisor.domains == {}
    assert list(rig.hypervisor.volumes) == [BASE]


@pytest.mark.parametrize(
    ("running", "holds", "node", "refused"),
    [
        pytest.param(True, True, "192.0.2.21", True, id="the-cluster-would-lose-its-vip"),
        pytest.param(False, True, "192.0.2.21", False, id="the-handoff-has-ended-it"),
        pytest.param(True, False, "192.0.2.21", False, id="another-machine-has-the-vip"),
        pytest.param(True, True, None, False, id="there-is-no-cluster-yet"),
    ],
)
def test_a_vm_that_a_cluster_needs_is_not_removed(
    running: bool, holds: bool, node: str | None, refused: bool
) -> None:
    rig = Rig().has(running=running)
    rig.vip_macs, rig.node = frozenset({SPEC.mac} if holds else ()), node
    if refused:
        with pytest.raises(HypervisorError, match=r"it holds the API VIP, and 192\.0\.2\.21 .* answers already"):
            rig.engine.remove(SPEC, rig.segment, deadline_s=DEADLINE_S)
        assert rig.hypervisor.calls == []
    else:
        rig.engine.remove(SPEC, rig.segment, deadline_s=DEADLINE_S)
        assert rig.hypervisor.domains == {}


def test_a_removal_that_was_killed_in_the_middle_is_finished() -> None:
    rig = Rig().has(running=False)
    del rig.hypervisor.domains[NAME], rig.hypervisor.volumes[f"{NAME}.qcow2"]
    rig.engine.remove(SPEC, rig.segment, deadline_s=DEADLINE_S)
    assert rig.hypervisor.calls == [f"delete {NAME}.ign"]


@pytest.mark.parametrize(("emulated", "kind"), [(True, "qemu"), (False, "kvm")], ids=["emulated", "kvm"])
def test_the_domain_is_what_the_handoff_and_ignition_need(emulated: bool, kind: str) -> None:
    rig = Rig()
    rig.ensure(replace(SPEC, emulated=emulated, owner='p/"quoted" & <odd>'))
    root = ElementTree.fromstring(rig.hypervisor.xml[NAME])  # noqa: S314
    assert root.get("type") == kind
    entry = root.find("sysinfo[@type='fwcfg']/entry")
    assert entry is not None
    assert (entry.get("name"), entry.get("file")) == ("opt/com.coreos/config", f"/default/{NAME}.ign")
    channel = root.find("devices/channel/target")
    assert channel is not None
    assert channel.get("name") == "org.okd-baremetal.vip"
    mac, bridge = root.find("devices/interface/mac"), root.find("devices/interface/source")
    assert mac is not None
    assert bridge is not None
    assert (mac.get("address"), bridge.get("bridge")) == (SPEC.mac, SPEC.bridge)
    assert rig.hypervisor.domains[NAME].owner == 'p/"quoted" & <odd>'
    assert root.find("features/acpi") is not None


@pytest.mark.parametrize(
    ("network", "kind", "source"),
    [("", "bridge", {"bridge": "baremetal"}), ("uplink", "network", {"network": "uplink"})],
    ids=["bridge", "network"],
)
def test_its_nic_is_on_the_bridge_or_on_a_network_over_it(network: str, kind: str, source: dict[str, str]) -> None:
    rig = Rig()
    rig.ensure(replace(SPEC, network=network))
    (nic,) = ElementTree.fromstring(rig.hypervisor.xml[NAME]).iterfind("devices/interface")  # noqa: S314
    assert nic.get("type") == kind
    assert [each.attrib for each in nic.iterfind("source")] == [source]


def test_its_disk_is_as_large_as_wanted() -> None:
    rig = Rig()
    rig.ensure(replace(SPEC, disk_gib=7))
    capacity = ElementTree.fromstring(rig.hypervisor.xml[f"{NAME}.qcow2"]).find("capacity")  # noqa: S314
    assert capacity is not None
    assert (capacity.text, capacity.get("unit")) == ("7", "GiB")


def test_the_ignition_volume_is_for_nobody_else_s_eyes() -> None:
    rig = Rig()
    rig.ensure()
    volume = ElementTree.fromstring(rig.hypervisor.xml[f"{NAME}.ign"])  # noqa: S314
    assert volume.findtext("target/permissions/mode") == "0600"
    assert volume.findtext("capacity") == str(len(IGNITION))


def test_the_ignition_itself_is_nowhere_in_the_domain() -> None:
    rig = Rig()
    rig.ensure()
    assert IGNITION.decode() not in rig.hypervisor.xml[NAME]


def ended(rig: Rig, deadline_s: float = DEADLINE_S) -> bool:
    return stop(rig.hypervisor, NAME, deadline_s=deadline_s, clock=rig.clock, report=rig.lines.append)


def test_a_guest_that_shuts_down_is_not_forced() -> None:
    rig = Rig().has()
    assert ended(rig)
    assert rig.hypervisor.calls == [f"button {NAME}"]


def test_a_guest_that_ignores_its_button_is_forced_off_at_the_deadline() -> None:
    rig = Rig().has()
    rig.hypervisor.shuts_down_s = None
    start = rig.clock.now()
    assert not ended(rig)
    assert rig.hypervisor.calls == [f"button {NAME}"] * (DEADLINE_S // int(BUTTON_AGAIN_S)) + [f"plug {NAME}"]
    assert rig.clock.now() - start == DEADLINE_S
    assert not rig.hypervisor.domains[NAME].running
    assert "ignored its power button for 60 s; forced off" in rig.lines[-1]


def test_a_press_that_a_busy_guest_missed_is_repeated() -> None:
    rig = Rig().has()
    rig.hypervisor.presses_missed = 1
    assert ended(rig)
    assert rig.hypervisor.calls == [f"button {NAME}"] * 2


@pytest.mark.parametrize("rig", [Rig(), Rig().has(running=False)], ids=["not-there", "off"])
def test_what_does_not_run_needs_no_button(rig: Rig) -> None:
    assert ended(rig)
    assert rig.hypervisor.calls == []
