"""One rendered file, and the program that reads it on the machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Reader(StrEnum):
    """The program that reads a file on the machine. It can also validate the file beforehand."""

    KEEPALIVED = "keepalived"
    HAPROXY = "haproxy"
    COREDNS = "coredns"
    NFT = "nft"
    SYSTEMD = "systemd"
    BASH = "bash"
    NETWORK_MANAGER = "NetworkManager"
    KEYFILE = "nmcli"
    DHCLIENT = "dhclient"
    TMPFILES = "systemd-tmpfiles"
    HOSTNAMED = "systemd-hostnamed"
    NODEIP = "nodeip-configuration"
    CHRONYD = "chronyd"
    DNSMASQ = "dnsmasq"


MODES = {Reader.BASH: 0o755, Reader.KEYFILE: 0o600}  # NetworkManager ignores a keyfile that others can read
OTHERS_MODE = 0o644


@dataclass(frozen=True)
class RenderedFile:
    """One file as the machine gets it."""

    path: str
    text: str = field(repr=False)
    reader: Reader
    secret: bool = False
    """Whether the file holds a secret: it is never shown, and only its owner can read it on the machine."""

    @property
    def mode(self) -> int:
        """The permission bits, which depend on the reader."""
        return MODES.get(self.reader, OTHERS_MODE)

    @property
    def is_mask(self) -> bool:
        """Whether it masks a unit: systemd never starts one whose file is empty (systemd.unit(5))."""
        return self.reader is Reader.SYSTEMD and not self.text

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]


Files = tuple[RenderedFile, ...]
Folders = Mapping[str, Files]
"""Files by folder: `bootstrap`, `control-plane`, `compute`, `hosts/<name>`."""
