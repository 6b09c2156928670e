"""`Hypervisor` by libvirt. Each call is in the log, and each error becomes a `HypervisorError`."""

import contextlib
import hashlib
import logging
import re
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from urllib.parse import urlsplit
from xml.etree import ElementTree

import libvirt

from assets.contract import CHANNEL
from base.errors import HypervisorError, word
from base.write_guard import make
from wires.libvirt import writes, xml
from wires.libvirt.hypervisor import NO_ACCESS, Domain, DomainSpec
from wires.libvirt.xml import OWNER

CHANNEL_ANSWER_S = 15.0  # an emulated guest under load took 1.6 s, a guest on KVM a few ms

REFUSED = re.compile("Permission denied|polkit|authentication")  # of the socket, or of polkit behind it
INACTIVE = re.compile("network '([^']+)' is not active")

LOG = logging.getLogger(__name__)


class Libvirt:
    """`Hypervisor` over one connection."""

    def __init__(self, connection: libvirt.virConnect, uri: str) -> None:
        self._connection, self._uri = connection, uri

    def find(self, name: str) -> Domain | None:
        """See `Hypervisor`."""
        domain = self._lookup(name)
        if domain is None:
            return None
        owner, build = self._mark(domain, name)
        with self._calling("isActive", f"domain {name}"):
            return Domain(owner, build, bool(domain.isActive()))

    def volume_path(self, pool: str, volume: str) -> str:
        """See `Hypervisor`."""
        storage = self._refreshed(pool)
        with self._calling("storageVolLookupByName", f"volume {volume} of pool {pool}"):
            return str(storage.storageVolLookupByName(volume).path())

    def volume_sha256(self, pool: str, volume: str) -> str:
        """See `Hypervisor`."""
        digest = hashlib.sha256()
        with self._calling("download", f"volume {volume} of pool {pool}"):
            stream = self._connection.newStream()
            self._connection.storagePoolLookupByName(pool).storageVolLookupByName(volume).download(stream, 0, 0)
            stream.recvAll(lambda _stream, content, _opaque: digest.update(content), None)
            stream.finish()
        return digest.hexdigest()

    def make_overlay(self, pool: str, volume: str, *, base: str, size_gib: int) -> str:
        """See `Hypervisor`."""
        return str(self._made(pool, volume, xml.overlay(volume, base=base, size_gib=size_gib)).path())

    def make_private(self, pool: str, volume: str, content: bytes) -> str:
        """See `Hypervisor`."""
        made = self._made(pool, volume, xml.private(volume, len(content)))
        with self._calling("upload", f"volume {volume} of pool {pool}"):
            stream = self._connection.newStream()
            made.upload(stream, 0, len(content))
            stream.sendAll(lambda _stream, size, sent: _take(content, size, sent), [0])
            stream.finish()
        return str(made.path())

    def delete_volume(self, pool: str, volume: str) -> None:
        """See `Hypervisor`."""
        storage = self._refreshed(pool)
        with self._calling("delete", f"volume {volume} of pool {pool}"):
            if volume in storage.listVolumes():
                make(writes.to_volume(pool, volume, writes.DELETE))
                storage.storageVolLookupByName(volume).delete()

    def define(self, domain: DomainSpec) -> None:
        """See `Hypervisor`."""
        make(writes.to_domain(domain.name, writes.DEFINE))
        with self._calling("defineXML", f"domain {domain.name}"):
            self._connection.defineXML(xml.domain(domain, architecture(self._connection)))

    def start(self, name: str) -> None:
        """See `Hypervisor`."""
        make(writes.to_domain(name, writes.START))
        with self._calling("create", f"domain {name}"):
            self._connection.lookupByName(name).create()

    def shut_down(self, name: str) -> None:
        """See `Hypervisor`."""
        make(writes.to_domain(name, writes.PRESS))
        with self._calling("shutdownFlags", f"domain {name}"), _unless_off():
            self._connection.lookupByName(name).shutdownFlags(libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN)

    def power_off(self, name: str) -> None:
        """See `Hypervisor`."""
        make(writes.to_domain(name, writes.CUT))
        with self._calling("destroy", f"domain {name}"), _unless_off():
            self._connection.lookupByName(name).destroy()

    def undefine(self, name: str) -> None:
        """See `Hypervisor`."""
        make(writes.to_domain(name, writes.UNDEFINE))
        with self._calling("undefineFlags", f"domain {name}"):
            self._connection.lookupByName(name).undefineFlags(libvirt.VIR_DOMAIN_UNDEFINE_NVRAM)

    def ask(self, name: str, word: str) -> str:
        """See `Hypervisor`."""
        if word in writes.VIP_WORDS:
            make(writes.to_domain(name, writes.vip(word)))
        with self._calling("openChannel", f"channel {CHANNEL} of domain {name}"):
            # A stream without an event loop blocks for good; its end from another thread wakes it up.
            stream = self._connection.newStream()
            self._connection.lookupByName(name).openChannel(CHANNEL, stream, 0)
            alarm = threading.Timer(CHANNEL_ANSWER_S, stream.abort)
            alarm.start()
            try:
                stream.send(f"{word}\n".encode())
                answer = b""
                while not answer.endswith(b"\n"):
                    answer += stream.recv(256)
            finally:
                alarm.cancel()
                alarm.join()
                with contextlib.suppress(libvirt.libvirtError):
                    stream.abort()
        return answer.decode(errors="replace").strip().rsplit("\n", 1)[-1]

    def _made(self, pool: str, volume: str, volume_xml: str) -> libvirt.virStorageVol:
        """Make a volume, in place of any volume of that name."""
        self.delete_volume(pool, volume)
        make(writes.to_volume(pool, volume, writes.MAKE))
        with self._calling("createXML", f"volume {volume} of pool {pool}"):
            return self._connection.storagePoolLookupByName(pool).createXML(volume_xml)

    def _refreshed(self, pool: str) -> libvirt.virStoragePool:
        """Return a pool after libvirt has listed its volumes again."""
        with self._calling("refresh", f"pool {pool}"):
            storage = self._connection.storagePoolLookupByName(pool)
            storage.refresh()
            return storage

    def _mark(self, domain: libvirt.virDomain, name: str) -> tuple[str, str]:
        """Return the owner and build of a domain. Both are empty if this program did not make it."""
        with self._calling("metadata", f"domain {name}"):
            try:
                text = domain.metadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, OWNER)
            except libvirt.libvirtError as error:
                if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN_METADATA:
                    return "", ""
                raise
        mark = ElementTree.fromstring(text)  # noqa: S314
        return mark.get("owner", ""), mark.get("build", "")

    def _lookup(self, name: str) -> libvirt.virDomain | None:
        with self._calling("lookupByName", f"domain {name}"):
            try:
                return self._connection.lookupByName(name)
            except libvirt.libvirtError as error:
                if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
                    return None
                raise

    def _calling(self, call: str, what: str) -> AbstractContextManager[None]:
        return calling(self._uri, call, what)


@contextmanager
def connected(uri: str) -> Iterator[Libvirt]:
    """Connect to libvirt for the duration of the block.

    Raises:
        HypervisorError: libvirt is not reachable.
    """
    with opened(uri) as connection:
        yield Libvirt(connection, uri)


@contextmanager
def opened(uri: str) -> Iterator[libvirt.virConnect]:
    """Open a connection of the library itself, for the duration of the block.

    Raises:
        HypervisorError: libvirt is not reachable.
    """
    # By default libvirt also prints each error to standard error. The operator gets them all as exceptions.
    libvirt.registerErrorHandler(lambda _context, _error: None, None)
    LOG.debug("%s: open connection", uri)
    try:
        connection = libvirt.open(uri)
    except libvirt.libvirtError as error:
        fix = "start libvirtd (modular daemons: virtqemud, virtstoraged), or correct platform.baremetal.libvirtURI"
        if urlsplit(uri).hostname is None and REFUSED.search(_message(error)):
            fix = NO_ACCESS
        raise HypervisorError(f"libvirt is not reachable: {_message(error)}", where=uri, fix=fix) from error
    try:
        yield connection
    finally:
        connection.close()


def architecture(connection: libvirt.virConnect) -> str:
    """Return the architecture of a connection's host, in libvirt's words."""
    return str(connection.getInfo()[0])


@contextmanager
def calling(uri: str, call: str, what: str) -> Iterator[None]:
    """Write a call of libvirt to the log, without its data, and convert its errors.

    Args:
        uri: The URI of libvirt.
        call: The library's name of the call.
        what: The domain, volume, pool or channel that the call is about.

    Raises:
        HypervisorError: libvirt refuses.
    """
    LOG.debug("%s: %s %s", uri, call, what)
    try:
        yield
    except libvirt.libvirtError as error:
        LOG.debug("%s: %s %s: refused: %s", uri, call, what, _message(error))
        raise HypervisorError(f"{what}: {_message(error)}", where=uri, fix=_fix_of(error, uri, what)) from error


@contextmanager
def _unless_off() -> Iterator[None]:
    """Let a call end a domain that has gone off since it was found running."""
    try:
        yield
    except libvirt.libvirtError as error:
        if error.get_error_code() != libvirt.VIR_ERR_OPERATION_INVALID:
            raise


def _take(content: bytes, size: int, sent: list[int]) -> bytes:
    chunk = content[sent[0] : sent[0] + size]
    sent[0] += len(chunk)
    return chunk


def _message(error: libvirt.libvirtError) -> str:
    return " ".join(str(error.get_error_message() or error).split())


def _fix_of(error: libvirt.libvirtError, uri: str, what: str) -> str:
    text = _message(error)
    if inactive := INACTIVE.search(text):
        return f"`virsh -c {word(uri)} net-start {word(inactive[1])}`"
    if "bridge" in text.lower() or "Cannot get interface" in text:
        return "make the bridge that platform.baremetal.externalBridge names, and set it up"
    if CHANNEL in what:
        return "check on the console of the VM whether okd-vip-channel.service runs"
    if error.get_error_code() in (libvirt.VIR_ERR_NO_STORAGE_POOL, libvirt.VIR_ERR_NO_STORAGE_VOL):
        return "make it, or correct bootstrap.pool and bootstrap.base_volume of the stack"
    return "read libvirt's log"
