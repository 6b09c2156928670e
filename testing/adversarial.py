"""Texts on which a pattern that is not linear takes long: what its repeats match, over and over, without an end."""

import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

SMALL, LARGE = 2 * 1024, 16 * 1024
QUICK_S = 0.0003
"""CPU time in which most linear patterns read `SMALL` characters; a square took 0.64 ms or more (2026-11)."""
LIMIT_S = 0.25
"""CPU time after which a call is ended: that of an exponential pattern has no end."""
ENDLESS = float("inf")
"""The time of a call that was ended."""
MOST_GROWTH = 3 * LARGE / SMALL
"""A square takes 8 times the growth of the length."""
SAMPLES = "a0 A-_.:/@=\"'\\{[(%\n#x\u00e9~,;<>|&+*?!$"
ENDS = ("", "\0", "\n\0", "=")
METHODS = ("match", "fullmatch", "search", "finditer", "findall", "split", "sub")


class _SlowError(Exception):
    """A call takes too long."""


def is_linear(pattern: re.Pattern[str], method: str) -> bool:
    """Return whether the time of a method grows with the length of the text, for all texts that are tried."""
    return next(slow_texts(pattern, method), None) is None


def slow_texts(pattern: re.Pattern[str], method: str) -> Iterator[str]:
    """Yield a short form of each text for which it does not."""
    call = _caller(pattern, method)
    for prefix, pump, end in {*_attacks(pattern.pattern, pattern.flags)}:
        small_s = _spent_s(call, _text(prefix, pump, end, SMALL), QUICK_S)
        most_s = MOST_GROWTH * small_s
        if small_s == ENDLESS or (
            small_s > QUICK_S and _spent_s(call, _text(prefix, pump, end, LARGE), most_s) > most_s
        ):
            yield f"{prefix!r} + {pump!r} * n + {end!r}"


def _text(prefix: str, pump: str, end: str, length: int) -> str:
    return prefix + pump * (length // len(pump)) + end


def _caller(pattern: re.Pattern[str], method: str) -> Callable[[str], object]:
    match method:
        case "finditer":
            return lambda text: deque(pattern.finditer(text), maxlen=0)
        case "sub" | "subn":
            return lambda text: pattern.sub("", text)
        case _:
            found: Callable[[str], object] = getattr(pattern, method)
            return found


def _spent_s(call: Callable[[str], object], text: str, enough_s: float) -> float:
    """Return the CPU time of a call: the better of two, if the first is more than `enough_s`."""
    first_s = _once_s(call, text)
    return first_s if first_s <= enough_s or first_s == ENDLESS else min(first_s, _once_s(call, text))


def _once_s(call: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    try:
        with _limited():
            call(text)
    except _SlowError:
        return ENDLESS
    return time.thread_time() - began


@contextmanager
def _limited() -> Iterator[None]:
    def end(*_: object) -> None:
        raise _SlowError

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _attacks(pattern: str, flags: int) -> Iterator[tuple[str, str, str]]:
    """Yield beginning, repeated part and end of texts."""
    tree = parser.parse(pattern, flags)
    repeats, whole = list[tuple[str, str]](), ""
    for prefix, pump in _repeats(tree, ""):
        repeats.append((prefix, pump))
    for token in tree:
        whole += _witness([token])
        repeats.append(("", whole))
    pumps = {(prefix, pump) for prefix, pump in repeats if pump}
    for prefix, pump in pumps:
        for end in ENDS:
            yield prefix, pump, end
            yield "", prefix + pump, end
            yield "", prefix + pump * 40, end
        if prefix:
            yield "", prefix, ""
    for (prefix, first), (_, second) in pairwise(repeats):
        if first and second:
            yield prefix + first * (SMALL // 4), second, "\0"
            yield prefix, first + second, "\0"


def _repeats(tree: Any, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield what each repeat matches, with what stands before it."""
    for token in tree:
        kind, argument = token
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            body = argument[2]
            yield from ((prefix, each) for each in _variants(body))
            yield from _repeats(body, prefix)
        elif kind is op.BRANCH:
            for branch in argument[1]:
                yield from _repeats(branch, prefix)
        elif kind is op.SUBPATTERN:
            yield from _repeats(argument[-1], prefix)
        elif kind in (op.ATOMIC_GROUP, op.ASSERT, op.ASSERT_NOT):
            yield from _repeats(argument if kind is op.ATOMIC_GROUP else argument[1], prefix)
        prefix += _witness([token])


def _variants(body: Any) -> Iterator[str]:
    """Yield some texts that the body of a repeat matches once."""
    yield _witness(body)
    if len(body) == 1:
        kind, argument = body[0]
        if kind is op.IN:
            yield from [char for char in SAMPLES if _is_in(char, argument)][:6]
        elif kind is op.BRANCH:
            yield from map(_witness, argument[1])
        elif kind is op.SUBPATTERN:
            yield from _variants(argument[-1])


def _witness(tree: Any) -> str:
    """Return a short text that a part of a pattern matches, if nothing around it decides."""
    return "".join(map(_of_token, tree))


def _of_token(token: Any) -> str:  # noqa: PLR0911  (a table of the kinds)
    kind, argument = token
    if kind is op.LITERAL:
        return chr(argument)
    if kind is op.IN:
        return next((char for char in SAMPLES if _is_in(char, argument)), chr(_first(argument)))
    if kind in (op.ANY, op.NOT_LITERAL):
        return next(char for char in SAMPLES if char != chr(argument or 0))
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return _witness(argument[2]) * max(1, int(argument[0]))
    if kind is op.BRANCH:
        return _witness(argument[1][0])
    if kind is op.SUBPATTERN:
        return _witness(argument[-1])
    return _witness(argument) if kind is op.ATOMIC_GROUP else ""


def _first(members: Any) -> int:
    return next(
        (value if kind is op.LITERAL else value[0] for kind, value in members if kind in (op.LITERAL, op.RANGE)), 97
    )


_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s", op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _is_in(char: str, members: Any) -> bool:
    negated, found = False, False
    for kind, value in members:
        if kind is op.NEGATE:
            negated = True
        elif kind is op.LITERAL:
            found |= ord(char) == value
        elif kind is op.RANGE:
            found |= value[0] <= ord(char) <= value[1]
        elif kind is op.CATEGORY:
            found |= bool(re.match(_CATEGORIES[value], char))
    return found is not negated
