"""The options of a new stack, the text of its file, and what is left to do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from base.yaml_edit import added
from cluster.options import Options
from cluster.stack_file import PREFIX, is_encrypted

HEAD = """\
# The options of the stack {stack}, by `okd-baremetal init`. docs/reference/options.md has them all.
config:
"""
INSTEAD: Mapping[tuple[str, ...], Sequence[tuple[str, ...]]] = {
    ("media", "address"): [("media", "url")],
    ("bootstrap", "base_volume"): [("provisioner", "manage")],
    ("bootstrap", "base_sha256"): [("provisioner", "manage")],
    ("images", "release"): [("images", "keepalived"), ("images", "haproxy"), ("images", "coredns")],
    ("media", "base_iso", "url"): [("media", "base_iso", "sha256")],
    ("media", "base_iso_arm64", "url"): [("media", "base_iso_arm64", "sha256")],
}
"""By path, the options that a stack may have in place of one, or with a value that another release's does not fit."""

_ABSENT = object()


@dataclass(frozen=True)
class Option:
    """One option of the stack's file."""

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


def lacking(options: Sequence[Option], stack: Mapping[str, Any]) -> list[Option]:
    """Return the options that a stack has neither itself nor others instead."""
    return [
        option
        for option in options
        if _value(stack, option.path) is _ABSENT
        and not any(_value(stack, path) not in (_ABSENT, False) for path in INSTEAD.get(option.path, ()))
    ]


def stack_text(text: str, options: Sequence[Option]) -> str:
    """Return the text of a stack's file with the options that are known, none of which it has.

    Raises:
        ConfigError: The text is not that of a stack's file.
    """
    for option in reversed(options):  # each is added at the start of its section
        if option.value is not None:
            first, *rest = option.path
            path = ("config", f"{PREFIX}{first}", *rest)
            of_section = Options.model_fields[first].description or ""
            text = added(text, path, option.value, option.comment, of_section)
    return text


def left_to_do(options: Sequence[Option]) -> Iterator[str]:
    """Yield a line for each option without a value, with its command; options of one command are of one section."""
    shared: dict[str, list[Option]] = {}
    for option in options:
        if option.value is None:
            command = option.command or f"pulumi config set --path '{option.name}' '{option.wanted}'"
            shared.setdefault(command, []).append(option)
    for command, members in shared.items():
        what = members[0] if len(members) == 1 else Option(members[0].path[:-1])
        comment = f" # {members[0].comment}" if members[0].comment else ""
        yield f"{what.name}: {command}{comment}"


def _value(section: Any, path: Sequence[str]) -> Any:
    """Return the value at a path, or one above it that is not a section, because all of it is encrypted."""
    for part in path:
        if not isinstance(section, Mapping) or is_encrypted(section):
            break
        section = section.get(part, _ABSENT)
        if section is _ABSENT:
            break
    return section
