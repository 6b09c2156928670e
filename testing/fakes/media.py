"""A media server without a network."""

from dataclasses import dataclass, field

DIGEST = "ab" * 32


@dataclass
class FakeMedia:
    """Implements `providers.host_provisioning.engine.BootIsos`."""

    revision: str = DIGEST
    read: dict[str, int] = field(default_factory=dict)
    published: list[str] = field(default_factory=list)

    says: str = ""
    """The verdict of the host's live system."""
    makes: int = 1
    """Number of calls that answer that the ISO is not made yet."""

    def publish(self, host: str) -> str | None:
        if self.makes:
            self.makes -= 1
            return None
        self.published.append(host)
        return self.url(host)

    def url(self, host: str, revision: str = "") -> str:
        return f"http://media/{revision or self.revision}/{host}.iso"

    def sent(self, url: str) -> int:
        return self.read.get(url, 0)

    def progress(self, url: str) -> str:
        return ""

    def digest(self, host: str) -> str:
        return self.revision

    def verdict(self, host: str) -> str:
        return self.says

    def fetch(self, url: str) -> None:
        """Read the ISO, as a BMC that downloads it at the insert."""
        self.read[url] = 1
