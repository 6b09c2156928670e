"""Makes the boot ISOs of a role's hosts, each when its host needs it."""

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, Self

from assets.ignition import compose
from base.errors import BootMediaError
from base.progress import Report
from boot_media.base_image import ISO_URLS
from boot_media.disk import Hints
from boot_media.download import ensure_base
from boot_media.iso import Iso, IsoMaker
from boot_media.netboot import FILES, ROOTFS, host_script, script_name
from boot_media.tools import find_coreos_installer
from cluster.values.architecture import Architecture
from payload.reading import read_payload


@dataclass(frozen=True)
class Recipe:
    """The contents of the boot ISOs of a role.

    Args:
        ours: This program's part of each host's Ignition config, by host; secret.
        keyfiles: Text by file name, by host, for hosts with a `networkConfig`; secret.
        hints: The `rootDeviceHints` by host.
        ipxe_macs: MAC of the card, by host, of those that boot iPXE.
        on_provisioning: The hosts that boot from the provisioning network, by iPXE or by UEFI HTTP.
        boot_server: URL at which these reach the server of their files.
    """

    stack: str
    payload_name: str
    payload_sha256: str
    architecture: Architecture
    base_sha256: str
    base_url: str
    ours: Mapping[str, str] = field(repr=False)
    keyfiles: Mapping[str, Mapping[str, str]] = field(repr=False)
    hints: Mapping[str, Hints]
    ipxe_macs: Mapping[str, str] = field(default_factory=dict)
    on_provisioning: Set[str] = frozenset()
    boot_server: str = ""

    @cached_property
    def payload(self) -> bytes:
        """The role's Ignition config in the payload."""
        return read_payload(self.stack, self.payload_name, self.payload_sha256)


class ImageServer(Protocol):
    """Server from which the BMCs fetch boot ISOs."""

    def publish(self, host: str, iso: Iso) -> str:
        """Have the ISO served for `host`, and return its URL."""
        ...

    def sent(self, url: str) -> int | None:
        """Return the bytes sent of the ISO at `url`; None if unknown."""
        ...

    def progress(self, url: str) -> str:
        """Return who has read how much of the ISO at `url`; empty if nobody has, or if unknown."""
        ...

    def open_box(self, secret: str) -> str:
        """Take one text from whoever knows the secret; return the URL to send it to, or nothing if that is none."""
        ...

    def text_in(self, box: str) -> str:
        """Return the text that was last sent to the URL of a box, as one line; empty if none was."""
        ...

    def withdraw(self, host: str, iso: Iso) -> None:
        """Have the ISO served for `host` no more."""
        ...

    def admit(self, mac: str, script: str) -> None:
        """Serve a host's iPXE script, by the MAC of the card that it boots from."""
        ...

    def dismiss(self, mac: str) -> None:
        """Serve a host's iPXE script no more."""
        ...

    def fetched(self, paths: Sequence[str]) -> list[str]:
        """Return those of the paths of which bytes were sent."""
        ...


HOSTS_PER_MAKER, MAKERS = 100, 4
"""Each maker copies the base ISO, which pays off only for many hosts."""


@dataclass
class IsoMedia:
    """Makes boot ISOs and has them served; implements `ways.NetworkMedia`."""

    server: ImageServer
    recipe: Recipe
    report: Report
    _makers: list[IsoMaker] = field(default_factory=list)
    _orders: dict[str, Future[str]] = field(default_factory=dict)
    _boxes: dict[str, str] = field(default_factory=dict)
    """URL of each host's box for its verdict."""
    _made: dict[str, Iso] = field(default_factory=dict)
    _own: threading.local = field(default_factory=threading.local)

    def __post_init__(self) -> None:
        # The tool takes 60 ms per host. It has its own threads, so that calls to BMCs do not queue behind it.
        makers = min(MAKERS, os.cpu_count() or 1, 1 + len(self.recipe.hints) // HOSTS_PER_MAKER)
        self._makers_pool = ThreadPoolExecutor(makers)
        self._first = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._makers_pool.shutdown(cancel_futures=True)
        for maker in self._makers:
            maker.close()

    def publish(self, host: str) -> str | None:
        """Have the host's ISO made and served; return its URL, or None while it is being made.

        Raises:
            OkdBaremetalError: Base ISO, tool or payload are missing or unusable, or the ISO cannot be served.
        """
        if host not in self._orders:
            self._orders[host] = self._makers_pool.submit(self._make, host)
        order = self._orders[host]
        return order.result() if order.done() else None

    def _make(self, host: str) -> str:
        recipe = self.recipe
        ignition = compose(recipe.payload, recipe.ours[host])
        # The ISO has the URL in it, so that cannot have the ISO's digest in it.
        box = self.server.open_box(hashlib.sha256(f"{host} ".encode() + ignition).hexdigest())
        self._boxes[host] = self._as_reached_by(host, box)
        made = self._maker().make(
            ignition=ignition,
            keyfiles=recipe.keyfiles.get(host, {}),
            hints=recipe.hints[host],
            verdict_url=self._boxes[host],
            over_network=host in recipe.ipxe_macs,
        )
        self._made[host] = made
        url = self.server.publish(host, made)
        if host not in recipe.ipxe_macs:
            return self._as_reached_by(host, url)
        if made.live is None:
            what = f"has none of {', '.join(FILES.values())}, and {host} boots from the network"
            raise BootMediaError(what, where=str(made.base), fix="use a CoreOS live ISO as the base")
        return f"{self._files(host)}/{ROOTFS}"

    def _as_reached_by(self, host: str, url: str) -> str:
        """Return a URL of the server as the firmware and the live system of a host reach it."""
        path = url.split("/", 3)[-1]
        return f"{self.recipe.boot_server}/{path}" if host in self.recipe.on_provisioning else url

    def _files(self, host: str) -> str:
        return f"{self.recipe.boot_server}/{self._made[host].folder(host)}"

    def size(self, host: str) -> int:
        """Return the bytes of what is at the URL of `publish`: the host's live system, or its ISO."""
        made = self._made[host]
        start, end = made.live.spans[ROOTFS] if made.live else (0, made.size)
        return end - start

    def admit(self, host: str) -> None:
        """Have the host find its installer from now on: by iPXE, or at the URL of `publish`."""
        made = self._made[host]
        if made.live is None:
            self.server.publish(host, made)
        else:
            self.server.admit(self.recipe.ipxe_macs[host], host_script(self._files(host), made.live.arguments))

    def dismiss(self, host: str) -> None:
        """Have the host find no installer from now on, and so go on to its disk."""
        if mac := self.recipe.ipxe_macs.get(host):
            self.server.dismiss(mac)
        elif host in self._made:
            self.server.withdraw(host, self._made[host])

    def asked(self, host: str) -> str:
        """Return which files the host has fetched over the network; empty if none."""
        script = script_name(self.recipe.ipxe_macs[host])
        files = [f"{self._made[host].folder(host)}/{name}" for name in FILES]
        return ", ".join(each.rpartition("/")[2] for each in self.server.fetched([script, *files]))

    def _maker(self) -> IsoMaker:
        """Return the maker of this thread."""
        recipe = self.recipe
        if not hasattr(self._own, "maker"):
            tool = find_coreos_installer()
            with self._first:  # the first thread downloads the base ISO, the others find it in the cache
                option = ISO_URLS[recipe.architecture]
                base = ensure_base(option, recipe.base_sha256, recipe.base_url, self.report)
            self._own.maker = IsoMaker(base, recipe.base_sha256, tool, recipe.architecture)
            self._makers.append(self._own.maker)
        maker: IsoMaker = self._own.maker
        return maker

    def sent(self, url: str) -> int | None:
        """Return the bytes sent of the ISO at `url`; None if unknown."""
        return self.server.sent(url)

    def progress(self, url: str) -> str:
        """Return who has read how much of the ISO at `url`; empty if nobody has, or if unknown."""
        return self.server.progress(url)

    def digest(self, host: str) -> str:
        """Return the SHA-256 of the ISO that was published for `host`."""
        return self._made[host].sha256

    def verdict(self, host: str) -> str:
        """Return what the live system of `host` says of its disk; empty if nothing yet."""
        return self.server.text_in(self._boxes[host])
