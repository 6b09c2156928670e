"""What the engines ask of a hypervisor; `connection` answers it by libvirt."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Found:
    """A domain that exists."""

    owner: str
    """`<project>/<stack>` of the program that made it; empty: somebody else did."""
    build: str
    """Digest of what it was built from."""
    running: bool


@dataclass(frozen=True)
class DomainSpec:
    """A virtual machine to define."""

    name: str
    owner: str
    build: str
    memory_mib: int
    vcpus: int
    emulated: bool
    """By QEMU's emulation instead of KVM."""
    disk: str
    """Path of its disk, a qcow2."""
    ignition: str
    """Path of its Ignition config."""
    mac: str
    bridge: str
    network: str = ""
    """libvirt network over that bridge; empty: the bridge directly."""


class Hypervisor(Protocol):
    """One host of virtual machines.

    Every method raises `HypervisorError` where libvirt refuses.
    """

    def find(self, name: str) -> Found | None:
        """The domain `name`."""
        ...

    def volume_path(self, pool: str, volume: str) -> str:
        """Path of a volume that must exist."""
        ...

    def volume_sha256(self, pool: str, volume: str) -> str:
        """Digest of all bytes of a volume that must exist."""
        ...

    def make_overlay(self, pool: str, volume: str, *, base: str, size_gib: int) -> str:
        """Make a thin qcow2 over the volume at path `base` anew; its path."""
        ...

    def make_private(self, pool: str, volume: str, content: bytes) -> str:
        """Make a volume anew that its owner alone may read; its path."""
        ...

    def delete_volume(self, pool: str, volume: str) -> None:
        """Delete a volume, or nothing."""
        ...

    def define(self, domain: DomainSpec) -> None:
        """Define a domain."""
        ...

    def start(self, name: str) -> None:
        """Start a domain."""
        ...

    def shut_down(self, name: str) -> None:
        """Press the power button (ACPI)."""
        ...

    def power_off(self, name: str) -> None:
        """Cut the power."""
        ...

    def undefine(self, name: str) -> None:
        """Forget a domain that is off."""
        ...

    def ask(self, name: str, word: str) -> str:
        """Send a word on the handoff's channel; the guest's answer."""
        ...


@dataclass(frozen=True)
class Volume:
    """A volume; sizes in bytes."""

    path: str
    format: str
    """As the hypervisor found it: `qcow2`, `raw`, …"""
    capacity: int
    """What a guest sees."""
    allocation: int
    """What it takes of the pool."""


@dataclass(frozen=True)
class Pool:
    """A storage pool; of an inactive one neither room nor volumes are known."""

    active: bool
    path: str
    free: int
    """Bytes."""
    volumes: Mapping[str, Volume]
    """Those that were asked for and exist, by name."""


@dataclass(frozen=True)
class HostFacts:
    """A host of virtual machines."""

    version: tuple[int, int, int]
    """Of the libvirt that answers there."""
    kvm: bool
    """Whether it can run x86-64 guests by KVM."""
    pool: Pool | None
    """None: it does not exist, or was not asked for."""
