"""Boot ISOs of a role's hosts, made when the first host needs one."""

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from assets import ignition, iso
from assets.payload import read_payload
from providers.progress import Report
from providers.provisioning.media import MediaServer

AT_ONCE = threading.Semaphore(os.cpu_count() or 1)  # each streams a whole base ISO


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


@dataclass
class IsoMedia:
    """Makes and serves them; `engine.Media` is its protocol."""

    server: MediaServer
    recipe: Recipe
    report: Report
    _digests: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def publish(self, host: str) -> str:
        """Make and serve the host's ISO; its URL.

        Raises:
            AssetError: No base ISO, no tool, no payload, or one of them refused.
        """
        recipe = self.recipe
        with self._lock:  # the first host downloads, the others wait for it
            base = iso.ensure_base(recipe.base_sha256, recipe.base_url, self.report)
            config = ignition.compose(recipe.payload, recipe.ours[host])
            tool = iso.find_installer()
        with AT_ONCE:
            made = iso.customize(
                base,
                ignition=config,
                keyfiles=recipe.keyfiles.get(host, {}),
                root_device=recipe.devices[host],
                coreos_installer=tool,
            )
        self._digests[host] = made.sha256
        return self.server.publish(host, made)

    def is_ours(self, url: str, host: str) -> bool:
        """Whether the image at `url` is an ISO of this or of an earlier run for `host`."""
        return self.server.is_ours(url, host)

    def sent(self, url: str) -> int:
        """Bytes sent of it."""
        return self.server.sent(url)

    def digest(self, host: str) -> str:
        """SHA-256 of the ISO that was published for `host`."""
        return self._digests[host]
