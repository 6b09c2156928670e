"""The protocol of a hypervisor, as engines use it, and its values. `connection` implements it with libvirt."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

NO_ACCESS = "run as root; or `usermod --append --groups libvirt <your user>`, and log in again"
"""The fix of a local libvirt that refuses the user of this process."""


@dataclass(frozen=True)
class Domain:
    """A domain that exists."""

    owner: str
    """`<project>/<stack>` that made it. Empty if this program did not make it."""
    build: str
    """Digest of everything that it was built from."""
    running: bool


@dataclass(frozen=True)
class Card:
    """A network card of a virtual machine."""

    mac: str
    bridge: str
    network: str = ""
    """libvirt network over that bridge. Empty: the VM uses the bridge directly."""


@dataclass(frozen=True)
class DomainSpec:
    """A virtual machine to define."""

    name: str
    owner: str
    build: str
    memory_mib: int
    vcpus: int
    emulated: bool
    """Whether QEMU emulates it, instead of KVM."""
    disk: str
    """Path of its disk, a qcow2."""
    ignition: str
    """Path of its Ignition config."""
    cards: tuple[Card, ...]


class Hypervisor(Protocol):
    """One host of virtual machines.

    Every method raises `HypervisorError` if libvirt refuses.
    """

    def find(self, name: str) -> Domain | None:
        """Find a domain. None: it does not exist."""
        ...

    def volume_path(self, pool: str, volume: str) -> str:
        """Return the path of a volume, which must exist."""
        ...

    def volume_sha256(self, pool: str, volume: str) -> str:
        """Return the digest of all bytes of a volume, which must exist."""
        ...

    def make_overlay(self, pool: str, volume: str, *, base: str, size_gib: int) -> str:
        """Make a thin qcow2 over the volume at path `base`, replacing any volume of that name. Return its path."""
        ...

    def make_private(self, pool: str, volume: str, content: bytes) -> str:
        """Make a volume that only its owner may read, replacing any volume of that name. Return its path."""
        ...

    def delete_volume(self, pool: str, volume: str) -> None:
        """Delete a volume, if it exists."""
        ...

    def define(self, domain: DomainSpec) -> None:
        """Define a domain."""
        ...

    def start(self, name: str) -> None:
        """Start a domain."""
        ...

    def shut_down(self, name: str) -> None:
        """Press the power button (ACPI), if the domain runs."""
        ...

    def power_off(self, name: str) -> None:
        """Cut the power, if the domain runs."""
        ...

    def undefine(self, name: str) -> None:
        """Remove the definition of a domain that is off."""
        ...

    def ask(self, name: str, word: str) -> str:
        """Send a word on the handoff's channel, and return the guest's answer."""
        ...


@dataclass(frozen=True)
class Volume:
    """A volume; sizes in bytes."""

    path: str
    format: str
    """The format that the hypervisor reports: `qcow2`, `raw`, …"""
    capacity: int
    """Size that a guest sees."""
    allocation: int
    """Space that it takes in the pool."""
    backed: bool = False
    """Whether it is an overlay, over another volume."""


@dataclass(frozen=True)
class Pool:
    """A storage pool. The free space and volumes of an inactive one are unknown."""

    active: bool
    path: str
    free: int
    """Bytes."""
    volumes: Mapping[str, Volume]
    """The requested volumes that exist, by name."""


@dataclass(frozen=True)
class HostFacts:
    """A host of virtual machines."""

    version: tuple[int, int, int]
    """Version of libvirt."""
    kvm: bool
    """Whether it can run x86-64 guests with KVM."""
    pool: Pool | None
    """None: the pool does not exist, or was not requested."""
