"""Every byte that machines read, of each kind of cluster. `make accept` rewrites it; review its diff as behaviour."""

import shutil
from pathlib import Path

import pytest
from assets.tree import folders_of, own_configs

from providers.rendered_asset.readers import ask_readers
from testing import clusters, plans

GOLDEN = plans.ROOT / "tests" / "golden"


def tree(name: str) -> dict[str, bytes]:
    """The golden tree as it would be written today."""
    folders = folders_of(clusters.plan(name))
    return {f"{folder}{file.path}": file.text.encode() for folder, files in folders.items() for file in files}


def accept(golden: Path, files: dict[str, bytes]) -> None:
    shutil.rmtree(golden, ignore_errors=True)
    for path, content in files.items():
        (golden / path).parent.mkdir(parents=True, exist_ok=True)
        (golden / path).write_bytes(content)


@pytest.mark.golden
@pytest.mark.parametrize("name", clusters.NAMES)
def test_renders_are_the_accepted_ones_byte_for_byte(name: str, accept_golden: bool) -> None:
    today, golden = tree(name), GOLDEN / name
    if accept_golden:
        accept(golden, today)
    accepted = {str(path.relative_to(golden)): path for path in golden.rglob("*") if path.is_file()}
    assert sorted(today) == sorted(accepted), "files came or went: `make accept`, then review"
    changed = [path for path, content in today.items() if content != accepted[path].read_bytes()]
    for path in changed:
        assert today[path].decode() == accepted[path].read_text(), f"{path} changed: `make accept`, then review"
    assert not changed


@pytest.mark.golden
def test_every_golden_tree_is_of_a_cluster(accept_golden: bool) -> None:
    for path in GOLDEN.iterdir() if accept_golden else ():
        if path.name not in clusters.VARIANTS:
            shutil.rmtree(path)
    assert {path.name for path in GOLDEN.iterdir()} == clusters.VARIANTS.keys()


@pytest.mark.parametrize("name", clusters.NAMES)
def test_every_reader_takes_every_tree(name: str) -> None:
    plan = clusters.plan(name)
    folders = folders_of(plan)
    ours = {path: config.encode() for path, config in own_configs(plan, folders).items()}
    verdicts = ask_readers(folders, ours)
    assert [refusal for verdict in verdicts for refusal in verdict.refusals] == []
    # Those of tools/packages.txt: were they all missing, nothing would be proven.
    assert all(each.judged for each in verdicts if each.reader in {"bash", "haproxy", "keepalived", "shellcheck"})
