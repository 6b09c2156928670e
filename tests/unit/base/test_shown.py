"""What a message shows of what others choose."""

import pytest

from base.shown import LONGEST, MOST, few, short
from testing.fakes.lan import FLOOD


def test_few_things_are_all_shown_and_of_many_the_first_and_their_number() -> None:
    assert few(["b", "a"]) == ["a", "b"]
    assert few([]) == []
    assert few(FLOOD) == [*sorted(FLOOD)[:MOST], "23,886 more"]
    assert len(few(sorted(FLOOD)[: MOST + 1])) == MOST + 1


@pytest.mark.parametrize("char", ["x", "\x1b", "\n", "\U0001f600", "\u2028"], ids=ascii)
def test_a_text_of_others_is_one_short_line(char: str) -> None:
    assert len(short(char * LONGEST * 100)) <= LONGEST
    assert short(char * LONGEST * 100).endswith("\u2026")
    assert short("x" * LONGEST) == "x" * LONGEST
    assert short("a\nb") == "a\\nb"
