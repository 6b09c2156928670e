"""A media server without a network."""

from dataclasses import dataclass, field

DIGEST = "ab" * 32


@dataclass
class FakeMedia:
    """Implements `providers.host_provisioning.installation.boot_procedures.NetworkMedia`."""

    revision: str = DIGEST
    read: dict[str, int] = field(default_factory=dict)
    published: list[str] = field(default_factory=list)

    report: str = ""
    """The disk report of the host's live system."""
    fetched: str = ""
    """What a host has fetched over the network."""
    enabled: set[str] = field(default_factory=set)
    """Hosts that are served their installer."""
    pem: str = ""
    """The certificate by which it serves over TLS; empty if it serves over plain HTTP."""
    makes: int = 1
    """Number of calls that answer that the ISO is not made yet."""

    def publish(self, host: str) -> str | None:
        if self.makes:
            self.makes -= 1
            return None
        self.published.append(host)
        return self.url(host)

    def url(self, host: str, revision: str = "") -> str:
        return f"http{'s' if self.pem else ''}://media/{revision or self.revision}/{host}.iso"

    def sent(self, url: str) -> int:
        return self.read.get(url, 0)

    def certificate(self, url: str) -> str:
        return self.pem

    def progress(self, url: str) -> str:
        return ""

    def digest(self, host: str) -> str:
        return self.revision

    def disk_report(self, host: str) -> str:
        return self.report

    def enable_boot(self, host: str) -> None:
        self.enabled.add(host)

    def disable_boot(self, host: str) -> None:
        self.enabled.discard(host)

    def size(self, host: str) -> int:
        return 1

    def fetched_files(self, host: str) -> str:
        return self.fetched

    def boot(self, host: str) -> str | None:
        """Serve iPXE on a host; return the URL of the live system that it then boots, or None: it boots its disk."""
        if host not in self.enabled:
            return None
        self.fetch(self.url(host))
        return self.url(host)

    def fetch(self, url: str) -> None:
        """Read the ISO, as a BMC that downloads it at the insert."""
        self.read[url] = 1
