"""What a piece of code has called of its stand-ins, in order: a step that is left out shows."""

from typing import Any
from unittest.mock import Mock


def said(calls: Mock) -> list[str]:
    """Return the calls of a mock and of all that are attached to it: each name, and the last line of each text."""
    return [" ".join([name, *map(_shown, words)]) for name, words, _ in calls.mock_calls]


def _shown(word: Any) -> str:
    return word.strip().splitlines()[-1] if isinstance(word, str) and word.strip() else "…"
