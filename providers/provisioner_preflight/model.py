"""What is wanted of the provisioner, and how it is probed."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from cluster.options import PayloadDigests, Phase
from payload.kubeconfig import Kubeconfig
from providers.base.spec import Model, Spec
from wires.libvirt.hypervisor import HostFacts

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan


class ProvisionerPreflightSpec(Spec):
    """What is wanted of the provisioner; a changed input has it probed again."""

    phase: Phase
    """In `production` nothing of the VM is needed any more."""
    stack: str
    payload: PayloadDigests
    domain: str
    """The cluster's."""
    libvirt_uri: str
    bridges: dict[str, str]
    """Bridge by the key of platform.baremetal that names it."""
    vm: str
    """Name of the bootstrap VM: the room that its own volumes take counts as free."""
    emulated: bool
    pool: str
    base_volume: str
    base_sha256: str
    """Of the base volume; empty: not compared."""
    disk_gib: int
    manage: bool
    """True: pool and base volume are made later in the same run, of `image_source`."""
    image_source: str
    image_sha256: str
    media_address: str
    media_port: int
    base_iso_sha256: str
    base_iso_url: str

    @classmethod
    def of(cls, plan: "ClusterPlan", stack: str) -> Self:
        """What a plan wants."""
        options, image = plan.options, plan.options.provisioner.base_image
        bridges = {"externalBridge": plan.bootstrap.bridge, "provisioningBridge": plan.provisioning.bridge}
        return cls(
            phase=options.phase,
            stack=stack,
            payload=options.payload,
            domain=plan.domain,
            libvirt_uri=plan.libvirt_uri,
            bridges={key: name for key, name in bridges.items() if name},
            vm=plan.bootstrap.name,
            emulated=options.bootstrap.emulated,
            pool=options.bootstrap.pool,
            base_volume=options.bootstrap.base_volume,
            base_sha256=options.bootstrap.base_sha256,
            disk_gib=options.bootstrap.disk_gib,
            manage=options.provisioner.manage,
            image_source=image.source if image else "",
            image_sha256=image.sha256 if image else "",
            media_address=str(options.media.address or ""),
            media_port=options.media.port,
            base_iso_sha256=options.media.base_iso.sha256,
            base_iso_url=options.media.base_iso.url,
        )


class Bridge(Model):
    """A network interface that shall be a bridge."""

    is_bridge: bool
    up: bool
    """Switched on."""
    linked: bool
    """At least one port has a link."""


class Tool(Model):
    """An installed program."""

    path: Path
    version: str
    """Empty: it cannot be run."""


class ProvisionerProbe(Protocol):
    """What the judgement asks of the world; nothing is changed."""

    def hypervisor(self, uri: str, pool: str | None, volumes: frozenset[str]) -> HostFacts:
        """What libvirt reports of its host.

        Raises:
            HypervisorError: Not reachable, silent, or it refuses.
        """
        ...

    def bridge(self, name: str) -> Bridge | None:
        """An interface of this host."""
        ...

    def read(self, path: Path) -> None:
        """Read a byte of a file of this host.

        Raises:
            OSError: It cannot be read.
        """
        ...

    def sha256(self, path: Path) -> str:
        """Digest of a file of this host.

        Raises:
            OSError: It cannot be read.
        """
        ...

    def base_iso(self, sha256: str) -> Path:
        """Where the cache has the base ISO, when it has it."""
        ...

    def coreos_installer(self) -> Tool | None:
        """The tool; None: there is none."""
        ...

    def payload(self, stack: str, name: str, sha256: str) -> bytes:
        """A file of the stack's payload.

        Raises:
            PayloadError: Missing, or another one.
        """
        ...

    def kubeconfig(self, stack: str) -> Kubeconfig | None:
        """The one beside a stack's payload.

        Raises:
            PayloadError: It is of no use.
        """
        ...

    def now(self) -> datetime:
        """The time, with its zone."""
        ...

    def listen(self, address: str, port: int) -> None:
        """Take a TCP port for a moment.

        Raises:
            OSError: It cannot be had.
        """
        ...
