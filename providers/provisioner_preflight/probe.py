"""Probes this host (sockets, /sys, files, coreos-installer, libvirt), and changes nothing."""

import errno
import hashlib
import os
import shutil
import socket
import subprocess
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from base import log
from base.errors import BootMediaError, HypervisorError
from base.files import replaced
from base.progress import Progress, Report
from boot_media.architecture import architecture_of
from boot_media.base_image import base_path
from boot_media.disk_image import DiskImage, disk_image_of
from boot_media.tools import cache_dir, find_coreos_installer
from cluster.values.architecture import Architecture
from payload.stack_payload import LocalPayloadFiles
from providers.provisioner_preflight.model import Bridge, Tool
from wires.libvirt.facts import host_facts
from wires.libvirt.hypervisor import HostFacts
from wires.segment.netlink import family_of

IFF_UP = 0x1
TOOL_S = 10


@dataclass(frozen=True)
class LocalProbe(LocalPayloadFiles):
    """`ProvisionerProbe` of this machine."""

    report: Report
    interfaces: Path = Path("/sys/class/net")
    libvirt_s: float = 20
    """Seconds to wait for libvirt, whose library would wait forever."""

    def hypervisor(self, uri: str, pool: str | None, volumes: frozenset[str] | None) -> HostFacts:
        """See `ProvisionerProbe`. Without names of volumes, all of the pool are in the answer."""
        answer = Future[HostFacts]()

        def ask() -> None:
            try:
                answer.set_result(host_facts(uri, pool, volumes))
            except Exception as error:
                answer.set_exception(error)

        # A daemon thread, because nothing can end a call of the library from outside.
        log.thread(ask).start()
        try:
            return answer.result(self.libvirt_s)
        except TimeoutError:
            what = f"libvirt is not reachable: no answer within {self.libvirt_s:g} s"
            raise HypervisorError(what, where=uri) from None

    def bridge(self, name: str) -> Bridge | None:
        """See `ProvisionerProbe`."""
        folder = self.interfaces / name
        try:
            flags = int((folder / "flags").read_text(), 16)
        except OSError:
            return None
        # Ask the ports: the bridge's own state stays "unknown" if its ports forward at once.
        linked = any(self._has_link(port.name) for port in folder.glob("brif/*"))
        return Bridge(is_bridge=(folder / "bridge").is_dir(), up=bool(flags & IFF_UP), linked=linked)

    def read(self, path: Path) -> None:
        """See `ProvisionerProbe`."""
        with path.open("rb") as file:
            file.read(1)

    def sha256(self, path: Path) -> str:
        """See `ProvisionerProbe`; cached by the file's inode, size and modification time."""
        status = path.stat()
        remembered = (
            cache_dir() / "digests" / f"{status.st_dev}-{status.st_ino}-{status.st_size}-{status.st_mtime_ns}"
        )
        with path.open("rb") as file:
            with suppress(OSError):
                return remembered.read_text()
            self.report(Progress("computing a digest", f"{path}, {status.st_size // 1024**2:,} MiB"))
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with suppress(OSError):  # a cache that cannot be written costs time, not the run
            remembered.parent.mkdir(parents=True, exist_ok=True)
            with replaced(remembered, 0o644) as file:
                file.write(digest.encode())
        return digest

    def architecture(self, iso: Path) -> Architecture | None:
        """See `ProvisionerProbe`."""
        with iso.open("rb") as file:
            return architecture_of(file)

    def disk_image(self, path: Path) -> DiskImage:
        """See `ProvisionerProbe`."""
        with path.open("rb") as file:
            return disk_image_of(file, path.stat().st_size)

    def cached(self, sha256: str) -> Path:
        """See `ProvisionerProbe`."""
        return base_path(sha256)

    def free(self, path: Path) -> int:
        """See `ProvisionerProbe`."""
        existing = next(folder for folder in (path, *path.parents) if folder.exists())
        if not existing.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(existing))
        return shutil.disk_usage(existing).free

    def coreos_installer(self) -> Tool | None:
        """See `ProvisionerProbe`."""
        try:
            path = find_coreos_installer()
        except BootMediaError:
            return None
        try:
            command = [str(path), "--version"]
            printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TOOL_S)  # noqa: S603
        except (OSError, subprocess.SubprocessError):
            return Tool(path=path, version="")
        return Tool(path=path, version=printed.stdout.strip().rpartition(" ")[2])

    def listen(self, address: str, port: int) -> None:
        """See `ProvisionerProbe`."""
        socket.create_server((address, port), family=family_of(address)).close()

    def _has_link(self, interface: str) -> bool:
        try:
            return (self.interfaces / interface / "carrier").read_text().strip() == "1"
        except OSError:  # the kernel refuses to read the carrier of an interface that is down
            return False
