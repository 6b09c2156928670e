"""OKD's operators at work beside a rehearsal, in a thread."""

import http.client
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from base.errors import words_of
from lab.rehearsal.report import RehearsalError

EVERY_S = 5.0
"""Between two looks: each costs the emulated machines some twenty requests."""
FIRST_LOOK_S = 120.0


@dataclass
class Operators(ABC):
    """What looks at a cluster again and again."""

    problems: list[str] = field(default_factory=list, init=False)
    """Why they ended: a client sent what the real ones do not bear, or these are wrong."""
    _looked: threading.Event = field(default_factory=threading.Event, init=False)
    _stopped: threading.Event = field(default_factory=threading.Event, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)

    @abstractmethod
    def step(self) -> None:
        """Have each operator look once.

        Raises:
            OSError: The API does not answer.
            http.client.HTTPException: It refuses, or serves not all kinds yet.
        """

    def start(self) -> None:
        """Start in a thread, and return once each operator has looked.

        Raises:
            RehearsalError: They have not in `FIRST_LOOK_S`, or have ended.
        """
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        if not self._looked.wait(FIRST_LOOK_S):
            raise RehearsalError(f"the lab's operators of OKD have not looked once in {FIRST_LOOK_S:.0f} s")
        if self.problems:
            raise RehearsalError(f"the lab's operators of OKD ended: {self.problems[0]}")

    def stop(self) -> None:
        """Stop after the current look."""
        self._stopped.set()
        if self._thread:
            self._thread.join(60)

    def _work(self) -> None:
        while not self._stopped.wait(EVERY_S):
            try:
                self.step()
            except (OSError, http.client.HTTPException):
                continue  # there is none yet, the VIP moves, or another client was faster
            except Exception as error:  # a thread that ends in silence would prove nothing
                self.problems.append(words_of(error))
                self._stopped.set()
            self._looked.set()
