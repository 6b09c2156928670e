"""The files of a preview: the changed lines, equal ones once with all machines that they reach; new files in full."""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from review.preview import SECRET, Preview, Step
from review.words import counted

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
    files = sorted((_copy(step), step) for step in preview.of("RenderedAsset"))
    changed = [(copy, step) for copy, step in files if step.operation in ("update", "replace")]
    new = [(copy, step) for copy, step in files if step.operation == "create"]
    removed = [copy for copy, step in files if step.operation == "delete"]
    return [*_changed(changed), *_new(new), *_removed(removed)]


def changed_files(preview: Preview) -> int:
    """Return how many files come or change."""
    return len({_copy(step) for step in preview.of("RenderedAsset") if step.operation != "delete"})


def _copy(step: Step) -> Copy:
    """Return path and machine of a file; its resource is named CLUSTER-FOLDER-FILE."""
    path = str((step.new or step.old)["path"])
    folder = step.name.removeprefix(f"{step.parent}-").removesuffix(f"-{path.rpartition('/')[2]}")
    return Copy(path, FOLDERS.get(folder, folder.removeprefix("hosts-")))


def _changed(files: Iterable[tuple[Copy, Step]]) -> Iterator[Shown]:
    by_hunk: dict[tuple[str, ...], list[Copy]] = {}
    secret = []
    for copy, step in files:
        if step.is_new("text") and _is_secret(step):
            secret.append(copy)
        for hunk in () if _is_secret(step) else _hunks(str(step.old["text"]), str(step.new["text"])):
            by_hunk.setdefault(hunk, []).append(copy)
    by_reach: dict[tuple[Copy, ...], list[str]] = {}
    for hunk, reach in by_hunk.items():
        by_reach.setdefault(tuple(reach), []).extend(("@@", *hunk))
    found = [Shown(reach, "changed", tuple(lines[1:])) for reach, lines in by_reach.items()]
    yield from sorted(
        [*found, *(Shown((copy,), "changed", secret=True) for copy in secret)], key=lambda each: each.reach
    )


def _new(files: Iterable[tuple[Copy, Step]]) -> Iterator[Shown]:
    by_text: dict[tuple[str, ...], list[Copy]] = {}
    for copy, step in files:
        text = SECRET if _is_secret(step) else str(step.new["text"])
        by_text.setdefault((copy.path, text), []).append(copy)
    for (_, text), reach in by_text.items():
        secret = text == SECRET
        yield Shown(tuple(reach), "new", () if secret else tuple(_lines(text)), secret)


def _removed(files: Iterable[Copy]) -> Iterator[Shown]:
    by_machine: dict[str, list[Copy]] = {}
    for copy in files:
        by_machine.setdefault(copy.machine, []).append(copy)
    for _, reach in sorted(by_machine.items()):
        yield Shown(tuple(reach), "removed", tuple(copy.path for copy in reach))


def _is_secret(step: Step) -> bool:
    return SECRET in (step.old.get("text"), step.new.get("text"))


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
