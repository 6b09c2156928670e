"""Name the test files that the changes since a commit reach: those that import a changed file, or what imports it.

`make test` runs all tests; this finds the few that most changes need meanwhile. It reads imports only: what a test
starts or reads without importing it, such as a script or a page, is not found.
"""

import ast
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from testing.checkout import ROOT
from testing.git import files, git


def changed_files(since: str) -> set[str]:
    """Return the files that differ from the last commit that HEAD has in common with `since`, new ones included."""
    changed = git(ROOT, "diff", "--name-only", "--no-renames", git(ROOT, "merge-base", since, "HEAD"))
    return {*changed.splitlines(), *git(ROOT, "ls-files", "--others", "--exclude-standard").splitlines()}


def reached(changed: Iterable[str], sources: Mapping[str, str], folders: tuple[str, ...]) -> list[str]:
    """Return the test files below these folders that a change reaches.

    A file without code counts as all the code of its folder, or of the nearest one above that has code; a conftest.py
    as all below its folder.

    Args:
        changed: Paths of files, whether they are still there or not.
        sources: The code of each Python file, by its path.
        folders: Paths; each ends with a slash.
    """
    users: dict[str, set[str]] = {}
    for file, source in sources.items():
        for name in _imports(source):
            users.setdefault(name, set()).add(file)
    hit: set[str] = set()
    pending = {code for file in changed for code in _code_of(file, sources)}
    while pending:
        hit |= pending
        pending = {user for file in pending for user in users.get(_module(file), ())} - hit
    there = hit.intersection(sources)
    return sorted(file for file in there if file.startswith(folders) and Path(file).name.startswith("test_"))


def _code_of(file: str, sources: Mapping[str, str]) -> list[str]:
    if Path(file).name == "conftest.py":
        return [source for source in sources if Path(file).parent in Path(source).parents]
    if file.endswith(".py"):
        return [file]
    for folder in Path(file).parents[:-1]:
        if code := [source for source in sources if Path(source).parent == folder]:
            return code
    return []


def _module(file: str) -> str:
    return Path(file).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")


def _imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def main(since: str, folders: Collection[str]) -> int:
    """Print the test files below these folders that the changes since a commit reach; return the exit code."""
    sources = {name: (ROOT / name).read_text() for name in files(ROOT, "*.py")}
    print(*reached(changed_files(since), sources, tuple(f"{folder}/" for folder in folders)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
