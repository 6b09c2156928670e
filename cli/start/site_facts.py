"""What a site knows for a new stack: DNS, this machine's routes, its libvirt, openshift-install on PATH."""

import platform
import socket
from typing import Protocol

from base.errors import HypervisorError, word
from cli.start.openshift_install import STREAM_NAMES, Release, release
from cluster.values.address import Address, parse_address
from cluster.values.architecture import Architecture
from providers.provisioner_preflight.probe import LocalProbe
from wires.segment.routes import source_to


class SiteFacts(Protocol):
    """The questions. None of them changes anything."""

    def addresses(self, name: str) -> list[Address]:
        """Return the addresses that DNS has for a name."""
        ...

    def source_to(self, host: str) -> str:
        """Return the address of this machine towards a host, or in words why there is none."""
        ...

    def base_volumes(self, uri: str, pool: str) -> list[str]:
        """Return the names of the qcow2 volumes of a pool that a disk may be an overlay of.

        Raises:
            HypervisorError: libvirt, or the pool, does not answer.
        """
        ...

    def architecture(self) -> Architecture | None:
        """Return this machine's architecture, which the bootstrap VM shares."""
        ...

    def release(self, os_image_stream: str) -> Release | None:
        """Return what openshift-install knows of its release, with the images of a stream; None if not on PATH."""
        ...


class LocalSite:
    """`SiteFacts` as this machine sees its site."""

    def addresses(self, name: str) -> list[Address]:
        """See `SiteFacts`."""
        try:
            answers = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except OSError:
            return []
        return [address for answer in answers if (address := parse_address(str(answer[4][0])))]

    def source_to(self, host: str) -> str:
        """See `SiteFacts`."""
        try:
            return source_to(host)
        except socket.gaierror:
            return f"by no address: {host} does not resolve"
        except OSError:
            return "by no route"

    def base_volumes(self, uri: str, pool: str) -> list[str]:
        """See `SiteFacts`."""
        known = LocalProbe(lambda _: None).hypervisor(uri, pool, None).pool
        if known is None or not known.active:
            fix = f"virsh pool-define-as {word(pool)} dir --target <folder>; virsh pool-start {word(pool)}"
            raise HypervisorError(f"no active pool {pool}", where=uri, fix=fix)
        qcow2 = {name: volume for name, volume in known.volumes.items() if volume.format == "qcow2"}
        return sorted(name for name, volume in qcow2.items() if not volume.backed)

    def architecture(self) -> Architecture | None:
        """See `SiteFacts`."""
        machine = platform.machine()
        return next((architecture for architecture, name in STREAM_NAMES.items() if name == machine), None)

    def release(self, os_image_stream: str) -> Release | None:
        """See `SiteFacts`."""
        return release(os_image_stream)
