"""Changes single values of a YAML text; comments, order and all other characters stay."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from base.errors import ConfigError, Fault
from base.shapes import Location, dotted
from base.yaml_text import compose, parse_yaml

STEP = "  "
_ANCHOR = re.compile(r"(?:!\S*\s+)?(&\S+\s+)")


def emptied(text: str, *locations: Location) -> str:
    """Return the text with an empty text in place of scalars, also where an alias repeats them.

    Raises:
        ConfigError: The text is not valid YAML, or has no scalar at a location, or an alias has its text elsewhere.
    """
    root, places = compose(text), set[tuple[int, int]]()
    before = _others(text, locations)
    for location in locations:
        node = root
        for part in location:
            node = _member(node, part)
        if node is None or not isinstance(node.value, str):
            raise ConfigError(Fault(dotted(location), "not a single value", "write it as one value in quotes"))
        places.add((node.start_mark.index, node.end_mark.index))
    for start, end in sorted(places, reverse=True):
        anchor = _ANCHOR.match(text, start, end)
        line_break = "\n" if text[:end].endswith("\n") else ""  # the end of a block of lines
        text = f'{text[:start]}{anchor[1] if anchor else ""}""{line_break}{text[end:]}'
    after = _others(text, locations)
    if changed := [location for location in before if after.get(location) != before[location]]:
        what = "is a secret's text, by an anchor and its alias"
        raise ConfigError(Fault(dotted(changed[0]), what, "write both texts without anchor and alias"))
    return text


def added(text: str, location: Sequence[str], value: Any, comment: str = "", of_section: str = "") -> str:
    """Return the text with one more value, and with the mappings around it that are missing.

    Args:
        text: A mapping, of mappings down to the location.
        location: The keys of the value. There is no value yet.
        value: It is written as JSON.
        comment: That of the value.
        of_section: The comment of the outermost mapping that is added.

    Raises:
        ConfigError: The text is not valid YAML, or a value on the way is not a mapping.
    """
    node, depth = compose(text), 0
    while (inner := _member(node, location[depth])) is not None:
        node, depth = inner, depth + 1
    keys = location[depth:]
    if node is None:
        return text + "\n".join(_block(keys, value, comment, of_section)) + "\n"
    if not _is_mapping(node):
        raise ConfigError(Fault(dotted(tuple(location[:depth])), "not a mapping", "write `key: value` below it"))
    start, end = node.start_mark.index, node.end_mark.index
    if text[start : start + 1] == "{":
        for key in reversed(keys[1:]):
            value = {key: value}
        member = f"{json.dumps(keys[0])}: {_json(value)}"
        return f"{text[: start + 1]}{member}{', ' if node.value else ''}{text[start + 1 :]}"
    pad = " " * node.start_mark.column if node.value else STEP * depth
    lines = f"\n{pad}".join(_block(keys, value, comment, of_section))
    if node.value:
        return f"{text[:start]}{lines}\n{pad}{text[start:]}"
    return f"{text[:start]}\n{pad}{lines}{text[end:]}"


def _others(text: str, locations: Sequence[Location]) -> dict[Location, Any]:
    """Return the scalars of a text by their locations, without those at some locations."""
    return {location: value for location, value in _scalars(parse_yaml(text), ()) if location not in locations}


def _scalars(value: Any, location: Location) -> Iterator[tuple[Location, Any]]:
    match value:
        case dict():
            members: Any = value.items()
        case list():
            members = enumerate(value)
        case _:
            yield location, value
            return
    for part, member in members:
        yield from _scalars(member, (*location, part))


def _member(node: Any, part: int | str) -> Any:
    """Return the node of a member of a mapping or list, also by a merge; None if there is none."""
    members = node.value if node is not None and isinstance(node.value, list) else []
    if isinstance(part, int):
        return members[part] if part < len(members) and not isinstance(members[part], tuple) else None
    pairs = [pair for pair in members if isinstance(pair, tuple)]
    own = next((value for key, value in pairs if key.value == part), None)
    merged = (source for key, value in pairs if key.value == "<<" for source in _sources(value))
    return own or next(filter(None, (_member(source, part) for source in merged)), None)


def _sources(node: Any) -> list[Any]:
    """Return the mappings that a merge key names: one, or a list of them."""
    return [node] if any(isinstance(each, tuple) for each in node.value) else [*node.value]


def _is_mapping(node: Any) -> bool:
    """Return whether a node is a mapping, or nothing at all: not even `null`."""
    return bool(node.tag.endswith(":map") or node.start_mark.index == node.end_mark.index)


def _block(keys: Sequence[str], value: Any, comment: str, of_section: str) -> list[str]:
    """Return the lines of a value within new mappings."""
    lines = [f"{STEP * number}{_key(key)}:" for number, key in enumerate(keys)]
    if len(keys) > 1:
        lines[0] += _trailing(of_section)
    lines[-1] += f" {_json(value)}{_trailing(comment)}"
    return lines


def _key(name: str) -> str:
    """Return a key, in quotes unless every YAML reads it as a text."""
    plain = name[:1].isalpha() and re.fullmatch(r"[\w.:-]*\w", name, re.ASCII) and parse_yaml(name) == name
    return name if plain else json.dumps(name)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _trailing(comment: str) -> str:
    return f" # {comment}" if comment else ""
