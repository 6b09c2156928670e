"""What is wanted of the provisioner, and by which eyes it is looked at."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from payload.kubeconfig import Kubeconfig
from wires.libvirt.facts import HostFacts


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What is wanted of the provisioner."""

    phase: str
    """In `production` nothing of the VM is needed any more."""
    stack: str
    payload: Mapping[str, str]
    """SHA-256 of each file, by `bootstrap`, `master`, `worker`."""
    domain: str
    """The cluster's."""
    libvirt_uri: str
    bridges: Mapping[str, str]
    """Bridge by the key of platform.baremetal that names it."""
    vm: str
    """Name of the bootstrap VM: room that its own volumes take is room for it."""
    emulated: bool
    pool: str
    base_volume: str
    base_sha256: str
    """Empty: not compared."""
    disk_gib: int
    manage: bool
    """True: pool and base volume are made later in the same run, of `image_source`."""
    image_source: str
    image_sha256: str
    media_address: str
    media_port: int
    base_iso_sha256: str
    base_iso_url: str


@dataclass(frozen=True)
class Bridge:
    """A network interface that shall be a bridge."""

    is_bridge: bool
    up: bool
    """Switched on."""
    linked: bool
    """At least one port has a link."""


@dataclass(frozen=True)
class Installer:
    """coreos-installer."""

    path: Path
    version: str
    """Empty: it cannot be run."""


class Looks(Protocol):
    """What the judgement asks of the world; nothing is changed."""

    def hypervisor(self, uri: str, pool: str | None, volumes: frozenset[str]) -> HostFacts:
        """What libvirt says of its host.

        Raises:
            HypervisorError: Not reachable, silent, or it refuses.
        """
        ...

    def bridge(self, name: str) -> Bridge | None:
        """An interface of this host."""
        ...

    def read(self, path: Path) -> None:
        """Read a byte of a file of this host.

        Raises:
            OSError: It cannot be read.
        """
        ...

    def sha256(self, path: Path) -> str:
        """Digest of a file of this host.

        Raises:
            OSError: It cannot be read.
        """
        ...

    def base_iso(self, sha256: str) -> Path:
        """Where the cache has the base ISO, when it has it."""
        ...

    def installer(self) -> Installer | None:
        """coreos-installer; None: there is none."""
        ...

    def payload(self, stack: str, name: str, sha256: str) -> bytes:
        """A file of the stack's payload.

        Raises:
            PayloadError: Missing, or another one.
        """
        ...

    def kubeconfig(self, stack: str) -> Kubeconfig | None:
        """The one beside a stack's payload.

        Raises:
            PayloadError: It is of no use.
        """
        ...

    def now(self) -> datetime:
        """The time, with its zone."""
        ...

    def listen(self, address: str, port: int) -> None:
        """Take a TCP port for a moment.

        Raises:
            OSError: It cannot be had.
        """
        ...
