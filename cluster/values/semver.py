"""Versions of releases, as `4.21.3` or `4.21.0-okd-scos.2`: semantic versions without build metadata."""

import re
from typing import NamedTuple, Self

_NUMBER = "(0|[1-9][0-9]*)"
FORM = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-[0-9A-Za-z.-]+)?"
_Identifier = tuple[bool, int, str]


class Version(NamedTuple):
    """A version, in the order of semver.org 2.0.0, paragraph 11."""

    major: int
    minor: int
    patch: int
    is_final: bool
    """Whether it has no pre-release part; those with one come before."""
    pre_release: tuple[_Identifier, ...]
    """Its identifiers: numbers by value, and before texts."""

    @classmethod
    def of(cls, text: str) -> Self | None:
        """Return the version that a text is. None: it is none."""
        match = re.fullmatch(FORM, text, re.ASCII)
        if match is None:
            return None
        parts = match[4].removeprefix("-").split(".") if match[4] else []
        identifiers = ((False, int(part), "") if part.isdigit() else (True, 0, part) for part in parts)
        return cls(int(match[1]), int(match[2]), int(match[3]), not parts, tuple(identifiers))
