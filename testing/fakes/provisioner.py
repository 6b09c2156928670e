"""A provisioner without faults, for tests to change."""

import errno
import os
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from base.errors import HypervisorError, PayloadError
from boot_media.disk_image import QCOW2, DiskImage
from boot_media.tools import COREOS_INSTALLER_VERSION
from cluster.values.architecture import Architecture
from payload.kubeconfig import Kubeconfig
from providers.preflight import PreflightResult
from providers.provisioner_preflight.engine import IGNITION_ROOM, check_provisioner
from providers.provisioner_preflight.findings import GIB
from providers.provisioner_preflight.model import Bridge, ProvisionerPreflightSpec, Tool
from testing import payloads
from wires.libvirt.hypervisor import HostFacts, Pool, Volume

SSH = "qemu+ssh://root@kvm.example.com/system"
BASE, ISO, IMAGE = "/pool/base.qcow2", "/cache/iso", "/images/base.qcow2"
PROPS: dict[str, Any] = {
    "phase": "bootstrap",
    "stack": "prod",
    "payload": {"bootstrap": "f0" * 32, "master": "f1" * 32, "worker": "f2" * 32},
    "domain": payloads.DOMAIN,
    "libvirt_uri": "qemu:///system",
    "bridges": {"externalBridge": "baremetal"},
    "vm": "okd-bootstrap",
    "emulated": False,
    "pool": "default",
    "base_volume": "base.qcow2",
    "base_sha256": "b0",
    "disk_gib": 32,
    "manage": False,
    "image_source": "",
    "image_sha256": "",
    "media_address": "192.0.2.1",
    "media_port": 8080,
    "base_iso_sha256": "d3",
    "base_iso_url": "",
}
MANAGED: dict[str, Any] = {
    "manage": True,
    "base_volume": "okd-base-e4.qcow2",
    "base_sha256": "",
    "pool_path": "/srv/okd",
    "image_source": IMAGE,
    "image_sha256": "e4",
}
VOLUME = Volume(path=BASE, format="qcow2", capacity=10 * GIB, allocation=GIB)
POOL = Pool(active=True, path="/pool", free=32 * GIB + IGNITION_ROOM, volumes={"base.qcow2": VOLUME})
HOST = HostFacts(version=(9, 0, 0), kvm=True, pool=POOL)
DOWN = HypervisorError("libvirt is not reachable: no such file", where="qemu:///system", fix="not shown")
BASE_IMAGE = DiskImage(QCOW2, GIB, 10 * GIB)
AT_WORK = Bridge(is_bridge=True, up=True, linked=True)


@dataclass
class FakeProvisioner:
    """Implements `providers.provisioner_preflight.model.ProvisionerProbe`."""

    host: HostFacts | HypervisorError = HOST
    bridges: dict[str, Bridge] = field(default_factory=lambda: {"baremetal": AT_WORK})
    files: dict[str, str | int] = field(default_factory=lambda: {BASE: "b0", ISO: "d3", IMAGE: "e4"})
    """Digest by path, or the errno of a read."""
    architectures: dict[str, Architecture] = field(default_factory=dict)
    """By path of a live ISO."""
    image: DiskImage = BASE_IMAGE
    """What each disk image is that can be read."""
    room: int | OSError = 33 * GIB + IGNITION_ROOM
    """Free bytes where a pool will be made."""
    tool: Tool | None = field(default_factory=lambda: Tool(path=Path("/bin/tool"), version=COREOS_INSTALLER_VERSION))
    port: int = 0
    """The errno of listening; 0 for success."""
    contents: dict[str, bytes] = field(default_factory=payloads.payload)
    beside: Kubeconfig | PayloadError | None = None
    """The kubeconfig beside the payload's files."""
    time: datetime = payloads.NOW
    asked: list[tuple[str, str | None, frozenset[str]]] = field(default_factory=list)

    def hypervisor(self, uri: str, pool: str | None, volumes: frozenset[str]) -> HostFacts:
        self.asked.append((uri, pool, volumes))
        if isinstance(self.host, HypervisorError):
            raise self.host
        return self.host

    def bridge(self, name: str) -> Bridge | None:
        return self.bridges.get(name)

    def read(self, path: Path) -> None:
        self.sha256(path)

    def sha256(self, path: Path) -> str:
        digest = self.files.get(str(path), errno.ENOENT)
        if isinstance(digest, int):
            raise OSError(digest, os.strerror(digest))
        return digest

    def architecture(self, iso: Path) -> Architecture | None:
        return self.architectures.get(str(iso))

    def disk_image(self, path: Path) -> DiskImage:
        self.sha256(path)
        return self.image

    def cached(self, sha256: str) -> Path:
        return Path({"d3": ISO}.get(sha256, f"/cache/{sha256}"))

    def free(self, path: Path) -> int:
        if isinstance(self.room, OSError):
            raise self.room
        return self.room

    def coreos_installer(self) -> Tool | None:
        return self.tool

    def payload(self, stack: str, name: str, sha256: str) -> bytes:
        assert stack == "prod"
        if name not in self.contents:
            raise PayloadError(f"sha256 is another one, wanted {sha256}", where=name, fix="put it there")
        return self.contents[name]

    def kubeconfig(self, stack: str) -> Kubeconfig | None:
        assert stack == "prod"
        if isinstance(self.beside, PayloadError):
            raise self.beside
        return self.beside

    def now(self) -> datetime:
        return self.time

    def listen(self, address: str, port: int) -> None:
        if self.port:
            raise OSError(self.port, os.strerror(self.port))


def spec_with(**changes: Any) -> ProvisionerPreflightSpec:
    return ProvisionerPreflightSpec.model_validate({**PROPS, **changes})


def result_of(spec: dict[str, Any] | None = None, **world: Any) -> PreflightResult:
    result, _ = check_provisioner(spec_with(**(spec or {})), FakeProvisioner(**world))
    return result


def with_pool(**changes: Any) -> HostFacts:
    return replace(HOST, pool=replace(POOL, **changes))


def with_base(**changes: Any) -> HostFacts:
    return with_pool(volumes={"base.qcow2": replace(VOLUME, **changes)})


def files(**changes: str | int) -> dict[str, str | int]:
    return {BASE: "b0", ISO: "d3", IMAGE: "e4"} | {
        {"base": BASE, "iso": ISO, "image": IMAGE}[k]: v for k, v in changes.items()
    }
