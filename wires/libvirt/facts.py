"""What libvirt says of its host: version, KVM, a storage pool and some of its volumes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

import libvirt

from wires.libvirt.connection import opened, refusals

# "The accel 'kvm' is not supported … on this host", no emulator for x86-64, not QEMU at all (libvirt 9).
NO_KVM = (libvirt.VIR_ERR_INVALID_ARG, libvirt.VIR_ERR_CONFIG_UNSUPPORTED, libvirt.VIR_ERR_NO_SUPPORT)


@dataclass(frozen=True)
class Volume:
    """A volume; sizes in bytes."""

    path: str
    format: str
    """As libvirt found it: `qcow2`, `raw`, …"""
    capacity: int
    """What a guest sees."""
    allocation: int
    """What it takes of the pool."""


@dataclass(frozen=True)
class Pool:
    """A storage pool; of an inactive one libvirt knows neither room nor volumes."""

    active: bool
    path: str
    free: int
    """Bytes."""
    volumes: Mapping[str, Volume]
    """Those that were asked for and are there, by name."""


@dataclass(frozen=True)
class HostFacts:
    """A host of virtual machines."""

    version: tuple[int, int, int]
    """Of the libvirt that answers there."""
    kvm: bool
    """Whether it can run x86-64 guests by KVM."""
    pool: Pool | None
    """None: not there, or not asked for."""


def host_facts(uri: str, pool: str | None, volumes: Collection[str]) -> HostFacts:
    """Ask once.

    Args:
        uri: libvirt's.
        pool: Name of the pool to look at.
        volumes: Names of its volumes to look at.

    Raises:
        HypervisorError: Not reachable, or it refuses.
    """
    with opened(uri) as connection, refusals(uri, f"pool {pool}"):
        number = connection.getLibVersion()
        version = (number // 1_000_000, number // 1000 % 1000, number % 1000)
        found = _pool(connection, pool, volumes) if pool else None
        return HostFacts(version, _offers_kvm(connection), found)


def _offers_kvm(connection: libvirt.virConnect) -> bool:
    """Asked for the one emulator: all capabilities would have libvirt start each one that is installed."""
    try:
        connection.getDomainCapabilities(None, "x86_64", None, "kvm")
    except libvirt.libvirtError as error:
        if error.get_error_code() in NO_KVM:
            return False
        raise
    return True


def _pool(connection: libvirt.virConnect, name: str, volumes: Collection[str]) -> Pool | None:
    try:
        pool = connection.storagePoolLookupByName(name)
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_STORAGE_POOL:
            return None
        raise
    path = ElementTree.fromstring(pool.XMLDesc()).findtext("target/path", "")  # noqa: S314
    if not pool.isActive():
        return Pool(active=False, path=path, free=0, volumes={})
    pool.refresh()
    there = set(volumes) & set(pool.listVolumes())
    free = pool.info()[3]
    return Pool(True, path, free, {volume: _volume(pool.storageVolLookupByName(volume)) for volume in there})


def _volume(volume: libvirt.virStorageVol) -> Volume:
    said = ElementTree.fromstring(volume.XMLDesc()).find("target/format")  # noqa: S314
    _, capacity, allocation = volume.info()
    return Volume(volume.path(), said.get("type", "") if said is not None else "", capacity, allocation)
