"""How a server gets to its boot ISO: in a virtual CD drive, over the network by iPXE, or by UEFI HTTP."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from base.clock import Clock
from base.errors import BmcError, BmcRefusedError, BmcTimeoutError, ProvisioningError
from wires.redfish.bmc import CD, HDD, HTTP, PXE, BmcClient
from wires.redfish.steps import Steps, Waits

BROKEN_OFF_S = 120.0  # longer than TCP takes to give up on a machine that has just lost the VIP
INSERT_S = 300.0  # a BMC that downloads the whole ISO on insertion does so within its own HTTP time-out


class BootMedia(Protocol):
    """Makes and serves boot ISOs."""

    def publish(self, host: str) -> str | None:
        """Have the host's ISO made and served; return the URL that tells how far it is read, or None meanwhile."""
        ...

    def sent(self, url: str) -> int | None:
        """Return the bytes sent of what is at `url`; None if unknown."""
        ...

    def progress(self, url: str) -> str:
        """Return who has read how much of what is at `url`; empty if nobody has, or if unknown."""
        ...

    def digest(self, host: str) -> str:
        """Return the SHA-256 of the ISO that was published for `host`."""
        ...

    def verdict(self, host: str) -> str:
        """Return what the live system of `host` says of its disk, see `boot_media.disk`; empty if nothing yet."""
        ...


class NetworkMedia(BootMedia, Protocol):
    """Serves hosts that fetch their ISO, or the files inside it, themselves."""

    def size(self, host: str) -> int:
        """Return the bytes of what is at the URL of `publish`: the host's live system, or its ISO."""
        ...

    def admit(self, host: str) -> None:
        """Have the host find its installer from now on."""
        ...

    def dismiss(self, host: str) -> None:
        """Have the host find no installer from now on, and so go on to its disk."""
        ...

    def asked(self, host: str) -> str:
        """Return which files the host has fetched over the network; empty if none."""
        ...


class BootWay(Protocol):
    """One of the ways. The URL is that of `BootMedia.publish`."""

    doing: ClassVar[str]
    """Name of the step in which the server is installed."""
    leaves_a_sign: ClassVar[bool]
    """Whether the BMC of a server shows that it is being installed, also to another run."""

    def prepare(self, steps: Steps, url: str) -> Waits:
        """Offer the ISO to a server that is off, before its boot mode is set."""
        ...

    def arm(self, steps: Steps, url: str) -> Waits:
        """Have the next boot of the server be that of the ISO."""
        ...

    def disarm(self, steps: Steps) -> Waits:
        """Have no later boot of the server be that of the ISO."""
        ...

    def withdraw(self) -> None:
        """Offer the ISO no longer, as far as that needs no BMC: the installation has ended, or has failed."""
        ...

    def is_unread(self, url: str) -> bool:
        """Return whether nothing of the ISO was fetched, as far as is known: then nothing was installed."""
        ...

    def is_stuck(self, url: str) -> bool:
        """Return whether a server that is on cannot come any further, and has to boot the ISO anew."""
        ...

    def never_fetched(self, url: str, within_s: float, why: str) -> ProvisioningError:
        """Return the error of a server that has fetched nothing for so long."""
        ...


@dataclass(frozen=True)
class VirtualCd:
    """The BMC reads the ISO, and shows it to the server as a CD drive."""

    bmc: BmcClient
    media: BootMedia
    doing: ClassVar[str] = "installing from ISO"
    leaves_a_sign: ClassVar[bool] = True

    def prepare(self, steps: Steps, url: str) -> Waits:
        """Insert the ISO in place of whatever is in the drive."""
        yield from steps.no_media()
        yield from self._insert(steps, url)
        yield (yield from steps.value("the kind of BMC", lambda: self.bmc.settle_s))

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
        """See `BootWay`. A web server of the site does not tell."""
        return self.media.sent(url) == 0

    def is_stuck(self, url: str) -> bool:
        """Return False: a BMC reads on as soon as it can."""
        return False

    def never_fetched(self, url: str, within_s: float, why: str) -> ProvisioningError:
        """See `BootWay`."""
        what = f"the BMC never fetched the boot ISO from {_server(url)} within {within_s:,.0f} s: {why}"
        fix = "let it reach that address (media.address, media.port, or media.url): look for a firewall or a route"
        return ProvisioningError(what, where=self.bmc.url, fix=fix)

    def _insert(self, steps: Steps, url: str) -> Waits:
        try:
            yield from steps.media(url, within_s=INSERT_S)
        except BmcTimeoutError as error:
            if self.media.sent(url) != 0:
                raise
            if error.refused:
                raise self._refused(url, error) from None
            raise self.never_fetched(url, INSERT_S, error.fault.what) from None
        except BmcRefusedError as error:
            if self.media.sent(url):
                raise
            raise self._refused(url, error) from None

    def _refused(self, url: str, error: BmcError) -> ProvisioningError:
        what = f"the BMC refuses the boot ISO from {_server(url)}: {error.fault.what}"
        fix = (
            "do what the BMC says: some take an ISO over https alone (media.url) or from port 80 alone (media.port); "
            "if it cannot reach the ISO, look for a firewall or a route"
        )
        return ProvisioningError(what, where=self.bmc.url, fix=error.fault.fix or fix)


@dataclass
class _Fetching:
    """The server fetches what it installs by itself, from this program's own server."""

    bmc: BmcClient
    media: NetworkMedia
    host: str
    clock: Clock
    _before: int = field(default=0, init=False)
    """Bytes of what is at the URL that were sent before the last boot."""
    _got: int = field(default=0, init=False)
    _got_at: float = field(default=0.0, init=False)
    """Bytes that were sent since then, and when the last of them was."""
    leaves_a_sign: ClassVar[bool] = False

    def prepare(self, steps: Steps, url: str) -> Waits:
        """Do nothing: the server's own firmware will ask."""
        yield from ()

    def withdraw(self) -> None:
        """Let the server go on to its disk."""
        self.media.dismiss(self.host)

    def is_unread(self, url: str) -> bool:
        """See `BootWay`. A live system that an earlier run served still sends its verdict."""
        return not self.media.sent(url) and not self.media.verdict(self.host)

    def is_stuck(self, url: str) -> bool:
        """See `BootWay`. What breaks off is not asked for again: a live system stays in an emergency shell."""
        now, got = self.clock.now(), (self.media.sent(url) or 0) - self._before
        if got != self._got:
            self._got, self._got_at = got, now
        return 0 < got < self.media.size(self.host) and now - self._got_at >= BROKEN_OFF_S

    def _admit(self, url: str) -> None:
        self._before = self.media.sent(url) or 0
        self.media.admit(self.host)


@dataclass
class NetworkBoot(_Fetching):
    """The server's firmware loads iPXE over the provisioning network, which fetches the files inside the ISO."""

    mac: str
    """MAC of the card that the server boots from."""
    doing: ClassVar[str] = "installing over the network"

    def arm(self, steps: Steps, url: str) -> Waits:
        """Override the boot, and let iPXE start the installer."""
        yield from steps.override(PXE)
        self._admit(url)

    def disarm(self, steps: Steps) -> Waits:
        """See `withdraw`: so a BMC that repeats a boot meant once does not install twice."""
        self.withdraw()
        yield from ()

    def never_fetched(self, url: str, within_s: float, why: str) -> ProvisioningError:
        """See `BootWay`."""
        seen = self.media.asked(self.host)
        got = f"it fetched {seen}, but not its live system" if seen else "it never asked for its boot script"
        fix = (
            f"look at the server's console: it has to boot from its card {self.mac}, on the provisioning network, "
            "where DHCP, TFTP and this program's server (media.address, media.port) have to answer it"
        )
        return ProvisioningError(
            f"{got}, {within_s:,.0f} s after it was switched on: {why}", where=self.bmc.url, fix=fix
        )


@dataclass
class HttpBoot(_Fetching):
    """The server's own UEFI fetches the ISO, keeps it in memory, and boots it there."""

    doing: ClassVar[str] = "installing by UEFI HTTP"

    def arm(self, steps: Steps, url: str) -> Waits:
        """Override the boot, and serve the ISO."""
        yield from steps.override(HTTP, uri=url)
        self._admit(url)

    def disarm(self, steps: Steps) -> Waits:
        """See `withdraw`; and have the BMC forget the URL, which is as good as a password."""
        self.withdraw()
        yield from steps.override(HDD)

    def never_fetched(self, url: str, within_s: float, why: str) -> ProvisioningError:
        """See `BootWay`."""
        what = f"its firmware never fetched the boot ISO from {_server(url)} within {within_s:,.0f} s: {why}"
        fix = (
            "look at the server's console: its firmware has to get an address, and a route to that server, by DHCP, "
            "also where its networkConfig sets an address"
        )
        return ProvisioningError(what, where=self.bmc.url, fix=fix)


def _server(url: str) -> str:
    """Return the URL of a server without the path, which is as good as a password."""
    return "/".join(url.split("/")[:3])
