"""The text of a new stack's file: a line for each option, with its value, or commented out to be filled in."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from base.yaml_text import parse_yaml
from cluster.options import PREFIX, Options

HEAD = """\
# The options of the stack {stack}, by `okd-baremetal init`. docs/reference/options.md has them all.
# A line that is commented out is left to do: `pulumi config set --path <option> <value>`, or write it here.
config:
"""


@dataclass(frozen=True)
class Option:
    """One option of the new file."""

    path: tuple[str, ...]
    value: Any = None
    """None: it is left to do."""
    wanted: str = ""
    """What to write, as `<address>`."""
    comment: str = ""
    command: str = ""
    """What finds the value, or sets it."""

    @property
    def name(self) -> str:
        """The path as Pulumi's command line takes it."""
        first, *rest = self.path
        return first + "".join(f'["{part}"]' if "." in part else f".{part}" for part in rest)


def stack_text(stack: str, options: Sequence[Option]) -> str:
    """Return the text of a stack's file."""
    return HEAD.format(stack=stack) + "".join(f"{line}\n" for line in _section(options, 0))


def left_to_do(options: Sequence[Option]) -> Iterator[str]:
    """Yield a line for each option without a value, with its command; options of one command are of one section."""
    shared: dict[str, list[Option]] = {}
    for option in options:
        if option.value is None:
            command = option.command or f"pulumi config set --path '{option.name}' '{option.wanted}'"
            shared.setdefault(command, []).append(option)
    for command, members in shared.items():
        what = members[0] if len(members) == 1 else Option(members[0].path[:-1])
        yield f"{what.name}: {command}"


def _section(options: Sequence[Option], depth: int) -> Iterator[str]:
    """Yield the lines of one section. A section in which nothing is known is commented out as a whole."""
    pad = "  " * (depth + 1)
    members: dict[str, list[Option]] = {}
    for option in options:
        members.setdefault(option.path[depth], []).append(option)
    for name, inner in members.items():
        mark = "" if any(option.value is not None for option in inner) else "# "
        key = f"{PREFIX}{name}" if depth == 0 else _scalar(name)
        if len(inner[0].path) == depth + 1:
            yield f"{pad}{mark}{key}: {_written(inner[0])}"
            continue
        yield f"{pad}{mark}{key}:{_trailing(_description(name) if depth == 0 else '')}"
        for line in _section(inner, depth + 1):
            # In a section that is commented out, the first mark is enough.
            yield f"{pad}# {line.removeprefix(pad).replace('# ', '', 1)}" if mark else line


def _description(name: str) -> str:
    return Options.model_fields[name].description or ""


def _written(option: Option) -> str:
    known = option.value is not None
    return (json.dumps(option.value, ensure_ascii=False) if known else option.wanted) + _trailing(option.comment)


def _scalar(name: str) -> str:
    """Return a key, in quotes unless every YAML reads it as a text."""
    return name if name[:1].isalpha() and parse_yaml(name) == name else json.dumps(name)


def _trailing(comment: str) -> str:
    return f" # {comment}" if comment else ""
