"""How a review writes values and lists: safe in Markdown and in HTML, whatever they hold."""

from collections.abc import Sequence
from typing import Any

from base.errors import one_line
from review.preview import SECRET, UNKNOWN

LONGEST = 64
"""Characters of a value that are shown, so that a digest is shown whole."""


def code(value: Any) -> str:
    """Return a value as a code span of one line; what has no value, as prose."""
    if value is None:
        return "not set"
    if value in ("", [], {}):
        return "empty"
    text = one_line(_text(value))
    if SECRET in text:
        return "secret"
    if UNKNOWN in text:
        return "known during `up` only"
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"
    return f"`{shown.replace('`', chr(39))}`"


def counted(number: int, what: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def joined(items: Sequence[str]) -> str:
    """Return items as a sentence lists them."""
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))


def _text(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float() if value.is_integer():
            return str(int(value))
        case dict():
            return ", ".join(f"{name}: {_text(member)}" for name, member in sorted(value.items()))
        case list():
            return ", ".join(map(_text, value))
        case _:
            return str(value)
