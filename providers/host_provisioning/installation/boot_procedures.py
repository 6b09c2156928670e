"""How a server gets to its boot ISO: in a virtual CD drive, over the network by iPXE, or by UEFI HTTP."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol
from urllib.parse import urlsplit

from base.clock import Clock
from base.errors import BmcError, BmcRefusedError, BmcTimeoutError, Fault, ProvisioningError
from cluster.values.address import parse_address
from wires.bmc.client import CD, HTTP, PXE, BmcClient
from wires.bmc.steps import Steps, Waits

BROKEN_OFF_S = 120.0  # longer than TCP takes to give up on a machine that has just lost the VIP
INSERT_S = 300.0  # a BMC that downloads the whole ISO on insertion does so within its own HTTP time-out

PLAIN_HTTP = (
    "if it reads no ISO over TLS, remove the secret from its networkConfig, or set media.plain_http.<host> to true, "
    "which sends all that is in its ISO in the clear"
)


class BootMedia(Protocol):
    """Makes and serves boot ISOs."""

    def publish(self, host: str) -> str | None:
        """Have the host's ISO made and served; return the URL for `sent` and `progress`, or None until it is made."""
        ...

    def sent(self, url: str) -> int | None:
        """Return the bytes sent of what is at `url`; None if unknown."""
        ...

    def certificate(self, url: str) -> str:
        """Return the PEM by which a BMC verifies the server of `url`; empty if it is set up to do so, or cannot."""
        ...

    def progress(self, url: str) -> str:
        """Return who has read how much of what is at `url`; empty if nobody has, or if unknown."""
        ...

    def digest(self, host: str) -> str:
        """Return the SHA-256 of the ISO that was published for `host`."""
        ...

    def disk_report(self, host: str) -> str:
        """Return the report of the live system of `host` on its disk, see `boot_media.disk`; empty if none yet."""
        ...


class NetworkMedia(BootMedia, Protocol):
    """Serves hosts that fetch their ISO, or the files inside it, themselves."""

    def size(self, host: str) -> int:
        """Return the bytes of what is at the URL of `publish`: the host's live system, or its ISO."""
        ...

    def enable_boot(self, host: str) -> None:
        """Serve the host its installer from now on."""
        ...

    def disable_boot(self, host: str) -> None:
        """Serve the host no installer from now on, so that it goes on to its disk."""
        ...

    def fetched_files(self, host: str) -> str:
        """Return which files the host has fetched over the network; empty if none."""
        ...


class BootProcedure(Protocol):
    """How a server boots its ISO once, and its disk after that. The URL is that of `BootMedia.publish`."""

    step: ClassVar[str]
    """Name of the step in which the server is installed."""
    shows_on_bmc: ClassVar[bool]
    """Whether the BMC of a server shows that it is being installed, also to another run."""

    def prepare(self, steps: Steps, url: str) -> Waits:
        """Offer the ISO to a server that is off, before its boot mode is set."""
        ...

    def arm(self, steps: Steps, url: str) -> Waits:
        """Have the server boot the ISO next."""
        ...

    def disarm(self, steps: Steps) -> Waits:
        """Have the server never boot the ISO again."""
        ...

    def withdraw(self) -> None:
        """Stop serving the ISO where that needs no BMC: the installation has ended, or has failed."""
        ...

    def is_unread(self, url: str) -> bool:
        """Return whether it is known that nothing of the ISO was fetched, and thus nothing installed."""
        ...

    def is_stuck(self, url: str) -> bool:
        """Return whether a server that is on cannot continue, and has to boot the ISO again."""
        ...

    def never_fetched(self, url: str, within_s: float, why: str) -> Fault:
        """Return the fault of a server that has fetched nothing for so long."""
        ...


@dataclass(frozen=True)
class VirtualCd:
    """The BMC reads the ISO, and shows it to the server as a CD drive."""

    bmc: BmcClient
    media: BootMedia
    host: str
    step: ClassVar[str] = "installing from ISO"
    shows_on_bmc: ClassVar[bool] = True

    def prepare(self, steps: Steps, url: str) -> Waits:
        """Insert the ISO in place of whatever is in the drive."""
        yield from steps.no_media()
        yield from self._insert(steps, url)
        if settle_s := (yield from steps.value("the kind of BMC", lambda: self.bmc.settle_s)):
            yield settle_s

    def arm(self, steps: Steps, url: str) -> Waits:
        """Override the boot, and insert again: a BMC that has restarted meanwhile has dropped the image."""
        yield from steps.override(CD)
        yield from self._insert(steps, url)

    def disarm(self, steps: Steps) -> Waits:
        """Eject."""
        yield from steps.no_media()

    def withdraw(self) -> None:
        """Do nothing: an ISO that stays in the drive tells the next run that the host is being installed."""

    def is_unread(self, url: str) -> bool:
        """See `BootProcedure`. It is unknown for a web server of the site.

        A BMC that has downloaded the whole ISO from an earlier run reads nothing of this one: its disk report tells.
        """
        return self.media.sent(url) == 0 and not self.media.disk_report(self.host)

    def is_stuck(self, url: str) -> bool:
        """Return False: a BMC reads on as soon as it can."""
        return False

    def never_fetched(self, url: str, within_s: float, why: str) -> Fault:
        """See `BootProcedure`."""
        what = f"the BMC never fetched the boot ISO from {_server(url)} within {within_s:,.0f} s: {why}"
        fix = "let it reach that address (media.address, media.port, or media.url): look for a firewall or a route"
        if self.media.certificate(url):
            fix += f"; {PLAIN_HTTP}"
        own, other = _family(self.bmc.url), _family(url)
        if own and other and own != other:
            fix = f"if it has no IPv{other}, name this machine's IPv{own} address in media.address; else {fix}"
        return Fault(self.bmc.url, what, fix)

    def _insert(self, steps: Steps, url: str) -> Waits:
        try:
            yield from steps.media(url, self.media.certificate(url), within_s=INSERT_S)
        except BmcTimeoutError as error:
            if self.media.sent(url) != 0:
                raise
            if error.refused:
                raise self._refused(url, error) from None
            raise _error(self.never_fetched(url, INSERT_S, error.fault.what)) from None
        except BmcRefusedError as error:
            if self.media.sent(url):
                raise
            raise self._refused(url, error) from None

    def _refused(self, url: str, error: BmcError) -> ProvisioningError:
        what = f"the BMC refuses the boot ISO from {_server(url)}: {error.fault.what}"
        fix = (
            "do what the BMC says: some take an ISO only over https (media.tls) or only from port 80 (media.port); "
            "if it cannot reach the ISO, look for a firewall or a route"
        )
        if self.media.certificate(url):
            fix = f"do what the BMC says; {PLAIN_HTTP}"
        return ProvisioningError(what, where=self.bmc.url, fix=error.fault.fix or fix)


@dataclass
class _Fetching:
    """The server fetches what it installs by itself, from this program's own server."""

    bmc: BmcClient
    media: NetworkMedia
    host: str
    clock: Clock
    _sent_before: int = field(default=0, init=False)
    """Bytes of what is at the URL that were sent before the last boot."""
    _fetched: int = field(default=0, init=False)
    """Bytes that were sent since the last boot."""
    _fetched_at: float = field(default=0.0, init=False)
    """When `_fetched` last changed."""
    shows_on_bmc: ClassVar[bool] = False

    def prepare(self, steps: Steps, url: str) -> Waits:
        """Do nothing: the server's own firmware will ask."""
        yield from ()

    def withdraw(self) -> None:
        """Let the server go on to its disk."""
        self.media.disable_boot(self.host)

    def is_unread(self, url: str) -> bool:
        """See `BootProcedure`. A live system that an earlier run served still sends its disk report."""
        return not self.media.sent(url) and not self.media.disk_report(self.host)

    def is_stuck(self, url: str) -> bool:
        """See `BootProcedure`. Nothing repeats a fetch that broke off: the live system is in an emergency shell."""
        now, fetched = self.clock.now(), (self.media.sent(url) or 0) - self._sent_before
        if fetched != self._fetched:
            self._fetched, self._fetched_at = fetched, now
        return 0 < fetched < self.media.size(self.host) and now - self._fetched_at >= BROKEN_OFF_S

    def _enable_boot(self, url: str) -> None:
        self._sent_before = self.media.sent(url) or 0
        self.media.enable_boot(self.host)


@dataclass
class NetworkBoot(_Fetching):
    """The server's firmware loads iPXE over the provisioning network, which fetches the files inside the ISO."""

    mac: str
    """MAC of the card that the server boots from."""
    step: ClassVar[str] = "installing over the network"

    def arm(self, steps: Steps, url: str) -> Waits:
        """Override the boot, and let iPXE start the installer."""
        yield from steps.override(PXE, anew=True)
        self._enable_boot(url)

    def disarm(self, steps: Steps) -> Waits:
        """Withdraw, so that a BMC that repeats a boot meant once does not install twice."""
        self.withdraw()
        yield from ()

    def never_fetched(self, url: str, within_s: float, why: str) -> Fault:
        """See `BootProcedure`."""
        files = self.media.fetched_files(self.host)
        what = f"it fetched {files}, but not its live system" if files else "it never asked for its boot script"
        fix = (
            f"look at the server's console: it has to boot from its card {self.mac}, on the provisioning network, "
            "where DHCP, TFTP and this program's server (media.address, media.port) have to answer it"
        )
        return Fault(self.bmc.url, f"{what}, {within_s:,.0f} s after it was switched on: {why}", fix)


@dataclass
class HttpBoot(_Fetching):
    """The server's own UEFI fetches the ISO, keeps it in memory, and boots it there."""

    step: ClassVar[str] = "installing by UEFI HTTP"

    def arm(self, steps: Steps, url: str) -> Waits:
        """Override the boot, and serve the ISO."""
        yield from steps.override(HTTP, uri=url)
        self._enable_boot(url)

    def disarm(self, steps: Steps) -> Waits:
        """Withdraw, and have the BMC forget the URL, which is as good as a password."""
        self.withdraw()
        yield from steps.disk_next()

    def never_fetched(self, url: str, within_s: float, why: str) -> Fault:
        """See `BootProcedure`."""
        what = f"its firmware never fetched the boot ISO from {_server(url)} within {within_s:,.0f} s: {why}"
        fix = (
            "look at the server's console: its firmware has to get an address, and a route to that server, by DHCP, "
            "also where its networkConfig sets an address"
        )
        return Fault(self.bmc.url, what, fix)


def _error(fault: Fault) -> ProvisioningError:
    return ProvisioningError(fault.what, where=fault.where, fix=fault.fix)


def _family(url: str) -> int | None:
    """Return the IP version of a URL's address; None if it has a name."""
    address = parse_address(urlsplit(url).hostname or "")
    return address.version if address else None


def _server(url: str) -> str:
    """Return the URL of a server without the path, which is as good as a password."""
    return "/".join(url.split("/")[:3])
