"""The media server of a run, which ends with the run: it makes boot ISOs, and serves them."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from boot_media.host_isos import Recipe

MAKES_S = 2.0


@dataclass
class SimMedia:
    """Implements `boot_procedures.BootMedia`, and the context of `boot_media.host_isos.IsoMedia`."""

    recipe: Recipe
    now: Callable[[], float]
    serve: Callable[["SimMedia | None"], None]
    """Called with the server at its start, and with None at its end."""
    ordered: dict[str, float] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    reports: dict[str, str] = field(default_factory=dict)
    published: set[str] = field(default_factory=set)

    def __enter__(self) -> Self:
        self.serve(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.serve(None)

    def publish(self, host: str) -> str | None:
        if self.now() < self.ordered.setdefault(host, self.now() + MAKES_S):
            return None
        url = f"http://media/{self.digest(host)}/{host}.iso"
        self.published.add(url)
        return url

    def sent(self, url: str) -> int | None:
        return self.read.get(url, 0)

    def certificate(self, _: str) -> str:
        return ""

    def progress(self, _: str) -> str:
        return ""

    def digest(self, host: str) -> str:
        recipe = self.recipe
        made_of: list[Any] = [host, recipe.own_ignition.get(host), recipe.payload_sha256, recipe.base_sha256]
        return hashlib.sha256(repr(made_of).encode()).hexdigest()

    def disk_report(self, host: str) -> str:
        return self.reports.get(host, "")

    def is_read(self, url: str) -> bool:
        """Serve an image. False: it is not here."""
        if url not in self.published:
            return False
        self.read[url] = self.read.get(url, 0) + 1
        return True
