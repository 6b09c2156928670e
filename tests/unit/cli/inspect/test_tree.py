"""The tree that `render` writes: the golden content with its modes, complete or not at all."""

import re
from pathlib import Path

import pytest

from assets.ignition import own_config
from assets.render import Rendered, render, render_bootstrap, render_role, render_server
from base.errors import ConfigError
from cli.inspect.render import own_configs, write_tree
from cluster.plan import ClusterPlan, Role
from providers.host_provisioning.model import HostProvisioningSpec
from testing.golden import BASE, accepted_tree, files_below

IGNITIONS = {
    "bootstrap.ign",
    *(f"hosts/okd-master-{number}/master.ign" for number in range(3)),
    *(f"hosts/okd-worker-{number}/worker.ign" for number in range(2)),
}


@pytest.fixture(scope="module")
def rendered(plan: ClusterPlan) -> Rendered:
    return render(plan)


def test_the_tree_has_the_golden_content_and_the_modes_of_the_machines(rendered: Rendered, tmp_path: Path) -> None:
    write_tree(tmp_path / "out", rendered.folders, {})
    assert files_below(tmp_path / "out") == accepted_tree(BASE)
    modes = {path: (tmp_path / "out" / path).stat().st_mode & 0o777 for path in accepted_tree(BASE)}
    keyfiles = {path: 0o600 for path in modes if path.endswith(".nmconnection")}
    others = {path: 0o755 if re.search("/usr/local/bin/|dispatcher", path) else 0o644 for path in modes}
    assert modes == others | keyfiles


def test_each_machine_has_the_ignition_that_the_program_composes(plan: ClusterPlan, rendered: Rendered) -> None:
    ours = own_configs(plan, rendered)
    assert ours.keys() == IGNITIONS
    assert ours["bootstrap.ign"] == own_config(render_bootstrap(plan))
    second = plan.control_plane[1]
    both = [*render_role(plan, Role.CONTROL_PLANE), *render_server(plan, second)]
    assert ours["hosts/okd-master-1/master.ign"] == own_config(both)
    for role in (role for role in Role if plan.of(role)):
        for name, config in HostProvisioningSpec.of(plan, role, rendered, "prod").own_ignition.items():
            assert ours[f"hosts/{name}/{role.pool}.ign"] == config.get_secret_value()


def test_only_the_owner_can_read_secret_files(rendered: Rendered, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_tree(out, rendered.folders, dict.fromkeys(IGNITIONS, b"secret"))
    assert out.stat().st_mode & 0o777 == 0o700
    assert {path: (out / path).read_bytes() for path in IGNITIONS} == dict.fromkeys(IGNITIONS, b"secret")
    assert {(out / path).stat().st_mode & 0o777 for path in IGNITIONS} == {0o600}


@pytest.mark.parametrize("name", [pytest.param("there", id="empty"), pytest.param("link", id="link-to-an-empty-one")])
def test_an_empty_directory_is_filled(rendered: Rendered, tmp_path: Path, name: str) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    write_tree(tmp_path / name, rendered.folders, {})
    assert files_below(tmp_path / "there") == accepted_tree(BASE)
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize(
    ("out", "line"),
    [
        pytest.param("full", "exists already. Fix: name another directory", id="content"),
        pytest.param("file", "exists already. Fix: name another directory", id="file"),
        pytest.param(
            "none/out",
            "cannot be written (No such file or directory). Fix: name a writable directory",
            id="no-parent",
        ),
        pytest.param(
            "file/out", "cannot be written (Not a directory). Fix: name a writable directory", id="parent-is-a-file"
        ),
    ],
)
def test_a_refused_folder_is_neither_overwritten_nor_left_behind(
    rendered: Rendered, tmp_path: Path, out: str, line: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").touch()
    (tmp_path / "file").touch()
    before = files_below(tmp_path)
    with pytest.raises(ConfigError) as caught:
        write_tree(tmp_path / out, rendered.folders, {})
    assert str(caught.value) == f"{tmp_path / out}: {line}"
    assert files_below(tmp_path) == before


def test_a_tree_that_cannot_be_written_completely_leaves_no_file(rendered: Rendered, tmp_path: Path) -> None:
    too_long = {f"hosts/{'x' * 300}/master.ign": b""}
    with pytest.raises(ConfigError) as caught:
        write_tree(tmp_path / "out", rendered.folders, too_long)
    line = f"{tmp_path / 'out'}: cannot be written (File name too long). Fix: name a writable directory"
    assert str(caught.value) == line
    assert list(tmp_path.iterdir()) == []
