"""Every byte that machines read, of each kind of cluster. `make accept` rewrites it; review its diff as behaviour."""

import shutil
from pathlib import Path

import pytest

from assets.render import render
from cli.inspect.render import own_configs
from providers.rendered_asset.readers import run_readers
from testing import clusters
from testing.golden import (
    BASE,
    GOLDEN,
    REMOVED,
    REVIEWS,
    Tree,
    accepted_tree,
    base_of,
    difference,
    files_below,
    redundancies,
    store,
    stored_tree,
    whole,
)


def rendered(name: str) -> dict[str, bytes]:
    """Return a cluster's tree as it renders today."""
    folders = render(clusters.intent(name)).folders
    return {f"{folder}{file.path}": file.text.encode() for folder, files in folders.items() for file in files}


@pytest.mark.golden
@pytest.mark.parametrize("name", clusters.VARIANTS)
def test_rendered_trees_equal_the_golden_ones_byte_for_byte(name: str, accept_golden: bool) -> None:
    today = rendered(name)
    if accept_golden:
        # Against today's rehearsal, so that no tree depends on which one is accepted first.
        store(GOLDEN / name, difference(today, {} if name == BASE else rendered(BASE)))
    accepted = accepted_tree(name)
    assert sorted(today) == sorted(accepted), "files came or went: `make accept`, then review"
    changed = [path for path, content in today.items() if content != accepted[path]]
    for path in changed:
        assert today[path].decode() == accepted[path].decode(), f"{path} changed: `make accept`, then review"
    assert not changed


@pytest.mark.golden
@pytest.mark.parametrize("name", clusters.VARIANTS)
def test_a_golden_tree_repeats_nothing_of_the_rehearsals(name: str) -> None:
    assert list(redundancies(stored_tree(name), base_of(name))) == [], "run `make accept`"


@pytest.mark.golden
def test_every_golden_tree_belongs_to_a_cluster(accept_golden: bool) -> None:
    trees = {path.name for path in GOLDEN.iterdir() if path != REVIEWS}
    for name in trees - clusters.VARIANTS.keys() if accept_golden else ():
        shutil.rmtree(GOLDEN / name)
        trees.remove(name)
    assert trees == clusters.VARIANTS.keys()


FIRST: Tree = {"a": b"1", "b/c": b"2", "b/d": b"3"}


@pytest.mark.parametrize(
    ("tree", "stored"),
    [
        pytest.param(FIRST, {}, id="the-same"),
        pytest.param({**FIRST, "a": b"9"}, {"a": b"9"}, id="changed"),
        pytest.param({**FIRST, "e": b""}, {"e": b""}, id="added"),
        pytest.param({"b/c": b"2"}, {REMOVED: b"a\nb/d\n"}, id="removed"),
        pytest.param({"b/d": b"4", "e": b"5"}, {"b/d": b"4", "e": b"5", REMOVED: b"a\nb/c\n"}, id="all-of-it"),
    ],
)
def test_a_tree_is_stored_as_its_difference_and_read_back_whole(tree: Tree, stored: Tree, tmp_path: Path) -> None:
    (tmp_path / "left-from-before").touch()
    store(tmp_path, difference(tree, FIRST))
    assert files_below(tmp_path) == stored
    assert whole(files_below(tmp_path), FIRST) == tree
    assert list(redundancies(stored, FIRST)) == []


@pytest.mark.parametrize(
    ("stored", "lines"),
    [
        pytest.param({"a": b"1"}, ["a equals that of rehearsal"], id="repeated"),
        pytest.param(
            {"a": b"9", REMOVED: b"a\n"}, ["a is stored, and named in removed.txt"], id="stored-and-removed"
        ),
        pytest.param(
            {REMOVED: b"x\n"}, ["x is named in removed.txt, and rehearsal has no such file"], id="never-there"
        ),
        pytest.param({REMOVED: b"b/d\na\n"}, ["removed.txt is not sorted, one path per line"], id="unsorted"),
        pytest.param({REMOVED: b"a\na\n"}, ["removed.txt is not sorted, one path per line"], id="twice"),
        pytest.param({REMOVED: b""}, ["removed.txt is empty"], id="empty"),
    ],
)
def test_a_stored_difference_that_holds_too_much_is_found(stored: Tree, lines: list[str]) -> None:
    assert list(redundancies(stored, FIRST)) == lines


@pytest.mark.parametrize("name", clusters.VARIANTS)
def test_every_reader_accepts_every_tree(name: str) -> None:
    intent = clusters.intent(name)
    tree = render(intent)
    ours = {path: config.encode() for path, config in own_configs(intent, tree).items()}
    results = run_readers(tree.folders, ours)
    assert [refusal for result in results for refusal in result.refusals] == []
    # The readers of the two packages.txt: without any of them, the test would prove nothing.
    wanted = {"bash", "shellcheck"} | ({"haproxy", "keepalived"} if name in clusters.WITH_VIPS else set())
    assert all(each.checked for each in results if each.reader in wanted)
