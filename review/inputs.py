"""The other inputs that change: name, old and new value, and the resources that have them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from review.preview import SECRET, Preview, Step


@dataclass(frozen=True)
class InputChange:
    """A value that changes, equally in all resources that have it."""

    name: str
    old: Any
    new: Any
    resources: tuple[str, ...]


def input_changes(preview: Preview) -> list[InputChange]:
    """Return the values that change in resources that stay, by name. The text of a file is not among them."""
    changes: dict[tuple[str, str, str], tuple[Any, Any, list[str]]] = {}
    for step in preview.steps:
        for name, old, new in _changes(step):
            _, _, resources = changes.setdefault((name, repr(old), repr(new)), (old, new, []))
            resources.append(step.name)
    return [
        InputChange(name, old, new, tuple(sorted(resources)))
        for (name, _, _), (old, new, resources) in sorted(changes.items(), key=lambda change: change[0])
    ]


def _changes(step: Step) -> Iterator[tuple[str, Any, Any]]:
    if step.operation not in ("update", "replace"):
        return
    for name in step.changed:
        if step.kind == "RenderedAsset" and name == "text":
            continue
        old, new = step.old.get(name), step.new.get(name)
        if old == new == SECRET:
            yield name, SECRET, SECRET
        yield from _leaves(name, old, new)


def _leaves(name: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the innermost values that differ."""
    if old == new:
        return
    match old, new:
        case dict(), dict():
            for key in sorted(old.keys() | new.keys()):
                yield from _leaves(f"{name}.{key}", old.get(key), new.get(key))
        case list(), list() if len(old) == len(new):
            for index, (before, after) in enumerate(zip(old, new, strict=True)):
                yield from _leaves(f"{name}[{index}]", before, after)
        case _:
            yield name, old, new
