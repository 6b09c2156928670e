"""Load during the handoff: a writer of keys, and what became of them."""

import http.client
import threading
import time
from dataclasses import dataclass, field
from typing import Protocol

from lab.rehearsal.report import RehearsalError

EVERY_S = 0.1
"""Between two keys while the VIP or a member of etcd may move."""
AT_REST_S = 1.0
"""At other times: ten keys per second take 0.15 of a core from each of four emulated machines (2026-11)."""


class Store(Protocol):
    """What the cluster keeps behind its API, through the VIP."""

    def put(self, key: str) -> None:
        """Write a key, for good when it returns.

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
    """Writes a new key every so often, and retries it until it is acknowledged. Counts from the first of those on."""

    store: Store
    every_s: float = AT_REST_S
    """May change while it writes."""
    acknowledged: list[str] = field(default_factory=list)
    retries: int = 0
    problems: list[str] = field(default_factory=list)
    """What each key met whose immediate retry failed as well."""
    _over: threading.Event = field(default_factory=threading.Event)
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
        self._over.set()
        if self._thread:
            self._thread.join(60)
            if self._thread.is_alive():
                raise RehearsalError("the writer's last key was not acknowledged within 60 s")

    def lost(self) -> list[str]:
        """Return the acknowledged keys that the store no longer has."""
        there = self.store.keys()
        return [key for key in self.acknowledged if key not in there]

    def _write(self) -> None:
        number = 0
        while not self._over.is_set():
            started = time.monotonic()
            key, met = f"{number:06d}", list[str]()
            while problem := self._put(key):
                met.append(problem)
                self._over.wait(EVERY_S * (len(met) > 1))
            if self.acknowledged:  # it may start before the API does
                self.retries += len(met)
                if len(met) > 1:
                    self.problems.append(f"{key}: {', then '.join(met)}")
            self.acknowledged.append(key)
            number += 1
            self._over.wait(max(0.0, started + self.every_s - time.monotonic()))

    def _put(self, key: str) -> str:
        """Write a key; return why it was not acknowledged."""
        try:
            self.store.put(key)
        except (OSError, http.client.HTTPException) as error:
            return f"{type(error).__name__}: {error}"
        return ""
