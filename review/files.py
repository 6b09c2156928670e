"""The files of a preview: the changed lines, equal ones once with all machines that they reach; new files in full."""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from providers.rendered_asset.model import RenderedAssetSpec
from review.preview import SECRET, Change, Preview
from review.text import counted

FOLDERS = {"bootstrap": "the bootstrap VM", "control-plane": "the control plane", "compute": "compute"}
CONTEXT = 3
"""Lines around a change, as `diff -u` shows."""


@dataclass(frozen=True, order=True)
class Copy:
    """A file of one machine, or of all machines of a role."""

    path: str
    machine: str


@dataclass(frozen=True)
class Shown:
    """Lines of files, and which files have them."""

    reach: tuple[Copy, ...]
    what: str
    """What becomes of the files: `new`, `changed`, `removed`."""
    lines: tuple[str, ...] = ()
    """None for a secret file; the paths of removed ones."""
    secret: bool = False

    @property
    def title(self) -> str:
        """The files and their machines, by path, in one line."""
        if self.what == "removed":
            return f"{counted(len(self.lines), 'file')} of {self.reach[0].machine}"
        machines: dict[str, list[str]] = {}
        for each in self.reach:
            machines.setdefault(each.path, []).append(each.machine)
        return "; ".join(f"`{path}` on {', '.join(names)}" for path, names in machines.items())

    @property
    def remark(self) -> str:
        """What a reader should know beside the lines."""
        if self.what == "removed":
            return "removed from the stack"
        if self.secret:
            return f"{self.what}; secret, so its lines are not shown"
        return f"{self.what}, {counted(len(self.lines), 'line')}" if self.what == "new" else ""


def shown(preview: Preview) -> list[Shown]:
    """Return all files that change: changed ones, then new ones, then those that no machine gets any more."""
    files = sorted(((_copy(each), each) for each in preview.of(RenderedAssetSpec)), key=lambda file: file[0])
    changed = [(copy, each.old, each.spec) for copy, each in files if each.old and "text" in each.step.changed]
    new = [(copy, each.spec) for copy, each in files if each.operation == "create"]
    removed = [copy for copy, each in files if each.operation == "delete"]
    return [*_changed(changed), *_new(new), *_removed(removed)]


def changed_files(preview: Preview) -> int:
    """Return how many files come or change."""
    return len({_copy(each) for each in preview.of(RenderedAssetSpec) if each.operation != "delete"})


def _copy(change: Change[RenderedAssetSpec]) -> Copy:
    """Return path and machine of a file; its resource is named CLUSTER-FOLDER-FILE."""
    path, step = change.spec.path, change.step
    folder = step.name.removeprefix(f"{step.parent}-").removesuffix(f"-{path.rpartition('/')[2]}")
    return Copy(path, FOLDERS.get(folder, folder.removeprefix("hosts-")))


def _changed(files: Iterable[tuple[Copy, RenderedAssetSpec, RenderedAssetSpec]]) -> Iterator[Shown]:
    by_hunk: dict[tuple[str, ...], list[Copy]] = {}
    secret = []
    for copy, old, new in files:
        if SECRET in (old.plain, new.plain):
            secret.append(copy)
        else:
            for hunk in _hunks(old.plain, new.plain):
                by_hunk.setdefault(hunk, []).append(copy)
    by_reach: dict[tuple[Copy, ...], list[str]] = {}
    for hunk, reach in by_hunk.items():
        by_reach.setdefault(tuple(reach), []).extend(("@@", *hunk))
    found = [Shown(reach, "changed", tuple(lines[1:])) for reach, lines in by_reach.items()]
    yield from sorted(
        [*found, *(Shown((copy,), "changed", secret=True) for copy in secret)], key=lambda each: each.reach
    )


def _new(files: Iterable[tuple[Copy, RenderedAssetSpec]]) -> Iterator[Shown]:
    by_text: dict[tuple[str, ...], list[Copy]] = {}
    for copy, spec in files:
        by_text.setdefault((copy.path, spec.plain), []).append(copy)
    for (_, text), reach in by_text.items():
        secret = text == SECRET
        yield Shown(tuple(reach), "new", () if secret else tuple(_lines(text)), secret)


def _removed(files: Iterable[Copy]) -> Iterator[Shown]:
    by_machine: dict[str, list[Copy]] = {}
    for copy in files:
        by_machine.setdefault(copy.machine, []).append(copy)
    for _, reach in sorted(by_machine.items()):
        yield Shown(tuple(reach), "removed", tuple(copy.path for copy in reach))


def _hunks(old: str, new: str) -> Iterator[tuple[str, ...]]:
    """Yield the changed lines with those around them, without line numbers: these differ between equal changes."""
    before, after = _lines(old), _lines(new)
    differ = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for group in differ.get_grouped_opcodes(CONTEXT):
        lines: list[str] = []
        for tag, first, last, begin, end in group:
            if tag == "equal":
                lines += [f" {line}" for line in before[first:last]]
            else:
                lines += [f"-{line}" for line in before[first:last]] + [f"+{line}" for line in after[begin:end]]
        yield tuple(lines)


def _lines(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [*lines, last, "\\ No newline at end of file"] if last else lines
