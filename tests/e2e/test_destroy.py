"""A `pulumi destroy` by mistake, with the real engine: of a cluster in production, nothing is deleted."""

import copy
import re
import shlex
from pathlib import Path

import pytest

from testing import plans
from testing.documents import DOCS
from testing.previews import Project, settled
from testing.pulumi_env import edited_resources, forget, resources_of

PAGE = DOCS / "how-to" / "restore-a-control-plane.md"
AT_ONCE = ("--yes", "--skip-preview")
LOST = ("HostProvisioning::okd-control-plane", "VipHandoff::okd-api", "VipHeld::okd-ingress")


def with_a_spare(project: Project) -> None:
    with project.install_config() as config:
        hosts = config["platform"]["baremetal"]["hosts"]
        host = copy.deepcopy(hosts[-1]) | {"name": "okd-worker-2", "bootMACAddress": "52:54:00:11:10:1a"}
        host["bmc"]["address"] += "-2"
        hosts.append(host)


@pytest.fixture(scope="module")
def production(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A stack in production with a spare, and with OkdInstalled, the last resource that may have to go."""
    folder: Path = tmp_path_factory.mktemp("destroy") / "production"
    options = {"phase": "production", "import_production": True, "wait": "install", "destroyable": False}
    project = settled(folder, "hunter2", with_a_spare, **options)
    assert [urn for urn in project.urns() if "Spares$" in urn]
    assert [urn for urn in project.urns() if urn.endswith("OkdInstalled::okd-okd")]
    return project


def resources(project: Project) -> list[str]:
    """Return the URNs in the state but those of components, which stand for nothing outside of it."""
    return [urn for urn in project.urns() if "pulumi-python" in urn]


def test_a_mistaken_destroy_deletes_nothing_in_production(production: Project) -> None:
    """Issue 40, 3: 8 resources left the state, and 6 were refused. `--yes` makes a preview first, which refuses."""
    before = production.urns()
    for options in (["--yes"], [*AT_ONCE, "--continue-on-error"]):
        assert "DestroyGuard okd-d" in production.pulumi("destroy", *options, fails=True)
        assert production.urns() == before, options
    assert "no unprotected resources" in production.pulumi("destroy", "--yes", "--exclude-protected")
    assert production.urns() == before


def test_an_update_that_failed_leaves_what_it_reached_guarded(production: Project, tmp_path: Path) -> None:
    """The first `up` in production failed after the handoff: neither compute, VIPs nor the guard are in the state."""
    project = production.copy(tmp_path / "failed")
    ends = ("DestroyGuard::okd-destroy-guard", "OkdInstalled::okd-okd", LOST[2], "HostProvisioning::okd-compute")
    forget(project.folder, *ends)
    before = project.urns()
    project.pulumi("destroy", *AT_ONCE, fails=True)
    assert project.urns() == before


def test_ignore_protect_deletes_nothing_that_is_more_than_a_name(production: Project, tmp_path: Path) -> None:
    project = production.copy(tmp_path / "ignored")
    before = resources(project)
    text = project.pulumi("destroy", *AT_ONCE, "--ignore-protect", fails=True)
    assert "okd: the cluster is in production and not destroyable; no server was touched. Fix: to destroy it" in text
    assert resources(project) == before


def test_a_review_has_its_own_words_on_a_protected_server(production: Project, tmp_path: Path) -> None:
    """Issue 40, 10: Pulumi's `pulumi state unprotect` would give it up. An earlier release protected compute."""
    project = production.copy(tmp_path / "fewer")
    with edited_resources(project.folder) as state:
        (server,) = (each for each in state if each["urn"].endswith("BmcHost::okd-okd-worker-1"))
        server["protect"] = True
    with project.install_config() as config:
        config["compute"][0]["replicas"] = 1
    done = project.review()
    assert done.returncode == 2
    assert done.stderr.count("BmcHost okd-okd-worker-1: it would be deleted, but its cluster is in production") == 1
    assert "unprotect" not in done.stdout + done.stderr


def test_the_fix_of_a_refused_destroy_unprotects_everything(production: Project, tmp_path: Path) -> None:
    """The BMCs of this stack do not answer, so `destroy` ends half-way; recover.md has the way back from there."""
    project = production.copy(tmp_path / "destroyed")
    project.pulumi("config", "set", "destroyable", "true")
    project.pulumi("up", *AT_ONCE)
    assert [each["urn"] for each in resources_of(project.folder) if each.get("protect")] == []

    project.pulumi("destroy", *AT_ONCE, fails=True)
    assert not {each for each in LOST if any(urn.endswith(each) for urn in project.urns())}
    assert len([urn for urn in project.urns() if "BmcHost" in urn]) == len(plans.HOSTS)
    project.set(destroyable=False, import_production=False)
    assert "has lost a part of its state" in project.pulumi("preview", "--json", fails=True)
    project.set(import_production=True)
    assert {f"create {each.replace('::', ' ')}" for each in LOST} <= project.steps()


def test_a_cluster_whose_control_plane_is_lost_can_be_destroyed(production: Project, tmp_path: Path) -> None:
    """restore-a-control-plane.md: what makes it destroyable is an `up`, which fails before it gets to the guard."""
    project = production.copy(tmp_path / "lost")
    project.configure(deadlines={"host_s": 4000})  # an update of the control plane, which this host is not ready for
    (block,) = re.findall(r"```console\n(pulumi config set destroyable[^`]*)```", PAGE.read_text())
    make, up, guard, destroy = (
        line.removeprefix("pulumi ").replace("<cluster>", "okd") for line in block.splitlines()
    )
    project.pulumi(*shlex.split(make))
    project.pulumi(*shlex.split(up), *AT_ONCE, fails=True)
    before = resources(project)
    project.pulumi("destroy", *AT_ONCE, fails=True)
    assert resources(project) == before

    project.pulumi(*shlex.split(guard), *AT_ONCE)
    text = project.pulumi(*shlex.split(destroy), *AT_ONCE, fails=True)  # the BMCs of this stack do not answer
    assert "not destroyable" not in text
    left = {urn.split("::")[-2].rpartition(":")[2] for urn in resources(project)}
    assert "BmcHost" in left
    assert not left & {"DestroyGuard", *(each.partition("::")[0] for each in LOST)}
