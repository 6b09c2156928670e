"""One rendered file, and the program that reads it on the machine."""

from dataclasses import dataclass, field
from enum import StrEnum


class Reader(StrEnum):
    """The program that reads a file, and can judge it before a machine does."""

    KEEPALIVED = "keepalived"
    HAPROXY = "haproxy"
    COREDNS = "coredns"
    NFT = "nft"
    SYSTEMD = "systemd"
    BASH = "bash"
    NETWORK_MANAGER = "NetworkManager"
    KEYFILE = "nmcli"
    DHCLIENT = "dhclient"


MODES = {Reader.BASH: 0o755, Reader.KEYFILE: 0o600}  # NetworkManager reads no keyfile that others can
OTHERS_MODE = 0o644


@dataclass(frozen=True)
class RenderedFile:
    """One file as a machine will see it."""

    path: str
    text: str = field(repr=False)
    reader: Reader
    secret: bool = False
    """True: it is shown nowhere, and its owner alone may read it on the machine."""

    @property
    def mode(self) -> int:
        """Permissions, by what the file is."""
        return MODES.get(self.reader, OTHERS_MODE)

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rsplit("/", 1)[-1]


Files = tuple[RenderedFile, ...]
