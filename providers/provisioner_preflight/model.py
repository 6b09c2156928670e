"""Inputs and outputs of `ProvisionerPreflight`, and the protocol of its probes."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from pydantic import Field, SecretStr

from base.spec import Model, Outs, Spec
from boot_media.disk_image import DiskImage
from cluster.options import PayloadDigests
from cluster.values.architecture import Architecture
from cluster.values.phase import Phase
from cluster.values.platform import ClusterPlatform
from payload.checks import Expected
from payload.stack_payload import PayloadFiles, StackPayload
from wires.libvirt.hypervisor import HostFacts

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan


class ProvisionerPreflightSpec(Spec):
    """Needs of a cluster on the provisioner; a changed input repeats the probes."""

    phase: Phase
    """In `production` the bootstrap VM, and all that it needs, is not probed."""
    stack: str
    payload: PayloadDigests
    domain: str
    """Domain of the cluster."""
    topology: dict[str, str] = Field(default_factory=dict)
    """The values of install-config that an installed cluster may not change, by path; see `topology_of`."""
    payload_values: SecretStr = Field(SecretStr(""), repr=False)
    """The values that the payload must have been made from, as JSON; see `payload_values`. A proxy may have a login.

    Empty: unknown, in the state of an older release.
    """
    release: str = ""
    """The release image that the payload must install. Empty: any."""
    paths: tuple[str, ...] = ()
    """The paths of all files that this program writes on the machines."""
    libvirt_uri: str
    bridges: dict[str, str]
    """Bridges by their keys in platform.baremetal."""
    vm: str
    """Name of the bootstrap VM; the space of its existing volumes counts as free."""
    emulated: bool
    pool: str
    base_volume: str
    base_sha256: str
    """Digest of the base volume; if empty, it is not compared."""
    disk_gib: int
    manage: bool
    """If true, the same run creates pool and base volume later, from `image_source`."""
    pool_path: str = ""
    """The folder of a pool that the same run creates."""
    image_source: str
    image_sha256: str
    media_address: str
    media_port: int
    base_iso_sha256: str
    """Digest of the base ISO of amd64; empty if no server is of amd64."""
    base_iso_url: str
    base_iso_arm64_sha256: str = ""
    """Digest of the base ISO of arm64; empty if no server is of arm64."""
    base_iso_arm64_url: str = ""
    platform: ClusterPlatform = ClusterPlatform.NONE
    api_vips: tuple[str, ...] = ()
    """Those of the cluster, and of Ingress: a payload of platform baremetal has them."""
    ingress_vips: tuple[str, ...] = ()
    asks_okd: bool = False
    """Whether `up` waits for OKD itself, which takes the kubeconfig."""

    @property
    def image_by_url(self) -> bool:
        """Whether the base image comes from a URL: pulumi-libvirt then gets a file of the cache."""
        return self.manage and not self.image_source.startswith("/")

    @property
    def stack_payload(self) -> StackPayload:
        """The payload that the phase reads."""
        values = json.loads(self.payload_values.get_secret_value() or "{}")
        vips = self.api_vips, self.ingress_vips
        expected = Expected(self.domain, values, self.paths, self.release, self.platform, *vips)
        return StackPayload(self.stack, self.payload, self.phase, expected, self.asks_okd)

    @classmethod
    def of(cls, plan: "ClusterPlan", stack: str, paths: Iterable[str]) -> Self:
        """Build the spec of a plan."""
        options, image = plan.options, plan.options.provisioner.base_image
        manages = options.provisioner.manage
        payload = StackPayload.of(plan, stack, sorted(paths))
        base_isos = {key: iso for key, iso in options.media.base_isos.items() if key in plan.architectures.values()}
        amd64, arm64 = base_isos.get(Architecture.AMD64), base_isos.get(Architecture.ARM64)
        return cls(
            phase=payload.phase,
            stack=stack,
            payload=payload.digests,
            domain=payload.expected.domain,
            topology=plan.topology,
            payload_values=SecretStr(json.dumps(payload.expected.values)),
            release=payload.expected.release,
            paths=tuple(payload.expected.paths),
            platform=payload.expected.platform,
            api_vips=payload.expected.api_vips,
            ingress_vips=payload.expected.ingress_vips,
            libvirt_uri=plan.libvirt_uri,
            bridges=_bridges_of(plan),
            vm=plan.bootstrap.name,
            emulated=options.bootstrap.emulated,
            pool=options.bootstrap.pool,
            base_volume=image.volume(plan.name) if manages and image else options.bootstrap.base_volume,
            base_sha256=options.bootstrap.base_sha256,
            disk_gib=options.bootstrap.disk_gib,
            manage=manages,
            pool_path=options.provisioner.pool_path if manages else "",
            image_source=image.source if image else "",
            image_sha256=image.sha256 if image else "",
            media_address=str(options.media.address or ""),
            media_port=options.media.port,
            base_iso_sha256=amd64.sha256 if amd64 else "",
            base_iso_url=amd64.url if amd64 else "",
            base_iso_arm64_sha256=arm64.sha256 if arm64 else "",
            base_iso_arm64_url=arm64.url if arm64 else "",
            asks_okd=payload.asks_okd,
        )


def _bridges_of(plan: "ClusterPlan") -> dict[str, str]:
    # The bootstrap VM has a card there only to serve the control plane's network boot.
    provisioning = plan.provisioning.bridge if plan.clients_of_bootstrap else None
    bridges = {"externalBridge": plan.bootstrap.bridge, "provisioningBridge": provisioning}
    return {key: name for key, name in bridges.items() if name}


class ProvisionerPreflightOuts(Outs):
    """Findings of the preflight."""

    libvirt_version: str | None = None
    """None if the phase needs no libvirt."""
    kvm: bool | None = None
    """Whether the bootstrap VM's host has KVM; None if the phase needs no libvirt."""
    warnings: list[str] = []
    """Findings that did not stop `up`, one line each."""
    unseen: list[str] = []
    """Things that the preflight could not probe, and why."""


class Bridge(Model):
    """A network interface that ought to be a bridge."""

    is_bridge: bool
    up: bool
    """Whether the interface is administratively up."""
    linked: bool
    """Whether at least one port has a link."""


class Tool(Model):
    """An installed program."""

    path: Path
    version: str
    """Empty if the program does not run."""


class ProvisionerProbe(PayloadFiles, Protocol):
    """Probes of the provisioner; they change nothing."""

    def hypervisor(self, uri: str, pool: str | None, volumes: frozenset[str]) -> HostFacts:
        """Return what libvirt reports of its host, with the pool and these volumes of it.

        Raises:
            HypervisorError: libvirt is unreachable, does not answer, or refuses.
        """
        ...

    def bridge(self, name: str) -> Bridge | None:
        """Return an interface of this host, or None if it is missing."""
        ...

    def read(self, path: Path) -> None:
        """Read one byte of a file, to prove that it is readable.

        Raises:
            OSError: The file is unreadable.
        """
        ...

    def sha256(self, path: Path) -> str:
        """Return the digest of a file.

        Raises:
            OSError: The file is unreadable.
        """
        ...

    def architecture(self, iso: Path) -> Architecture | None:
        """Return the architecture of a live ISO, which can be read; None if it does not name it."""
        ...

    def disk_image(self, path: Path) -> DiskImage:
        """Return what a disk image is.

        Raises:
            OSError: The file is unreadable.
        """
        ...

    def cached(self, sha256: str) -> Path:
        """Return the path of a base image in the cache, whether or not it exists."""
        ...

    def free(self, path: Path) -> int:
        """Return the free bytes of the file system on which a folder is, or will be made.

        Raises:
            OSError: The folder cannot be made there.
        """
        ...

    def coreos_installer(self) -> Tool | None:
        """Return coreos-installer, or None if it is missing."""
        ...

    def listen(self, address: str, port: int) -> None:
        """Listen on a TCP port for a moment.

        Raises:
            OSError: The port is taken, or the address is not of this host.
        """
        ...
