"""The lab's own libvirtd: in the namespace, with separate folders, so that the machine's libvirt is not affected."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import libvirt

from boot_media.tools import cache_dir
from cluster.plan.model import PlannedHost
from lab import firmware
from lab.disks import SCSI_SLOT, Disk
from lab.inventory import SERVER_MIB, Site
from lab.nics import nics_of
from lab.paths import (
    BASE_VOLUME,
    BMC_POOL,
    BMC_POOL_NAME,
    CONSOLE,
    DISKS,
    FILES,
    LIBVIRT,
    LIBVIRT_URI,
    POOL,
    POOL_NAME,
)
from lab.shell import LabError, run
from lab.site.processes import Daemon
from lab.templates import render
from wires.libvirt.xml import EMULATION_CACHE_MIB

# QEMU inherits it: beside other work, servers answer in time, as real ones do. Pulumi comes before them.
_NICE = "-5"
_DEADLINE_S = 60.0  # 0.4 s; 4-8 s where QEMU's capabilities are probed for the first time (2 cores, 2026-11)
# libvirtd does not start without this user, whatever qemu.conf says ("Failed to parse user 'libvirt-qemu'").
_QEMU_USER = {
    "passwd": "libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin\n",
    "group": "libvirt-qemu:x:64055:\n",
}

daemon = Daemon("libvirtd")


def ensure_libvirtd() -> bool:
    """Run libvirtd with its pools; return whether it had to be started."""
    started = daemon.pid is None
    if started:
        _prepare_folders()
        mounts = ("unshare", "--mount", "--propagation", "private", FILES / "private-mounts.sh", LIBVIRT, _cache())
        daemon.start("libvirtd", wrapper=("nice", "-n", _NICE, *mounts))
    daemon.await_ready(_answers, _DEADLINE_S)
    with connection() as libvirtd:
        _ensure_pool(libvirtd, POOL_NAME, POOL)
        _ensure_pool(libvirtd, BMC_POOL_NAME, BMC_POOL)
    return started


def ensure_base_volume(image: Path) -> None:
    """Put the bootstrap's base volume into the pool; a changed one gets the same name and a new inode."""
    target = POOL / BASE_VOLUME
    current, wanted = (target.stat() if target.exists() else None), image.stat()
    if current is None or (current.st_size, current.st_mtime_ns) != (wanted.st_size, wanted.st_mtime_ns):
        fresh = target.with_suffix(".new")
        run("cp", "--reflink=auto", "--preserve=timestamps", image, fresh)
        fresh.rename(target)
    with connection() as libvirtd:
        libvirtd.storagePoolLookupByName(POOL_NAME).refresh()


def ensure_servers(site: Site) -> None:
    """Define the missing servers, each with an empty disk; leave existing ones unchanged."""
    with connection() as libvirtd:
        known = {domain.name() for domain in libvirtd.listAllDomains()}
        for host in site.plan.hosts:
            if host.name not in known:
                libvirtd.defineXML(_server_xml(site, host, _create_disks(site, host)))


def lose(site: Site, name: str) -> None:
    """Switch a server off at once, and empty its disks."""
    with connection() as libvirtd:
        libvirtd.lookupByName(name).destroy()
    _create_disks(site, _host(site, name))


def replace_board(site: Site, name: str) -> None:
    """Switch a server off at once, and put the board of the site into it, with the settings of a new one."""
    with connection() as libvirtd:
        former = libvirtd.lookupByName(name)
        if former.isActive():
            former.destroy()
        former.undefineFlags(libvirt.VIR_DOMAIN_UNDEFINE_NVRAM)
        host = _host(site, name)
        libvirtd.defineXML(_server_xml(site, host, _disks(site, host)))


def cut_off(name: str) -> None:
    """Unplug a running server from all networks but that of its BMC. It is plugged in again once it is off."""
    with connection() as libvirtd:
        domain = libvirtd.lookupByName(name)
        described = ElementTree.fromstring(domain.XMLDesc())  # noqa: S314  (the lab's own libvirtd wrote it)
        for card in described.iterfind("devices/interface"):
            for link in card.findall("link"):
                card.remove(link)
            ElementTree.SubElement(card, "link", state="down")
            domain.updateDeviceFlags(ElementTree.tostring(card, "unicode"), libvirt.VIR_DOMAIN_AFFECT_LIVE)


def power_states() -> dict[str, str]:
    """Return On or Off by domain: the servers, and the program's bootstrap VM."""
    with connection() as libvirtd:
        return {domain.name(): "On" if domain.isActive() else "Off" for domain in libvirtd.listAllDomains()}


@contextmanager
def connection() -> Iterator[libvirt.virConnect]:
    """Yield a connection to the lab's libvirtd.

    Raises:
        LabError: libvirtd is not reachable, or refused a call.
    """
    libvirt.registerErrorHandler(lambda *_: None, None)  # the default handler prints each error to stderr
    try:
        opened = libvirt.open(LIBVIRT_URI)
        try:
            yield opened
        finally:
            opened.close()
    except libvirt.libvirtError as error:
        raise LabError(f"libvirtd: {error}") from error


def _answers() -> bool:
    try:
        with connection():
            return True
    except LabError:
        return False


def _prepare_folders() -> None:
    for name in ("etc", "lib", "run", "log/qemu"):
        (LIBVIRT / name).mkdir(parents=True, exist_ok=True)
    for name in ("libvirtd.conf", "qemu.conf"):
        shutil.copy(FILES / name, LIBVIRT / "etc" / name)
    for name, line in _QEMU_USER.items():
        text = Path("/etc", name).read_text()
        (LIBVIRT / name).write_text(text if "libvirt-qemu:" in text else text + line)


def _cache() -> Path:
    """Return the folder that keeps QEMU's capabilities between runs; libvirt itself detects outdated ones."""
    folder = cache_dir() / "lab" / "libvirt"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _ensure_pool(libvirtd: libvirt.virConnect, name: str, folder: Path) -> None:
    if name not in {pool.name() for pool in libvirtd.listAllStoragePools()}:
        libvirtd.storagePoolDefineXML(
            f'<pool type="dir"><name>{name}</name><target><path>{folder}</path></target></pool>'
        )
    pool = libvirtd.storagePoolLookupByName(name)
    pool.setAutostart(1)
    if not pool.isActive():
        pool.create()


def _host(site: Site, name: str) -> PlannedHost:
    return next(host for host in site.plan.hosts if host.name == name)


def _disks(site: Site, server: PlannedHost) -> list[tuple[Disk, Path]]:
    """Return a server's disks with their files, starting with the one of the hints.

    The firmware boots from the first one, as a real server's firmware has a setting for its boot disk.
    """
    disks = sorted(site.disks(server), key=lambda disk: not disk.wanted)
    return [(disk, DISKS / f"{server.name}-{number}.qcow2") for number, disk in enumerate(disks)]


def _create_disks(site: Site, server: PlannedHost) -> list[tuple[Disk, Path]]:
    """Create a server's disks, empty or stale, and return them."""
    disks = _disks(site, server)
    for disk, file in disks:
        backing = ("-b", POOL / BASE_VOLUME, "-F", "qcow2") if disk.stale else ()
        run("qemu-img", "create", "-q", "-f", "qcow2", *backing, file, f"{disk.gib}G")
    return disks


def _server_xml(site: Site, server: PlannedHost, disks: list[tuple[Disk, Path]]) -> str:
    values = {"server": server, "uuid": site.uuids[server.name], "disks": disks, "scsi_slot": SCSI_SLOT}
    values |= {"nics": nics_of(server, site.plan), "cache_mib": EMULATION_CACHE_MIB}
    values["over_ipv6"] = site.plan.boots_over_ipv6
    console = CONSOLE / f"{server.name}.log"
    return render("site/files/server.xml.j2", memory_mib=SERVER_MIB, console=console, firmware=firmware, **values)
