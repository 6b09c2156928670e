"""The accepted trees below tests/golden: the whole tree of the rehearsal, and for other clusters the differences.

A difference has the files that differ, and in `removed.txt` those that only the rehearsal has.
"""

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from testing import plans
from testing.checkout import ROOT

GOLDEN = ROOT / "tests" / "golden"
BASE = plans.STACK
REMOVED = "removed.txt"
REVIEWS = GOLDEN / "review"
"""Outputs of `okd-baremetal review` for the changes of tests/e2e/test_review.py and tests/program/test_reviews.py."""

Tree = Mapping[str, bytes]
"""Contents by path."""


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a directory, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def difference(tree: Tree, base: Tree) -> dict[str, bytes]:
    """Return the stored difference of a tree to `base`."""
    stored = {path: content for path, content in tree.items() if base.get(path) != content}
    if removed := sorted(base.keys() - tree.keys()):
        stored[REMOVED] = "".join(f"{path}\n" for path in removed).encode()
    return stored


def whole(stored: Tree, base: Tree) -> dict[str, bytes]:
    """Return the whole tree of a stored difference to `base`."""
    own = {path: content for path, content in stored.items() if path != REMOVED}
    removed = _removed(stored)
    return {path: content for path, content in base.items() if path not in removed} | own


def redundancies(stored: Tree, base: Tree) -> Iterator[str]:
    """Yield each entry of a stored difference that is superfluous or contradictory."""
    removed = _removed(stored)
    for path, content in stored.items():
        if base.get(path) == content:
            yield f"{path} equals that of {BASE}"
        if path in removed:
            yield f"{path} is stored, and named in {REMOVED}"
    for path in removed:
        if path not in base:
            yield f"{path} is named in {REMOVED}, and {BASE} has no such file"
    if REMOVED in stored and stored[REMOVED] != "".join(f"{path}\n" for path in sorted(set(removed))).encode():
        yield f"{REMOVED} is not sorted, one path per line"
    if REMOVED in stored and not removed:
        yield f"{REMOVED} is empty"


def masked(review: str) -> str:
    """Return a review without the digests, which are of files with this run's certificates and folders."""
    own = re.sub("(?<=Digest of this preview: `)[0-9a-f]{64}", "DIGEST", review)
    return re.sub("[0-9a-f]{64}", "SHA256", own)


def check_review(name: str, found: str, accept: bool) -> None:
    """Compare a review, without its digests, with the golden one, or replace that."""
    file = REVIEWS / f"{name}.md"
    if accept:
        file.write_text(found)
    assert found == file.read_text(), "`make accept`, then review"


def stored_tree(name: str) -> dict[str, bytes]:
    """Return a cluster's files below tests/golden."""
    return files_below(GOLDEN / name)


def base_of(name: str) -> dict[str, bytes]:
    """Return the tree from which the stored one differs."""
    return {} if name == BASE else stored_tree(BASE)


def accepted_tree(name: str) -> dict[str, bytes]:
    """Return a cluster's whole accepted tree."""
    return whole(stored_tree(name), base_of(name))


def store(folder: Path, files: Tree) -> None:
    """Replace a directory by these files."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def _removed(stored: Tree) -> list[str]:
    return stored.get(REMOVED, b"").decode().splitlines()
