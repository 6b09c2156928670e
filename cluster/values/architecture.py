"""The architecture of servers."""

from enum import StrEnum


class Architecture(StrEnum):
    """The architectures of servers that this program installs, by the installer's words."""

    AMD64 = "amd64"
    ARM64 = "arm64"

    @property
    def option(self) -> str:
        """The option that names the base ISO of this architecture."""
        return "media.base_iso" if self is Architecture.AMD64 else "media.base_iso_arm64"
