"""The provider of `BootstrapVm`: its create, update, read and delete, over a hypervisor in memory."""

import base64
import gzip
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from base.errors import BusyError, HypervisorError, PayloadError
from base.lock import held
from providers import registered
from providers.bootstrap_vm import provider
from providers.bootstrap_vm.provider import BootstrapVmProvider
from providers.mark_file import Ended, MarkFile
from testing import payloads
from testing.fakes.clock import FakeClock
from testing.fakes.hypervisor import BASE, FakeHypervisor
from wires.bmc.client import Identity
from wires.libvirt.hypervisor import Domain

NAME = "okd-bootstrap"
URI = "qemu+ssh://root@kvm.example.com/system"
MAC, STRANGER = "52:54:00:00:00:10", "0a:00:00:00:00:01"
OURS = '{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/okd-baremetal/Corefile"}]}}'
CHANGED = OURS.replace("Corefile", "haproxy.cfg")
SYN_AGAIN_S = 1
"""Seconds after which Linux sends a lost SYN again."""
BUILT = [f"make {NAME}.qcow2", f"make {NAME}.ign", f"define {NAME}", f"start {NAME}"]


@dataclass
class FakeAdapters:
    """What the provider works with: a hypervisor, a segment, nodes."""

    vip_macs: frozenset[str] = frozenset()
    answering: tuple[str | tuple[str, int], ...] = ()
    """Nodes whose ports answer, or one of their ports."""
    clock: FakeClock = field(default_factory=FakeClock)
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Bridge and address of each probe of the segment."""
    tried: list[tuple[str, int]] = field(default_factory=list)
    """Node and port of each connection."""
    meeting: Barrier = field(default_factory=lambda: Barrier(1))
    """As many connections are open before one of them ends."""
    lost: int = 0
    """Number of the first answers that are lost on the segment."""
    unlocked: list[str] = field(default_factory=list)
    """URIs of connections to libvirt during which the domain's lock was free."""
    hypervisor: FakeHypervisor = field(init=False)

    def __post_init__(self) -> None:
        self.hypervisor = FakeHypervisor(self.clock)

    @contextmanager
    def connected(self, uri: str) -> Iterator[FakeHypervisor]:
        assert uri == URI
        try:
            with held(f"domain {NAME}", deadline_s=0):
                self.unlocked.append(uri)
        except BusyError:
            pass
        yield self.hypervisor

    def macs_on(self, bridge: str, address: str) -> frozenset[str]:
        self.asked.append((bridge, address))
        return self.vip_macs if len(self.asked) > self.lost else frozenset()

    def connect_problem(self, node: str, port: int, *, timeout_s: float) -> str | None:
        self.tried.append((node, port))
        self.meeting.wait(20)
        assert timeout_s > SYN_AGAIN_S
        return None if {node, (node, port)} & {*self.answering} else "ConnectionRefusedError"


class Now:
    """Stands in for `datetime`: an hour at which the payload's certificates are valid."""

    @staticmethod
    def now(_: object) -> Any:
        return payloads.NOW


@pytest.fixture
def adapters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lock_folder: Path) -> FakeAdapters:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    adapters = FakeAdapters()
    monkeypatch.setattr(provider, "connected", adapters.connected)
    monkeypatch.setattr("wires.segment.neighbours.macs_on", adapters.macs_on)
    monkeypatch.setattr(provider, "connect_problem", adapters.connect_problem)
    monkeypatch.setattr(provider, "SYSTEM_CLOCK", adapters.clock)
    monkeypatch.setattr(provider, "datetime", Now)
    return adapters


@pytest.fixture
def bootstrap_ign(payload: Path) -> bytes:
    """The bootstrap config of the stack's payload."""
    payload.mkdir(parents=True)
    content = payloads.payload()["bootstrap"]
    (payload / "bootstrap.ign").write_bytes(content)
    return content


@pytest.fixture
def props(bootstrap_ign: bytes) -> dict[str, Any]:
    """The inputs that Pulumi's engine passes: numbers are floats."""
    return {
        "__provider": "a pickle",
        "urn": f"a::urn::{NAME}",
        "name": NAME,
        "owner": "okd-baremetal/prod",
        "libvirt_uri": URI,
        "pool": "default",
        "base_volume": BASE,
        "base_sha256": "",
        "bridge": "baremetal",
        "network": "",
        "mac": MAC,
        "disk_gib": 32.0,
        "memory_mib": 2048.0,
        "vcpus": 2.0,
        "emulated": False,
        "vip": "192.0.2.5",
        "nodes": ["192.0.2.21", "192.0.2.22"],
        "stack": "prod",
        "payload_sha256": hashlib.sha256(bootstrap_ign).hexdigest(),
        "ignition_sha256": "a" * 64,
        "ours": OURS,
        "deadline_s": 60.0,
        "running": True,
    }


def children(config: bytes) -> list[bytes]:
    """Return the configs that a composed one merges, in order."""
    merged = json.loads(config)["ignition"]["config"]["merge"]
    assert [child["compression"] for child in merged] == ["gzip", "gzip"]
    return [gzip.decompress(base64.b64decode(child["source"].partition(",")[2])) for child in merged]


def ignition_of(adapters: FakeAdapters) -> bytes:
    content = adapters.hypervisor.volumes[f"{NAME}.ign"]
    assert isinstance(content, bytes)
    return content


def changed(props: dict[str, Any]) -> dict[str, Any]:
    return {**props, "ours": CHANGED, "ignition_sha256": "b" * 64}


class TestCreate:
    """The first `up`, or an `up` after the state was lost."""

    def test_it_builds_the_vm_and_starts_it(self, adapters: FakeAdapters, props: dict[str, Any]) -> None:
        created = BootstrapVmProvider().create(props)
        assert (created.id, created.outs) == (NAME, props)
        assert adapters.hypervisor.calls == BUILT
        domain = adapters.hypervisor.find(NAME)
        assert domain is not None
        assert (domain.owner, domain.running) == ("okd-baremetal/prod", True)

    def test_the_vm_boots_the_payloads_config_merged_with_the_rendered_one(
        self, adapters: FakeAdapters, props: dict[str, Any], bootstrap_ign: bytes
    ) -> None:
        BootstrapVmProvider().create(props)
        assert children(ignition_of(adapters)) == [bootstrap_ign, OURS.encode()]

    def test_a_vm_with_the_wanted_build_is_adopted(self, adapters: FakeAdapters, props: dict[str, Any]) -> None:
        BootstrapVmProvider().create(props)
        BootstrapVmProvider().create(props)
        assert adapters.hypervisor.calls == BUILT

    def test_the_vip_is_probed_on_the_bridge_of_the_vm(self, adapters: FakeAdapters, props: dict[str, Any]) -> None:
        adapters.vip_macs = frozenset({STRANGER})
        with pytest.raises(
            HypervisorError, match=rf"^API VIP 192\.0\.2\.5: already answered by {STRANGER} \(192\.0\.2\.21\), "
        ):
            BootstrapVmProvider().create(props)
        assert adapters.asked[0] == ("baremetal", "192.0.2.5")
        assert adapters.hypervisor.calls == []

    def test_several_silent_nodes_cost_one_wait(self, adapters: FakeAdapters, props: dict[str, Any]) -> None:
        nodes = [f"192.0.2.{at}" for at in range(21, 26)]
        adapters.meeting = Barrier(len(nodes))
        BootstrapVmProvider().create({**props, "nodes": nodes})
        assert {node for node, _ in adapters.tried} == {*nodes}

    def test_a_lost_answer_does_not_hide_the_machine_that_has_the_vip(
        self, adapters: FakeAdapters, props: dict[str, Any]
    ) -> None:
        adapters.vip_macs, adapters.lost = frozenset({STRANGER}), 1
        with pytest.raises(HypervisorError, match=r"already answered by"):
            BootstrapVmProvider().create(props)
        assert adapters.hypervisor.calls == []

    @pytest.mark.parametrize("there", [b"coreos", b"another image"], ids=["right", "wrong"])
    def test_the_digest_of_the_base_volume_is_compared(
        self, adapters: FakeAdapters, props: dict[str, Any], there: bytes
    ) -> None:
        coreos = "cce4a2de03e82358f0c511461103adb0ccf0e4517fdff3945131b060b4afe84e"
        adapters.hypervisor.volumes[BASE] = there
        if there == b"coreos":
            BootstrapVmProvider().create({**props, "base_sha256": coreos})
            assert adapters.hypervisor.calls == BUILT
            return
        with pytest.raises(HypervisorError, match=rf"^base volume {BASE} of pool default: .*, wanted {coreos}"):
            BootstrapVmProvider().create({**props, "base_sha256": coreos})
        assert adapters.hypervisor.calls == []

    def test_a_payload_with_another_digest_than_the_pinned_one_is_refused(
        self, adapters: FakeAdapters, props: dict[str, Any]
    ) -> None:
        with pytest.raises(PayloadError, match=rf"bootstrap\.ign: sha256 is .*, the stack pins {'d' * 64}"):
            BootstrapVmProvider().create({**props, "payload_sha256": "d" * 64})
        assert adapters.hypervisor.calls == []

    def test_an_expired_payload_is_refused(
        self, adapters: FakeAdapters, props: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Now, "now", lambda _: payloads.NOW + timedelta(days=1))
        with pytest.raises(PayloadError, match=r"bootstrap\.ign: useless since 2026-11-21 14:03 UTC"):
            BootstrapVmProvider().create(props)
        assert adapters.hypervisor.calls == []


class TestUpdate:
    """A later `up` with a changed input."""

    def test_a_changed_ignition_rebuilds_the_vm_while_no_node_answers(
        self, adapters: FakeAdapters, props: dict[str, Any], bootstrap_ign: bytes
    ) -> None:
        BootstrapVmProvider().create(props)
        adapters.hypervisor.calls.clear()
        updated = BootstrapVmProvider().update(NAME, props, changed(props))
        assert updated.outs == changed(props)
        assert adapters.hypervisor.calls == [f"button {NAME}", f"undefine {NAME}", *BUILT]
        assert children(ignition_of(adapters)) == [bootstrap_ign, CHANGED.encode()]
        assert [{*adapters.tried[at : at + 2]} for at in range(0, len(adapters.tried), 2)] == [
            {(node, port) for node in props["nodes"]} for port in (6443, 6443, 10250)
        ], "each node's API port was tried before each build, and its kubelet's before the second"

    def test_a_changed_ignition_is_refused_once_a_node_runs(
        self, adapters: FakeAdapters, props: dict[str, Any]
    ) -> None:
        BootstrapVmProvider().create(props)
        adapters.hypervisor.calls.clear()
        adapters.answering = (("192.0.2.22", 10250),)
        with pytest.raises(HypervisorError, match=r"has changed, and 192\.0\.2\.22 of the control plane runs"):
            BootstrapVmProvider().update(NAME, props, changed(props))
        assert adapters.hypervisor.calls == []
        assert adapters.hypervisor.domains[NAME].running

    def test_a_changed_ignition_is_refused_for_an_installed_node(
        self, adapters: FakeAdapters, props: dict[str, Any]
    ) -> None:
        BootstrapVmProvider().create(props)
        MarkFile.of("redfish://bmc", print).set(Ended(Identity("uuid", "serial"), "ab" * 32, "192.0.2.22"))
        with pytest.raises(HypervisorError, match=r"has changed, and 192\.0\.2\.22 of the control plane has run"):
            BootstrapVmProvider().update(NAME, props, changed(props))
        assert adapters.hypervisor.domains[NAME].running

    def test_a_change_that_a_running_vm_does_not_need_leaves_it_as_it_is(
        self, adapters: FakeAdapters, props: dict[str, Any]
    ) -> None:
        BootstrapVmProvider().create(props)
        adapters.answering = ("192.0.2.21",)
        BootstrapVmProvider().update(NAME, props, {**props, "nodes": ["192.0.2.21"], "deadline_s": 90.0})
        assert adapters.hypervisor.calls == BUILT

    def test_a_vm_that_was_turned_off_is_started_again(self, adapters: FakeAdapters, props: dict[str, Any]) -> None:
        BootstrapVmProvider().create(props)
        adapters.hypervisor.power_off(NAME)
        adapters.hypervisor.calls.clear()
        updated = BootstrapVmProvider().update(NAME, {**props, "running": False}, props)
        assert (updated.outs or {})["running"] is True
        assert adapters.hypervisor.calls == [f"start {NAME}"]

    @pytest.mark.parametrize("input_", ["name", "libvirt_uri", "pool"])
    def test_a_changed_name_host_or_pool_replaces_the_vm(self, props: dict[str, Any], input_: str) -> None:
        diff = BootstrapVmProvider().diff(NAME, props, {**props, input_: "other"})
        assert (diff.replaces, diff.delete_before_replace) == ([input_], True)

    def test_every_other_input_is_an_update(self, props: dict[str, Any]) -> None:
        others = {key: "other" for key in props if key not in ("name", "libvirt_uri", "pool")}
        assert BootstrapVmProvider().diff(NAME, props, {**props, **others}).replaces == []


class TestCheck:
    """The preview."""

    def test_a_preview_refuses_to_take_the_base_from_under_the_vm(self, props: dict[str, Any]) -> None:
        """N3: `pool_path` of a VM that is there."""
        old = {**props, "pool_path": "/srv/okd"}
        (failure,) = BootstrapVmProvider().check(old, {**old, "pool_path": "/srv/new"}).failures
        assert failure.reason.startswith("provisioner.pool_path: /srv/new, was /srv/okd: ")
        assert BootstrapVmProvider().check({}, {**old, "pool_path": "/srv/new"}).failures == []


class TestRead:
    """`pulumi refresh`."""

    @pytest.mark.parametrize("running", [True, False], ids=["on", "off"])
    def test_a_refresh_returns_the_power_as_an_input_so_that_up_corrects_it(
        self, adapters: FakeAdapters, props: dict[str, Any], running: bool
    ) -> None:
        adapters.hypervisor.domains[NAME] = Domain("okd-baremetal/prod", "", running)
        read = BootstrapVmProvider().read(NAME, props)
        given = {name: value for name, value in props.items() if name != "running"}
        assert (read.id, read.outs, read.inputs) == (
            NAME,
            {**props, "running": running},
            # N9: a VM that runs is no change.
            given if running else {**given, "running": False},
        )

    def test_a_vm_that_is_gone_stays_in_the_state_so_that_its_volumes_go_too(
        self, adapters: FakeAdapters, props: dict[str, Any]
    ) -> None:
        """`virsh undefine --remove-all-storage` leaves the volume with the Ignition config, which is secret."""
        BootstrapVmProvider().create(props)
        del adapters.hypervisor.domains[NAME]
        read = BootstrapVmProvider().read(NAME, props)
        assert read.id == NAME
        assert read.inputs
        assert read.outs
        assert read.inputs["running"] is False
        BootstrapVmProvider().delete(NAME, read.outs)
        assert list(adapters.hypervisor.volumes) == [BASE]


class TestDelete:
    """The end of phase `bootstrap`, or of the cluster."""

    def test_delete_removes_the_vm_and_its_volumes(self, adapters: FakeAdapters, props: dict[str, Any]) -> None:
        BootstrapVmProvider().create(props)
        BootstrapVmProvider().delete(NAME, props)
        assert adapters.hypervisor.domains == {}
        assert list(adapters.hypervisor.volumes) == [BASE]

    def test_delete_refuses_a_vm_that_no_handoff_has_ended(
        self, adapters: FakeAdapters, props: dict[str, Any]
    ) -> None:
        BootstrapVmProvider().create(props)
        adapters.answering = ("192.0.2.21",)
        with pytest.raises(HypervisorError, match=r"^okd-bootstrap: no handoff has ended it, and 192\.0\.2\.21 "):
            BootstrapVmProvider().delete(NAME, props)
        assert adapters.hypervisor.domains[NAME].running

    def test_delete_accepts_a_state_without_disk_gib_and_network(
        self, adapters: FakeAdapters, props: dict[str, Any]
    ) -> None:
        BootstrapVmProvider().create(props)
        for later in ("disk_gib", "network", "urn", "running"):
            del props[later]
        BootstrapVmProvider().delete(NAME, props)
        assert adapters.hypervisor.domains == {}


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda props: BootstrapVmProvider().create(props), id="create"),
        pytest.param(lambda props: BootstrapVmProvider().update(NAME, props, props), id="update"),
        pytest.param(lambda props: BootstrapVmProvider().delete(NAME, props), id="delete"),
    ],
)
def test_the_domain_is_locked_during_each_change(
    act: Callable[[dict[str, Any]], object], adapters: FakeAdapters, props: dict[str, Any]
) -> None:
    act(props)
    assert adapters.unlocked == []
    with held(f"domain {NAME}", deadline_s=0):
        """The lock is free afterwards."""


def test_a_refresh_needs_no_lock(adapters: FakeAdapters, props: dict[str, Any]) -> None:
    BootstrapVmProvider().read(NAME, props)
    assert adapters.unlocked == [URI]


@pytest.mark.parametrize(
    ("change", "is_new"),
    [
        pytest.param({}, False, id="none"),
        pytest.param({"deadline_s": 5.0, "running": False}, False, id="of-the-same-vm"),
        pytest.param({"memory_mib": 4096.0}, True, id="memory"),
        pytest.param({"libvirt_uri": "qemu:///system"}, True, id="libvirt"),
    ],
)
def test_a_preview_tells_whether_a_control_plane_gets_another_vm(
    props: dict[str, Any], change: dict[str, Any], is_new: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registered, "NEW_VM", {"192.0.2.21", "192.0.2.99"})
    BootstrapVmProvider().diff(NAME, props, {**props, **change})
    told = [node for node in ("192.0.2.21", "192.0.2.22", "192.0.2.99") if registered.gets_new_vm(node)]
    assert told == (["192.0.2.21", "192.0.2.22"] if is_new else []) + ["192.0.2.99"]
