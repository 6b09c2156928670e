"""Boot ISOs of a role's hosts, made when the first host needs one."""

import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, Self

from assets.ignition import compose
from boot_media.base_image import ensure_base
from boot_media.iso import Iso, IsoMaker
from boot_media.tools import find_coreos_installer
from payload.reading import read_payload
from providers.base.progress import Report


@dataclass(frozen=True)
class Recipe:
    """What a host's ISO is made from.

    Args:
        ours: Our Ignition by host, secret.
        keyfiles: NetworkManager's, text by file name, of the hosts that have a `networkConfig`; secret.
        devices: Root device by host.
    """

    stack: str
    payload_name: str
    payload_sha256: str
    base_sha256: str
    base_url: str
    ours: Mapping[str, str] = field(repr=False)
    keyfiles: Mapping[str, Mapping[str, str]] = field(repr=False)
    devices: Mapping[str, str]

    @cached_property
    def payload(self) -> bytes:
        """The role's Ignition from the payload."""
        return read_payload(self.stack, self.payload_name, self.payload_sha256)


class ImageServer(Protocol):
    """Where the BMCs fetch them."""

    def publish(self, host: str, iso: Iso) -> str:
        """Have the ISO there for `host`; its URL."""
        ...

    def is_ours(self, url: str, host: str) -> bool:
        """Whether `url` is an ISO of this or of an earlier run for `host`, whatever its digest."""
        ...

    def sent(self, url: str) -> int | None:
        """Bytes sent of the ISO at `url`; None: unknown here."""
        ...

    def progress(self, url: str) -> str:
        """Which reader has read how much of the ISO at `url`; empty: none yet, or unknown."""
        ...


HOSTS_PER_MAKER, MAKERS = 100, 4
"""A maker has a copy of the base, which is not worth its while for few hosts."""


@dataclass
class IsoMedia:
    """Makes them and has them served; `engine.BootIsos` is its protocol."""

    server: ImageServer
    recipe: Recipe
    report: Report
    _makers: list[IsoMaker] = field(default_factory=list)
    _orders: dict[str, Future[str]] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)
    _own: threading.local = field(default_factory=threading.local)

    def __post_init__(self) -> None:
        # The tool takes 60 ms per host: threads of its own, or a fleet's calls to BMCs would stand in line behind it.
        makers = min(MAKERS, os.cpu_count() or 1, 1 + len(self.recipe.devices) // HOSTS_PER_MAKER)
        self._makers_pool = ThreadPoolExecutor(makers)
        self._first = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._makers_pool.shutdown(cancel_futures=True)
        for maker in self._makers:
            maker.close()

    def publish(self, host: str) -> str | None:
        """Have the host's ISO made and served; its URL, or None: not yet.

        Raises:
            OkdBaremetalError: No base ISO, no tool, no payload, or one of them refused; or it cannot be served.
        """
        if host not in self._orders:
            self._orders[host] = self._makers_pool.submit(self._make, host)
        order = self._orders[host]
        return order.result() if order.done() else None

    def _make(self, host: str) -> str:
        recipe = self.recipe
        made = self._maker().make(
            ignition=compose(recipe.payload, recipe.ours[host]),
            keyfiles=recipe.keyfiles.get(host, {}),
            root_device=recipe.devices[host],
        )
        self._digests[host] = made.sha256
        return self.server.publish(host, made)

    def _maker(self) -> IsoMaker:
        """This thread's."""
        recipe = self.recipe
        if not hasattr(self._own, "maker"):
            tool = find_coreos_installer()
            with self._first:  # downloads, the others find it in the cache
                base = ensure_base(recipe.base_sha256, recipe.base_url, self.report)
            self._own.maker = IsoMaker(base, recipe.base_sha256, tool)
            self._makers.append(self._own.maker)
        maker: IsoMaker = self._own.maker
        return maker

    def is_ours(self, url: str, host: str) -> bool:
        """Whether the image at `url` is an ISO of this or of an earlier run for `host`."""
        return self.server.is_ours(url, host)

    def sent(self, url: str) -> int | None:
        """Bytes sent of it; None: unknown here."""
        return self.server.sent(url)

    def progress(self, url: str) -> str:
        """Which reader has read how much of it; empty: none yet, or unknown."""
        return self.server.progress(url)

    def digest(self, host: str) -> str:
        """SHA-256 of the ISO that was published for `host`."""
        return self._digests[host]
