"""Load during the handoff: a writer of keys, which reports those that were lost or failed."""

import http.client
import threading
import time
from dataclasses import dataclass, field
from typing import Protocol

from base.errors import words_of
from lab.rehearsal.report import RehearsalError

EVERY_S = 0.1
"""Between two keys while the VIP or a member of etcd may move."""
AT_REST_S = 1.0
"""At other times: ten keys per second take 0.15 of a core from each of four emulated machines (2026-11)."""


class Store(Protocol):
    """The storage behind the cluster's API, reached through the VIP."""

    def put(self, key: str) -> None:
        """Write a key; it is stored when this returns.

        Raises:
            OSError: No connection, or no answer in time.
            http.client.HTTPException: The answer is not HTTP, or not a success.
        """
        ...

    def keys(self) -> set[str]:
        """Return every key, over a new connection."""
        ...


@dataclass
class Writer:
    """Writes a new key every `every_s`, and retries it until it is acknowledged. Counts after the first one."""

    store: Store
    every_s: float = AT_REST_S
    """May change while it writes."""
    acknowledged: list[str] = field(default_factory=list)
    retries: int = 0
    problems: list[str] = field(default_factory=list)
    """The errors of each key whose immediate retry failed as well."""
    slowest_s: float = 0.0
    """The longest time from a first try to its acknowledgement."""
    _stopped: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Start writing in a thread."""
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current key.

        Raises:
            RehearsalError: That key was not acknowledged within 60 s.
        """
        self._stopped.set()
        if self._thread:
            self._thread.join(60)
            if self._thread.is_alive():
                raise RehearsalError("the writer's last key was not acknowledged within 60 s")

    def lost(self) -> list[str]:
        """Return the acknowledged keys that the store no longer has."""
        stored = self.store.keys()
        return [key for key in self.acknowledged if key not in stored]

    def _write(self) -> None:
        number = 0
        while not self._stopped.is_set():
            started = time.monotonic()
            key, errors = f"{number:06d}", list[str]()
            while error := self._put(key):
                errors.append(error)
                self._stopped.wait(EVERY_S * (len(errors) > 1))
            if self.acknowledged:  # it may start before the API does
                self.retries += len(errors)
                self.slowest_s = max(self.slowest_s, time.monotonic() - started)
                if len(errors) > 1:
                    self.problems.append(f"{key}: {', then '.join(errors)}")
            self.acknowledged.append(key)
            number += 1
            self._stopped.wait(max(0.0, started + self.every_s - time.monotonic()))

    def _put(self, key: str) -> str:
        """Write a key; return why it was not acknowledged."""
        try:
            self.store.put(key)
        except (OSError, http.client.HTTPException) as error:
            return words_of(error)
        return ""
