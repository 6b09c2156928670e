"""Makes the boot ISO of each host of a role when the host needs it."""

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
from base.write_guard import make
from boot_media.base_image import ISO_URLS
from boot_media.disk import disk_script, wipe, wipe_stale
from boot_media.download import ensure_base
from boot_media.iso import Iso, IsoMaker
from boot_media.netboot import FILES, ROOTFS, host_script, script_name
from boot_media.tools import find_coreos_installer
from cluster.values.architecture import Architecture
from cluster.values.disk_hints import Hints
from payload.reading import read_payload


@dataclass(frozen=True)
class Recipe:
    """The contents of the boot ISOs of a role.

    Args:
        own_ignition: This program's part of each host's Ignition config, by host; secret.
        keyfiles: Text by file name, by host, for hosts with a `networkConfig`; secret.
        hints: The `rootDeviceHints` by host.
        wipe_disks: By host: serial numbers or WWNs of the disks that are wiped, too, if they are stale.
        ipxe_macs: By host that boots iPXE: the MAC of the card that it boots from.
        on_provisioning: The hosts that boot from the provisioning network, by iPXE or by UEFI HTTP.
        boot_server: URL at which these reach the server of their files.
        over_tls: The hosts whose BMCs fetch their ISOs over TLS.
    """

    stack: str
    payload_name: str
    payload_sha256: str
    architecture: Architecture
    base_sha256: str
    base_url: str
    own_ignition: Mapping[str, str] = field(repr=False)
    keyfiles: Mapping[str, Mapping[str, str]] = field(repr=False)
    hints: Mapping[str, Hints]
    wipe_disks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ipxe_macs: Mapping[str, str] = field(default_factory=dict)
    on_provisioning: Set[str] = frozenset()
    boot_server: str = ""
    over_tls: Set[str] = frozenset()

    @cached_property
    def payload(self) -> bytes:
        """The role's Ignition config in the payload."""
        return read_payload(self.stack, self.payload_name, self.payload_sha256)


class ImageServer(Protocol):
    """Server from which the BMCs fetch boot ISOs."""

    def publish(self, host: str, iso: Iso, *, over_tls: bool = False) -> str:
        """Have the ISO served for `host`, over TLS only or as the server does, and return its URL."""
        ...

    def certificate(self, url: str) -> str:
        """Return the PEM by which a BMC verifies the server of `url`; empty if it is set up to do so, or cannot."""
        ...

    def sent(self, url: str) -> int | None:
        """Return the bytes sent of the ISO at `url`; None if unknown."""
        ...

    def progress(self, url: str) -> str:
        """Return who has read how much of the ISO at `url`; empty if nobody has, or if unknown."""
        ...

    def report_url(self, secret: str) -> str:
        """Receive reports at a URL that cannot be guessed without the secret. Return it; empty if unsupported."""
        ...

    def received_report(self, url: str) -> str:
        """Return the last report that was sent to the URL, as one line; empty if none was."""
        ...

    def withdraw(self, host: str, iso: Iso) -> None:
        """Stop serving the ISO for `host`."""
        ...

    def enable_boot(self, mac: str, script: str) -> None:
        """Serve a host's iPXE script, by the MAC of the card that it boots from."""
        ...

    def disable_boot(self, mac: str) -> None:
        """Stop serving a host's iPXE script."""
        ...

    def fetched(self, paths: Sequence[str]) -> list[str]:
        """Return the paths of which bytes were sent."""
        ...


HOSTS_PER_MAKER, MAKERS = 100, 4
"""Each maker copies the base ISO, which pays off only for many hosts."""


@dataclass
class IsoMedia:
    """Makes boot ISOs and has them served; implements `boot_procedures.NetworkMedia`."""

    server: ImageServer
    recipe: Recipe
    report: Report
    _makers: list[IsoMaker] = field(default_factory=list)
    _orders: dict[str, Future[str]] = field(default_factory=dict)
    _report_urls: dict[str, str] = field(default_factory=dict)
    """By host: the URL to which it sends its disk report."""
    _made: dict[str, Iso] = field(default_factory=dict)
    _of_thread: threading.local = field(default_factory=threading.local)

    def __post_init__(self) -> None:
        # The tool takes 25 ms per host. It has its own threads, so that calls to BMCs do not queue behind it.
        makers = min(MAKERS, os.cpu_count() or 1, 1 + len(self.recipe.hints) // HOSTS_PER_MAKER)
        self._makers_pool = ThreadPoolExecutor(makers)
        self._first = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # Nobody waits for the download of a base ISO whose command a signal ends.
        is_interrupted = kind is not None and not issubclass(kind, Exception)
        self._makers_pool.shutdown(wait=not is_interrupted, cancel_futures=True)
        for maker in self._makers:
            maker.close()

    def publish(self, host: str) -> str | None:
        """Have the host's ISO made and served; return its URL, or None while it is being made.

        Raises:
            OkdBaremetalError: Base ISO, tool or payload are missing or unusable, or the ISO cannot be served.
        """
        if host not in self._orders:
            make(wipe(host, self.recipe.hints[host]))
            for disk in self.recipe.wipe_disks.get(host, ()):
                make(wipe_stale(host, disk))
            self._orders[host] = self._makers_pool.submit(self._make, host)
        order = self._orders[host]
        return order.result() if order.done() else None

    def _make(self, host: str) -> str:
        recipe = self.recipe
        ignition = compose(recipe.payload, recipe.own_ignition[host])
        # The URL is in the ISO, so it cannot contain the ISO's digest.
        report_url = self.server.report_url(hashlib.sha256(f"{host} ".encode() + ignition).hexdigest())
        self._report_urls[host] = self._as_reached_by(host, report_url)
        made = self._maker().make(
            ignition=ignition,
            keyfiles=recipe.keyfiles.get(host, {}),
            choose_disk=disk_script(recipe.hints[host], self._report_urls[host], recipe.wipe_disks.get(host, ())),
            over_network=host in recipe.ipxe_macs,
        )
        self._made[host] = made
        url = self.server.publish(host, made, over_tls=host in recipe.over_tls)
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

    def enable_boot(self, host: str) -> None:
        """Serve the host its installer from now on: by iPXE, or at the URL of `publish`."""
        made = self._made[host]
        if made.live is None:
            self.server.publish(host, made)
        else:
            self.server.enable_boot(self.recipe.ipxe_macs[host], host_script(self._files(host), made.live.arguments))

    def disable_boot(self, host: str) -> None:
        """Serve the host no installer from now on, so that it goes on to its disk."""
        if mac := self.recipe.ipxe_macs.get(host):
            self.server.disable_boot(mac)
        elif host in self._made:
            self.server.withdraw(host, self._made[host])

    def fetched_files(self, host: str) -> str:
        """Return which files the host has fetched over the network; empty if none."""
        script = script_name(self.recipe.ipxe_macs[host])
        files = [f"{self._made[host].folder(host)}/{name}" for name in FILES]
        return ", ".join(path.rpartition("/")[2] for path in self.server.fetched([script, *files]))

    def _maker(self) -> IsoMaker:
        """Return the maker of this thread."""
        recipe = self.recipe
        if not hasattr(self._of_thread, "maker"):
            tool = find_coreos_installer()
            with self._first:  # the first thread downloads the base ISO, the others find it in the cache
                option = ISO_URLS[recipe.architecture]
                base = ensure_base(option, recipe.base_sha256, recipe.base_url, self.report)
            self._of_thread.maker = IsoMaker(base, recipe.base_sha256, tool, recipe.architecture)
            self._makers.append(self._of_thread.maker)
        maker: IsoMaker = self._of_thread.maker
        return maker

    def certificate(self, url: str) -> str:
        """See `ImageServer`."""
        return self.server.certificate(url)

    def sent(self, url: str) -> int | None:
        """Return the bytes sent of the ISO at `url`; None if unknown."""
        return self.server.sent(url)

    def progress(self, url: str) -> str:
        """Return who has read how much of the ISO at `url`; empty if nobody has, or if unknown."""
        return self.server.progress(url)

    def digest(self, host: str) -> str:
        """Return the SHA-256 of the ISO that was published for `host`."""
        return self._made[host].sha256

    def disk_report(self, host: str) -> str:
        """Return the report of the live system of `host` on its disk; empty if none yet."""
        return self.server.received_report(self._report_urls[host])
