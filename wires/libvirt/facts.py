"""Facts that libvirt reports of its host: version, KVM, a storage pool and some of its volumes."""

from collections.abc import Collection
from xml.etree import ElementTree

import libvirt

from wires.libvirt.connection import architecture, calling, opened
from wires.libvirt.hypervisor import HostFacts, Pool, Volume

# "The accel 'kvm' is not supported … on this host", no emulator for the host, not QEMU at all (libvirt 9).
NO_KVM = (libvirt.VIR_ERR_INVALID_ARG, libvirt.VIR_ERR_CONFIG_UNSUPPORTED, libvirt.VIR_ERR_NO_SUPPORT)


def host_facts(uri: str, pool: str | None, volumes: Collection[str] | None) -> HostFacts:
    """Read the facts of a host, on one connection.

    Args:
        uri: The URI of libvirt.
        pool: Name of the storage pool to include. None: no pool.
        volumes: Names of the pool's volumes to include. None: all.

    Raises:
        HypervisorError: libvirt is not reachable, or refuses.
    """
    with opened(uri) as connection:
        with calling(uri, "getLibVersion", "host"):
            number = connection.getLibVersion()
        version = (number // 1_000_000, number // 1000 % 1000, number % 1000)
        with calling(uri, "getDomainCapabilities", "host"):
            kvm = _offers_kvm(connection)
        if not pool:
            return HostFacts(version, kvm, None)
        with calling(uri, "storagePoolLookupByName", f"pool {pool}"):
            return HostFacts(version, kvm, _pool(connection, pool, volumes))


def _offers_kvm(connection: libvirt.virConnect) -> bool:
    """Ask only about the host's architecture: for all capabilities, libvirt would start each installed emulator."""
    try:
        connection.getDomainCapabilities(None, architecture(connection), None, "kvm")
    except libvirt.libvirtError as error:
        if error.get_error_code() in NO_KVM:
            return False
        raise
    return True


def _pool(connection: libvirt.virConnect, name: str, volumes: Collection[str] | None) -> Pool | None:
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
    existing = {name for name in pool.listVolumes() if volumes is None or name in volumes}
    free = pool.info()[3]
    return Pool(True, path, free, {volume: _volume(pool.storageVolLookupByName(volume)) for volume in existing})


def _volume(volume: libvirt.virStorageVol) -> Volume:
    described = ElementTree.fromstring(volume.XMLDesc())  # noqa: S314
    kind, backed = described.find("target/format"), bool(described.findtext("backingStore/path"))
    _, capacity, allocation = volume.info()
    return Volume(volume.path(), kind.get("type", "") if kind is not None else "", capacity, allocation, backed)
