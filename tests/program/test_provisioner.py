"""The provisioner's libvirt objects: the real SDK of pulumi-libvirt under Pulumi's mocks."""

import sys
from pathlib import Path
from typing import Any

import pytest

from boot_media.base_image import base_path
from components.provisioner import Provisioner, ProvisionerArgs
from testing import plans
from testing.checkout import PROGRAM, ROOT
from testing.install_configs import Change, from_network
from testing.plan_files import Files, as_it_is
from tests.program.graph import Graph, run

SHA256 = "0123456789ab" + "c" * 52
SOURCE = "https://mirror.example.com/coreos-qemu.qcow2"
VOLUME = "okd-base-0123456789ab.qcow2"
PROVIDER, POOL, NETWORK = "okd-provisioner", "okd-provisioner-pool", "okd-provisioner-baremetal"
NAMED = plans.options()["bootstrap"]
UNNAMED = {key: value for key, value in NAMED.items() if key != "base_volume"} | {"pool": "okd"}
LIBVIRT = {PROVIDER, POOL, VOLUME, NETWORK}


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def managed(sha256: str = SHA256, source: str = SOURCE) -> dict[str, Any]:
    image = {"source": source, "sha256": sha256}
    return {"bootstrap": UNNAMED, "provisioner": {"manage": True, "pool_path": "/srv/okd", "base_image": image}}


@pytest.fixture(scope="module", name="graphs")
def both_phases() -> dict[str, Graph]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        bootstrap = run(**managed())
        return {"bootstrap": bootstrap, "production": run(bootstrap, phase="production", **managed())}


@pytest.fixture
def bootstrap(graphs: dict[str, Graph]) -> Graph:
    return graphs["bootstrap"]


@pytest.fixture
def production(graphs: dict[str, Graph]) -> Graph:
    return graphs["production"]


def of_libvirt(graph: Graph) -> set[str]:
    return {name for name, each in graph.resources.items() if "libvirt" in each.token}


@pytest.mark.parametrize("phase", ["bootstrap", "production"])
def test_an_unmanaged_provisioner_works_without_pulumi_libvirt(monkeypatch: pytest.MonkeyPatch, phase: str) -> None:
    monkeypatch.setitem(sys.modules, "pulumi_libvirt", None)
    graph = run(phase=phase, import_production=True, bootstrap={**NAMED, "base_sha256": "ab" * 32})
    assert of_libvirt(graph) == set()
    assert "baremetal:provisioner:Provisioner" in graph.components
    for vm in graph.of("BootstrapVm"):
        assert {key: vm.inputs[key] for key in ("pool", "base_volume", "base_sha256", "network")} == {
            "pool": "default", "base_volume": NAMED["base_volume"], "base_sha256": "ab" * 32, "network": ""
        }  # fmt: skip


def test_the_vm_uses_the_managed_pool_volume_and_network(bootstrap: Graph) -> None:
    assert of_libvirt(bootstrap) == LIBVIRT
    vm = bootstrap.one("BootstrapVm")
    assert (vm.inputs["pool"], vm.inputs["base_volume"], vm.inputs["network"]) == ("okd", VOLUME, "baremetal")
    assert vm.inputs["base_sha256"] == SHA256


@pytest.mark.parametrize("phase", ["bootstrap", "production"])
def test_the_tokens_and_inputs_are_those_of_the_plugin(graphs: dict[str, Graph], phase: str) -> None:
    resources = graphs[phase].resources
    assert {name: (resources[name].token, resources[name].inputs) for name in LIBVIRT} == {
        PROVIDER: ("pulumi:providers:libvirt", {"uri": plans.plan().libvirt_uri}),
        POOL: ("libvirt:index/pool:Pool", {"name": "okd", "type": "dir", "target": {"path": "/srv/okd"}}),
        VOLUME: (
            "libvirt:index/volume:Volume",
            {"name": VOLUME, "pool": "okd", "source": str(base_path(SHA256)), "format": "qcow2"},
        ),
        NETWORK: (
            "libvirt:index/network:Network",
            {"name": "baremetal", "mode": "bridge", "bridge": "baremetal", "autostart": True},
        ),
    }


def test_the_libvirt_provider_waits_for_the_preflight(bootstrap: Graph) -> None:
    provider = bootstrap.resources[PROVIDER]
    assert bootstrap.after(provider) == {"okd-preflight"}
    for name in LIBVIRT - {PROVIDER}:
        assert bootstrap.resources[name].provider.startswith(f"{provider.urn}::"), name


def test_the_vm_depends_on_its_pool_volume_and_network(bootstrap: Graph) -> None:
    assert bootstrap.after(bootstrap.resources[VOLUME]) >= {POOL}
    assert bootstrap.after(bootstrap.one("BootstrapVm")) >= {POOL, VOLUME, NETWORK}


def test_libvirt_objects_are_deleted_before_they_are_replaced(bootstrap: Graph) -> None:
    assert {name for name in LIBVIRT if bootstrap.resources[name].goes_first} == LIBVIRT - {PROVIDER}


@pytest.mark.parametrize("phase", ["bootstrap", "production"])
def test_every_provider_accepts_its_inputs(graphs: dict[str, Graph], phase: str) -> None:
    assert graphs[phase].refused == []


def test_the_libvirt_objects_outlive_the_vm(bootstrap: Graph, production: Graph) -> None:
    assert production.of("BootstrapVm") == []
    assert of_libvirt(production) == LIBVIRT
    for name in LIBVIRT:
        assert production.resources[name].inputs == bootstrap.resources[name].inputs


def test_libvirt_objects_stay_deletable_and_a_destroy_stops_before_them(bootstrap: Graph) -> None:
    """Issue 40, 3: another image replaces the volume in production; the guard depends on it, so no destroy does."""
    graph = run(bootstrap, **managed(), phase="production", destroyable=False)
    assert not [name for name in LIBVIRT if graph.resources[name].protect]
    assert graph.after(graph.one("DestroyGuard")) >= LIBVIRT


def test_another_image_is_another_volume(bootstrap: Graph) -> None:
    changed = run(bootstrap, **managed("fedcba987654" + "0" * 52))
    assert changed.resources.keys() ^ bootstrap.resources.keys() == {VOLUME, "okd-base-fedcba987654.qcow2"}
    assert changed.one("BootstrapVm").inputs["base_volume"] == "okd-base-fedcba987654.qcow2"


def test_the_same_image_from_elsewhere_is_the_same_volume(bootstrap: Graph) -> None:
    changed = run(bootstrap, **managed(source="/srv/coreos-qemu.qcow2"))
    assert changed.resources.keys() == bootstrap.resources.keys()
    assert changed.resources[VOLUME].inputs["source"] == "/srv/coreos-qemu.qcow2"
    assert changed.resources[VOLUME].ignores == {"source"}


def test_a_volume_whose_upload_failed_is_made_anew(bootstrap: Graph) -> None:
    """The plugin cannot update a volume. "#initerror" is the engine's name for a resource that was made in part."""
    assert bootstrap.resources[VOLUME].replaced_on == {"#initerror"}


@pytest.mark.parametrize("phase", ["bootstrap", "production"])
def test_the_image_is_provided_whenever_its_volume_is_made(graphs: dict[str, Graph], phase: str) -> None:
    """N2, D1: in both phases, by hooks, which depend on no input."""
    volume = graphs[phase].resources[VOLUME]
    assert volume.hooks == {
        "before_create": ("okd-base-image",),
        "after_create": ("okd-uploaded",),
        "on_error": ("okd-not-uploaded",),
    }


def test_the_host_is_checked_before_whatever_changes_a_machine(graphs: dict[str, Graph]) -> None:
    """N5: a hook, because inputs that have not changed say nothing of the host and of the payload's age."""
    check = {"before_create": ("okd-preflight",), "before_update": ("okd-preflight",)}
    for graph in graphs.values():
        changing = {"BmcHost", "HostProvisioning", "BootstrapVm"} & {each.kind for each in graph.resources.values()}
        assert {each.kind for each in graph.resources.values() if each.hooks == check} == changing
        assert all(server.hooks == check for server in graph.of("BmcHost"))
        passed = ("okd-passed",)
        assert graph.one("ProvisionerPreflight").hooks == {"after_create": passed, "after_update": passed}


def test_the_state_of_the_vm_has_the_folder_of_its_pool(bootstrap: Graph) -> None:
    """N3: by it, a preview refuses another one. A pool of the operator has none, as in earlier states."""
    assert bootstrap.one("BootstrapVm").inputs["pool_path"] == "/srv/okd"
    assert bootstrap.one("ProvisionerPreflight").inputs["base_volume"] == VOLUME
    assert run().one("BootstrapVm").inputs.get("pool_path") is None


def test_only_the_provisioner_imports_pulumi_libvirt() -> None:
    roots = [ROOT / name for name in PROGRAM]
    files = [file for root in roots for file in ([root] if root.suffix else root.rglob("*.py"))]
    assert [file.name for file in files if "pulumi_libvirt" in file.read_text()] == ["provisioner.py"]


@pytest.mark.parametrize(
    ("change", "bridges"),
    [
        pytest.param(from_network(0, provisioningBridge="br-prov"), {"provisioning": "br-prov"}, id="the-vm-serves"),
        pytest.param(from_network(3, provisioningBridge="br-prov"), {}, id="the-control-plane-serves"),
        pytest.param(from_network(0, mode="Unmanaged", provisioningBridge="br-prov"), {}, id="the-site-serves"),
        pytest.param(as_it_is, {}, id="disabled"),
    ],
)
def test_each_bridge_that_the_vm_uses_is_a_network(tmp_path: Path, change: Change, bridges: dict[str, str]) -> None:
    plan = Files(tmp_path).plan(change, **managed())

    def declare() -> None:
        Provisioner("p", ProvisionerArgs(plan, []))

    declared = run(program=declare).of("Network")
    assert {each.inputs["name"]: each.inputs["bridge"] for each in declared} == {"baremetal": "baremetal", **bridges}
    assert {(each.inputs["mode"], each.inputs["autostart"]) for each in declared} == {("bridge", True)}
