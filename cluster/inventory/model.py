"""The inventory: one entry per server, and what its BMC did not tell, with the reason."""

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict

from base.spec import Model
from cluster.values.bmc_url import BmcUrl

GIB = 1 << 30
RAID, HDD = "RAID", "HDD"
Link = Literal["up", "down", ""]


class Entry(Model):
    """Base of all parts: a file that has more than this release knows is refused, since a person wrote it."""

    model_config = ConfigDict(extra="forbid")


class Gap(Entry):
    """What a BMC did not tell."""

    what: str
    """`memory`, `disks`, `speed of NIC.1`."""
    why: str


class Cpu(Entry):
    """The CPUs of a server, which are alike."""

    count: int | None = None
    model: str = ""
    architecture: str = ""
    """`amd64` or `arm64`; empty if unknown."""
    cores: int | None = None
    """Of all CPUs."""
    threads: int | None = None
    """Of all CPUs."""
    x86_64_v3: bool | None = None
    """Whether it has the instructions that CentOS Stream CoreOS 10 needs. None: unknown, or no x86."""


class Card(Entry):
    """A port of a network card."""

    name: str
    """Its Id on the BMC."""
    mac: str
    """Lower case, with colons; empty if unknown."""
    speed_mbps: int | None = None
    link: Link = ""
    """Empty if unknown, as on many servers that are off."""
    pci: str = ""
    """Its place, as the UEFI device path; empty if unknown."""
    pxe: bool | None = None
    """Whether the firmware may boot from it. None: unknown."""
    to_bmc: bool = False
    """Whether it leads to the server's own BMC and nowhere else."""
    switch: str = ""
    """The switch that its cable leads to, by LLDP: a name, or the MAC of its chassis; empty if unknown."""
    switch_port: str = ""
    """The port of that switch."""

    def __str__(self) -> str:
        return f"{self.name} ({self.mac})"


class Disk(Entry):
    """A disk as the server's system sees it: a drive, or a RAID volume in place of its drives."""

    name: str
    """Its Id on the BMC."""
    size_bytes: int | None = None
    model: str = ""
    serial: str = ""
    wwn: str = ""
    """As the system shows it: `0x` and the NAA number, or `eui.` and the EUI of an NVMe drive."""
    media: str = ""
    """`HDD` or `SSD`; empty if unknown."""
    protocol: str = ""
    """Redfish's word: `NVMe`, `SATA`, `SAS`, `USB`; empty if unknown."""
    raid: str = ""
    """Redfish's word for the type of a RAID volume, as RAID1; empty for a drive."""
    drives: tuple[str, ...] = ()
    """The serial numbers of a RAID volume's drives, or their names."""

    @property
    def size(self) -> str:
        """Its size in words."""
        return "size unknown" if self.size_bytes is None else f"{self.size_bytes // GIB} GiB"

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(filter(None, (self.serial or self.wwn, self.raid, self.size)))})"


class DiscoveredServer(Entry):
    """One server behind a BMC."""

    bmc: str
    """URL of its system, without a login: `https://10.0.0.21/redfish/v1/Systems/1`."""
    uuid: str = ""
    serial: str = ""
    manufacturer: str = ""
    model: str = ""
    tag: str = ""
    """Dell's service tag."""
    rack: str = ""
    """Where its BMC was told that it is, row, rack and unit: `R2 A1 U12`; empty if it was not told."""
    bios: str = ""
    firmware: str = ""
    """Version of the BMC's own firmware."""
    quirks: str = ""
    """The row of the program's table of BMCs that applies."""
    power: str = ""
    cpu: Cpu = Cpu()
    memory_mib: int | None = None
    cards: tuple[Card, ...] = ()
    disks: tuple[Disk, ...] = ()
    ways: tuple[str, ...] = ()
    """The types of `bmc.address` by which this program can boot it, best first."""
    licence: str = ""
    boot_mode: str = ""
    secure_boot: str = ""
    """`on` or `off`; empty if unknown."""
    clock_ahead_s: int | None = None
    """Seconds by which the BMC's clock is ahead of this machine's. None: unknown."""
    certificate_sha256: str = ""
    """Of the certificate that the BMC showed."""
    login: int = 0
    """Number of the login that was accepted, from 1."""
    requests: int = 0
    """Requests that were sent to its BMC for it."""
    gaps: tuple[Gap, ...] = ()


class Unread(Entry):
    """An address whose BMC was not read."""

    address: str
    why: str
    fix: str = ""
    silent: bool = False
    """Whether it was one of a range, and nothing answers there."""


class Inventory(Entry):
    """What one `discover` has read."""

    dated: datetime
    servers: tuple[DiscoveredServer, ...] = ()
    unread: tuple[Unread, ...] = ()

    def server_at(self, url: BmcUrl) -> DiscoveredServer | None:
        """Return the server behind an address of a BMC; None if it was not read, or it is one of several there."""
        if url.system_id:
            return next((it for it in self.servers if it.bmc == f"{url.base}{url.system_id}"), None)
        behind = [it for it in self.servers if it.bmc.startswith(f"{url.base}/")]
        return behind[0] if len(behind) == 1 else None
