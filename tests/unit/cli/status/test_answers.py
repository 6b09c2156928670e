"""All questions at once: whatever fails is a row with its reason, and whatever is late does not hold up the rest."""

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from base.errors import BmcTransientError
from cli.status.answers import Level, Question, Row, ask_all


def row(name: str) -> Row:
    return Row("node", name, Level.GOOD, "Ready")


def failing(error: Exception) -> Iterator[Row]:
    yield row("seen before the failure")
    raise error


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (BmcTransientError("busy", where="h0", fix="wait"), "h0: busy. Fix: wait"),
        (KeyError("secret"), f"internal error: KeyError: test_answers.py:{failing.__code__.co_firstlineno + 2}"),
    ],
    ids=["of-the-system", "of-this-program", "unforeseen"],
)
def test_a_reader_that_fails_is_one_row_with_its_reason(error: Exception, says: str) -> None:
    question = Question("node", "all", partial(failing, error), Level.WARNING)
    assert ask_all([question], 20) == [Row("node", "all", Level.WARNING, says)]


def test_rows_have_the_order_of_their_questions_and_all_are_asked_at_once() -> None:
    together = threading.Barrier(3)

    def ask(name: str) -> list[Row]:
        together.wait(20)
        return [row(name), row(f"{name} again")]

    questions = [Question("node", name, partial(ask, name)) for name in ("c", "a", "b")]
    assert [it.name for it in ask_all(questions, 20)] == ["c", "c again", "a", "a again", "b", "b again"]


def test_a_late_answer_is_a_row_and_hides_no_other() -> None:
    over, answered = threading.Event(), threading.Event()

    def late() -> list[Row]:
        answered.wait(20)
        over.wait(20)
        return []

    def prompt() -> list[Row]:
        answered.set()
        return [row("prompt")]

    try:
        rows = ask_all([Question("bmc", "late", late), Question("node", "prompt", prompt)], 0.2)
    finally:
        over.set()
    assert rows == [Row("bmc", "late", Level.WRONG, "no answer within 0.2 s"), row("prompt")]
