"""With the real engine and the whole program: what an update deletes that has skipped the handoff (docs/adr/0074)."""

from pathlib import Path

import pytest

from testing import plans
from testing.install_configs import bare
from testing.libvirt_nodes import uri_with
from testing.namespaces import in_own_network, ip, listening, needs_root, neighbour
from testing.previews import Project, settled
from testing.pulumi_env import forget

VM = plans.plan().bootstrap.name
NODE = str(plans.plan().control_plane[0].address)
AT_ONCE = ("--yes", "--skip-preview")


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A stack that has reached phase bootstrap, but for the installation of its control plane."""
    folder = tmp_path_factory.mktemp("kept")
    uri = uri_with(folder, VM, f"{plans.PROJECT}/{plans.STACK}")

    def elsewhere(project: Project) -> None:
        with project.install_config() as config:
            bare(config)["libvirtURI"] = uri

    project = settled(folder / "ready", "hunter2", elsewhere)
    forget(project.folder, "HostProvisioning::okd-control-plane")
    project.set(phase="production")
    return project


@needs_root
def test_an_update_that_skips_the_handoff_keeps_the_vm(ready: Project, tmp_path: Path) -> None:
    """Simulated histories 1310 and 1908: the control plane fails before the handoff, and deletions go on."""
    project = ready.copy(tmp_path / "project")

    def inside() -> None:
        ip("link add baremetal type bridge")
        ip("address add 192.168.111.1/24 dev baremetal")
        ip("link set baremetal up")
        with neighbour("baremetal", "port", "52:54:00:00:00:21", f"{NODE}/24") as node, listening(node, 6443):
            project.pulumi("up", *AT_ONCE, "--continue-on-error", fails=True)

    before = project.urn("BootstrapVm", "okd-bootstrap")
    in_own_network(inside)
    assert before in project.urns()
    log = project.log()
    assert f"{VM}: no handoff has ended it, and {NODE} of the control plane runs already" in log
    assert "VipHandoff" not in log


@needs_root
def test_a_destroy_on_another_provisioner_does_not_forget_the_vm(ready: Project, tmp_path: Path) -> None:
    """Its libvirt does not know the VM, which answers the VIP from the first one."""
    project = ready.copy(tmp_path / "project")
    host = ready.folder.parent / "node.xml"
    before = host.read_text()
    vm, mac = project.urn("BootstrapVm", "okd-bootstrap"), plans.plan().bootstrap.mac

    def inside() -> None:
        ip("link add baremetal type bridge")
        ip("address add 192.168.111.1/24 dev baremetal")
        ip("link set baremetal up")
        with neighbour("baremetal", "port", mac, f"{plans.plan().api.address}/24"):
            project.pulumi("destroy", *AT_ONCE, "--target", vm, "--target-dependents", fails=True)

    host.write_text(before.replace(VM, "of-another-cluster"))
    try:
        in_own_network(inside)
    finally:
        host.write_text(before)
    assert vm in project.urns()
    assert f"{VM}: it does not run here, and its MAC {mac} answers" in project.log()


@needs_root
def test_an_update_whose_first_error_ends_it_deletes_nothing(ready: Project, tmp_path: Path) -> None:
    """Without the option, no deletion is even asked for."""
    project = ready.copy(tmp_path / "project")
    project.pulumi("up", *AT_ONCE, fails=True)
    assert project.urn("BootstrapVm", "okd-bootstrap")
    assert "BootstrapVm" not in project.log()


def test_neither_replace_nor_taint_ends_a_machine(ready: Project, tmp_path: Path) -> None:
    """Pulumi would first make the new one, which takes the machine over; then delete the old one, which ends it."""
    project = ready.copy(tmp_path / "project")
    project.set(phase="bootstrap")
    server, handoff = project.urn("BmcHost", "okd-okd-master-0"), project.urn("VipHandoff", "okd-api")
    before = {*project.urns()}
    assert "a line of `reinstall`" in project.pulumi("up", *AT_ONCE, "--replace", server, fails=True)
    project.pulumi("state", "taint", handoff, "--yes")
    assert f"run `pulumi state untaint '{handoff}'`" in project.pulumi("up", *AT_ONCE, fails=True)
    project.pulumi("state", "untaint", handoff, "--yes")
    assert {*project.urns()} == before
    assert project.steps() == {"create HostProvisioning okd-control-plane"}
