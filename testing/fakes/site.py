"""The facts of a site for a new stack, set by a test, without a network and without libvirt."""

from dataclasses import dataclass, field

from base.errors import HypervisorError
from cli.start.openshift_install import Release, release
from cluster.values.address import Address, parse_address
from cluster.values.architecture import Architecture
from testing import plans


def rehearsal_names() -> dict[str, list[str]]:
    """Return the records of the rehearsal's machines, by name."""
    hosts = {f"{name}.okd.lab.test": [f"192.168.111.{21 + index}"] for index, name in enumerate(plans.HOSTS)}
    return {**hosts, "bootstrap.okd.lab.test": ["192.168.111.20"]}


BMCS = [f"172.22.0.{number}" for number in range(101, 106)]
"""The addresses of the rehearsal's BMCs."""


@dataclass
class FakeSite:
    """`SiteFacts` of the rehearsal, complete by default but for the facts of openshift-install on PATH."""

    names: dict[str, list[str]] = field(default_factory=rehearsal_names)
    wildcard: tuple[str, ...] = ()
    """The records that DNS has for every other name."""
    sources: dict[str, str] = field(default_factory=lambda: dict.fromkeys(BMCS, "172.22.0.2"))
    elsewhere: str = "by no route"
    """The address of this machine towards every other host."""
    volumes: list[str] | None = field(default_factory=lambda: ["coreos-qemu.qcow2"])
    """None: libvirt does not answer."""
    asked: list[str] = field(default_factory=list)
    """The names that DNS was asked for."""

    def addresses(self, name: str) -> list[Address]:
        """See `SiteFacts`."""
        self.asked.append(name)
        return [address for text in self.names.get(name, self.wildcard) if (address := parse_address(text))]

    def source_to(self, host: str) -> str:
        """See `SiteFacts`."""
        return self.sources.get(host, self.elsewhere)

    def base_volumes(self, uri: str, pool: str) -> list[str]:
        """See `SiteFacts`."""
        if self.volumes is None:
            raise HypervisorError("libvirt is not reachable: no such socket", where=uri)
        return self.volumes

    def architecture(self) -> Architecture | None:
        """See `SiteFacts`."""
        return Architecture.AMD64

    def release(self, os_image_stream: str) -> Release | None:
        """See `SiteFacts`."""
        return release(os_image_stream)
