"""The files of a preview: the changed lines, equal ones once with all machines that they reach; new files in full."""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cluster.values.role import BOOTSTRAP, Role
from providers.rendered_asset.model import RenderedAssetSpec
from review.preview import SECRET, Change, Preview
from review.text import counted

OF_ROLES: dict[str, str] = {
    Role.CONTROL_PLANE: "the control plane",
    Role.ARBITER: "the arbiter",
    Role.COMPUTE: "compute",
}
FOLDERS = {BOOTSTRAP: "the bootstrap VM", **OF_ROLES}
"""By folder, whose files it has; those of one host are in a folder of its own."""
CONTEXT = 3
"""Lines around a change, as `diff -u` shows."""


@dataclass(frozen=True, order=True)
class MachineFile:
    """A file of one machine, or of all machines of a role."""

    path: str
    machine: str


@dataclass(frozen=True)
class FileChange:
    """Changed lines, and the files that have them."""

    reach: tuple[MachineFile, ...]
    kind: str
    """`new`, `changed` or `removed`."""
    lines: tuple[str, ...] = ()
    """None for a secret file; the paths of removed ones."""
    secret: bool = False

    @property
    def title(self) -> str:
        """The files and their machines, by path, in one line."""
        if self.kind == "removed":
            return f"{counted(len(self.lines), 'file')} of {self.reach[0].machine}"
        machines: dict[str, list[str]] = {}
        for file in self.reach:
            machines.setdefault(file.path, []).append(file.machine)
        return "; ".join(f"`{path}` on {', '.join(names)}" for path, names in machines.items())

    @property
    def remark(self) -> str:
        """What a reader should know beside the lines."""
        if self.kind == "removed":
            return "removed from the stack"
        if self.secret:
            return f"{self.kind}; secret, so its lines are not shown"
        return f"{self.kind}, {counted(len(self.lines), 'line')}" if self.kind == "new" else ""


def file_changes(preview: Preview) -> list[FileChange]:
    """Return all files that change: changed ones, then new ones, then those that no machine gets any more."""
    changes = preview.of(RenderedAssetSpec)
    files = sorted(((_machine_file(change), change) for change in changes), key=lambda pair: pair[0])
    changed = [
        (file, change.old, change.spec) for file, change in files if change.old and "text" in change.step.changed
    ]
    new = [(file, change.spec) for file, change in files if change.operation == "create"]
    removed = [file for file, change in files if change.operation == "delete"]
    return [*_changed(changed), *_new(new), *_removed(removed)]


def count_changed_files(preview: Preview) -> int:
    """Return how many files come or change."""
    return len({_machine_file(change) for change in preview.of(RenderedAssetSpec) if change.operation != "delete"})


def machines_below(preview: Preview, folder: str) -> set[str]:
    """Return the machines with a file below a folder that comes, changes or goes."""
    files = map(_machine_file, preview.of(RenderedAssetSpec))
    return {file.machine for file in files if file.path.startswith(f"{folder}/")}


def _machine_file(change: Change[RenderedAssetSpec]) -> MachineFile:
    """Return path and machine of a file; its resource is named CLUSTER-FOLDER-FILE."""
    path, step = change.spec.path, change.step
    folder = step.name.removeprefix(f"{step.parent}-").removesuffix(f"-{path.rpartition('/')[2]}")
    return MachineFile(path, FOLDERS.get(folder, folder.removeprefix("hosts-")))


def _changed(files: Iterable[tuple[MachineFile, RenderedAssetSpec, RenderedAssetSpec]]) -> Iterator[FileChange]:
    by_hunk: dict[tuple[str, ...], list[MachineFile]] = {}
    secret = []
    for file, old, new in files:
        if SECRET in (old.plain, new.plain):
            secret.append(file)
        else:
            for hunk in _hunks(old.plain, new.plain):
                by_hunk.setdefault(hunk, []).append(file)
    by_reach: dict[tuple[MachineFile, ...], list[str]] = {}
    for hunk, reach in by_hunk.items():
        by_reach.setdefault(tuple(reach), []).extend(("@@", *hunk))
    plain = [FileChange(reach, "changed", tuple(lines[1:])) for reach, lines in by_reach.items()]
    masked = [FileChange((file,), "changed", secret=True) for file in secret]
    yield from sorted([*plain, *masked], key=lambda change: change.reach)


def _new(files: Iterable[tuple[MachineFile, RenderedAssetSpec]]) -> Iterator[FileChange]:
    by_text: dict[tuple[str, ...], list[MachineFile]] = {}
    for file, spec in files:
        by_text.setdefault((file.path, spec.plain), []).append(file)
    for (_, text), reach in by_text.items():
        secret = text == SECRET
        yield FileChange(tuple(reach), "new", () if secret else tuple(_lines(text)), secret)


def _removed(files: Iterable[MachineFile]) -> Iterator[FileChange]:
    by_machine: dict[str, list[MachineFile]] = {}
    for file in files:
        by_machine.setdefault(file.machine, []).append(file)
    for _, reach in sorted(by_machine.items()):
        yield FileChange(tuple(reach), "removed", tuple(file.path for file in reach))


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
