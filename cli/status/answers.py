"""What is asked, what was seen, and how bad that is; all questions side by side, until one deadline."""

import queue
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from base import log
from base.errors import OkdBaremetalError, unexpected, words_of
from providers.pulumi.workers import WORKERS


class Level(IntEnum):
    """How bad a row is. Monitoring reads the numbers."""

    GOOD = 0
    WARNING = 1
    """A person should know it; nothing is wrong yet, or this machine cannot see it."""
    WRONG = 2

    @property
    def word(self) -> str:
        """Its word in the table and in JSON."""
        return self.name.lower()


@dataclass(frozen=True)
class Row:
    """What was seen of one thing."""

    kind: str
    """vip, api, node, etcd, release, request, bmc, certificate, payload, consent or power; of `upgrade` also version,
    operator, machine config pool, mirror and snapshot."""
    name: str
    """Which one; no two rows have the same kind and name."""
    level: Level
    says: str
    """What was seen, and what was wanted if it is not that."""
    ends: datetime | None = None
    """When its certificate expires. None: it has none, or shows none."""


@dataclass(frozen=True)
class Question:
    """What one thing is asked; its rows say what was seen, or why nothing was."""

    kind: str
    name: str
    ask: Callable[[], Iterable[Row]]
    unread: Level = Level.WRONG
    """How bad it is if there is no answer."""

    def answer(self) -> list[Row]:
        """Ask, and return the rows; or the one with the reason why there are none."""
        try:
            return [*self.ask()]
        except OkdBaremetalError as error:
            why = str(error)
        except OSError as error:
            why = words_of(error)
        except Exception as error:  # a row, as any other failure: the other rows are worth as much
            why = unexpected(error)
        return [self.unanswered(why)]

    def unanswered(self, why: str) -> Row:
        """Return the row of a thing that has not answered."""
        return Row(self.kind, self.name, self.unread, why)


def ask_all(questions: Sequence[Question], deadline_s: float) -> list[Row]:
    """Ask all at once, and return the rows in the order of the questions.

    One that has no answer after `deadline_s` seconds, such as a slow resolver of names, is a row that says so. Its
    thread ends with the process.
    """
    waiting, answers = deque(enumerate(questions)), queue.SimpleQueue[tuple[int, list[Row]]]()

    def work() -> None:
        with suppress(IndexError):
            while True:
                number, question = waiting.popleft()
                answers.put((number, question.answer()))

    for _ in questions[:WORKERS]:
        log.thread(work).start()
    until, rows = time.monotonic() + deadline_s, dict[int, list[Row]]()
    with suppress(queue.Empty):
        while len(rows) < len(questions):
            number, found = answers.get(timeout=max(0.0, until - time.monotonic()))
            rows[number] = found
    late = f"no answer within {deadline_s:g} s"
    return [row for number, question in enumerate(questions) for row in rows.get(number, [question.unanswered(late)])]
