"""The tree is what the golden files have, with modes; all of it is written, or nothing."""

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from assets.tree import compose_all, folders_of, own_configs, write_tree

from assets.ignition import own_config
from cluster.plan import ClusterPlan
from providers.base.errors import AssetError
from testing import plans

GOLDEN = plans.ROOT / "tests" / "golden" / plans.STACK
PAYLOAD = {name: json.dumps({"ignition": {"version": "3.2.0"}, "of": name}).encode() for name in plans.PAYLOAD}
IGNITIONS = {
    "bootstrap.ign",
    *(f"hosts/okd-master-{number}/master.ign" for number in range(3)),
    *(f"hosts/okd-worker-{number}/worker.ign" for number in range(2)),
}


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def children(composed: bytes) -> list[Any]:
    merge = json.loads(composed)["ignition"]["config"]["merge"]
    return [json.loads(gzip.decompress(b64decode(child["source"].partition(";base64,")[2]))) for child in merge]


def test_it_is_what_was_accepted_with_the_modes_of_the_machines(plan: ClusterPlan, tmp_path: Path) -> None:
    write_tree(tmp_path / "out", folders_of(plan), {})
    assert contents(tmp_path / "out") == contents(GOLDEN)
    modes = {path: (tmp_path / "out" / path).stat().st_mode & 0o777 for path in contents(GOLDEN)}
    assert modes == {path: 0o755 if re.search("/usr/local/bin/|dispatcher", path) else 0o644 for path in modes}


def test_an_intent_without_consents_and_digests_is_rendered_as_the_plan(plan: ClusterPlan) -> None:
    stack = {name: plans.options()[name] for name in ("node_addresses", "bootstrap", "runtime")}
    assert folders_of(plans.intent(stack)) == folders_of(plan)


def test_each_machine_has_the_ignition_that_the_program_composes(plan: ClusterPlan) -> None:
    folders = folders_of(plan)
    ours = own_configs(plan, folders)
    composed = compose_all(PAYLOAD, ours)
    assert composed.keys() == IGNITIONS
    for path, config in composed.items():
        first, last = children(config)
        assert first["of"] == Path(path).stem
        assert last == json.loads(ours[path])
    assert ours["bootstrap.ign"] == own_config(folders["bootstrap"])
    both = [*folders["control-plane"], *folders["hosts/okd-master-1"]]
    assert ours["hosts/okd-master-1/master.ign"] == own_config(both)


def test_what_is_secret_is_for_its_owner_alone(plan: ClusterPlan, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_tree(out, folders_of(plan), dict.fromkeys(IGNITIONS, b"secret"))
    assert out.stat().st_mode & 0o777 == 0o700
    assert {path: (out / path).read_bytes() for path in IGNITIONS} == dict.fromkeys(IGNITIONS, b"secret")
    assert {(out / path).stat().st_mode & 0o777 for path in IGNITIONS} == {0o600}


@pytest.mark.parametrize("name", [pytest.param("there", id="empty"), pytest.param("link", id="link-to-an-empty-one")])
def test_an_empty_directory_is_filled(plan: ClusterPlan, tmp_path: Path, name: str) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    write_tree(tmp_path / name, folders_of(plan), {})
    assert contents(tmp_path / "there") == contents(GOLDEN)
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize(
    ("out", "why"),
    [
        pytest.param("full", "is there already; remove it, or name another directory", id="content"),
        pytest.param("file", "is there already; remove it, or name another directory", id="file"),
        pytest.param("none/out", "cannot be written (No such file or directory)", id="no-parent"),
        pytest.param("file/out", "cannot be written (Not a directory)", id="parent-is-a-file"),
    ],
)
def test_nothing_is_overwritten_and_nothing_is_left(plan: ClusterPlan, tmp_path: Path, out: str, why: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").touch()
    (tmp_path / "file").touch()
    before = contents(tmp_path)
    with pytest.raises(AssetError) as caught:
        write_tree(tmp_path / out, folders_of(plan), {})
    assert str(caught.value) == f"{tmp_path / out}: {why}"
    assert contents(tmp_path) == before


def test_a_tree_that_cannot_be_written_whole_leaves_nothing(plan: ClusterPlan, tmp_path: Path) -> None:
    too_long = {f"hosts/{'x' * 300}/master.ign": b""}
    with pytest.raises(AssetError, match=r"out: cannot be written \(File name too long\)"):
        write_tree(tmp_path / "out", folders_of(plan), too_long)
    assert list(tmp_path.iterdir()) == []
