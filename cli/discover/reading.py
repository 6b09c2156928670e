"""Reads the servers behind one address: the logins in their order, and each system of the BMC."""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from base.errors import BmcAuthError, BmcError, ConfigError, Fault
from cli.discover.addresses import BmcTarget
from cli.discover.logins import MOST_REFUSED, BmcLogin
from cluster.files import read_text
from cluster.inventory.model import DiscoveredServer, Unread
from cluster.values.bmc_url import BmcUrl, BmcUrlError, parse_bmc_url
from wires.bmc.access import BmcAccess
from wires.redfish.client.tls import tls_context
from wires.redfish.inventory.discovery import DISCOVERY_LIMITS, MOST_READS, BmcDiscovery

NO_LOGIN = "put its login first in a file of its own, and name this address alone"
NO_TRUST = (
    "name the PEM of the CA that signed it with --ca; or read once with --trust-any-certificate, on a network where "
    "nobody stands between, and compare the fingerprints with those on the BMCs' own pages"
)
NO_ANSWER = "compare the address with the BMC's, and its network; then repeat the command"
NO_PATH = "update the BMC's firmware: the path of a system begins with /redfish/v1/Systems/"
TOO_MANY = "name each of its systems by a bmc.address, in a run of its own"
SPENT = "one BMC gets no more"
DISTRUST = "certificate is not trusted"
BOARD = "a board within a server, as of GPUs or a DPU, and no server"


def read_ca(file: Path) -> str:
    """Return the PEM of a CA.

    Raises:
        ConfigError: The file cannot be read, or has no certificate.
    """
    try:
        ca = read_text(file)
        tls_context(ca, verify=True)
    except ConfigError as error:
        fix = "name the PEM file of the CA that signed the BMCs' certificates"
        raise ConfigError(Fault(str(file), error.fault.what, fix)) from None
    return ca


@dataclass(frozen=True)
class Reader:
    """Reads BMCs with the same logins and the same trust.

    Args:
        ca: PEM of the CA of the BMCs' certificates; empty for those of this machine.
        verify: Whether the certificates are verified.
    """

    logins: Sequence[BmcLogin]
    ca: str
    verify: bool

    def read(self, target: BmcTarget) -> list[DiscoveredServer | Unread]:
        """Return the servers behind an address, or why it was not read."""
        try:
            with closing(self._client(target.address, self.logins[0])) as unasked:
                unasked.certificate()  # connects, without a login
        except BmcError as error:
            return [self._unread(target.address, error, silent=target.of_range)]
        try:
            return [*self._with_logins(target.address)]
        except BmcError as error:
            return [self._unread(target.address, error)]

    def _with_logins(self, address: str) -> Iterator[DiscoveredServer | Unread]:
        used = 0
        for number, login in enumerate(self.logins[:MOST_REFUSED], start=1):
            for session in (False, True):
                paths: list[str] | None = None
                with closing(self._client(address, login, session=session)) as bmc, suppress(BmcAuthError):
                    paths = bmc.systems()
                used += bmc.requests
                if paths is not None:
                    access = self._access(address, login, session=session)
                    for read in self._servers(access, login, paths, used):
                        yield read.changed(login=number) if isinstance(read, DiscoveredServer) else read
                    return
                if not bmc.takes_only_sessions:
                    break
        known, tried = len(self.logins), min(MOST_REFUSED, len(self.logins))
        rest = f"; the other {known - tried} were not tried, because accounts lock" if known > tried else ""
        yield Unread(address=address, why=f"the BMC refuses the first {tried} of {known} logins{rest}", fix=NO_LOGIN)

    def _servers(
        self, access: BmcAccess, login: BmcLogin, paths: list[str], used: int
    ) -> Iterator[DiscoveredServer | Unread]:
        """Yield the servers of a BMC, or the one that the address names. They share the requests that are left."""
        url, several = access.url, len(paths) > 1
        if url.system_id:
            paths, several = [url.system_id], False
        if not paths:
            yield Unread(address=access.address, why="it has no systems", fix="leave it out: it is no server's BMC")
        for left, path in zip(range(len(paths), 0, -1), paths, strict=True):
            address = address_of(url, path)
            if not address:
                yield Unread(address=access.address, why="it links a system by no path of one", fix=NO_PATH)
                continue
            end_of_session = int(access.session)
            limits = replace(DISCOVERY_LIMITS, reads=(MOST_READS - used) // left - end_of_session)
            bmc = BmcDiscovery(access.changed(address=address), login.password, limits)
            with closing(bmc):
                try:
                    server = bmc.server()
                except BmcError as error:
                    yield self._unread(address, error)
                else:
                    is_board = several and not bmc.is_server
                    yield Unread(address=address, why=BOARD, silent=True) if is_board else server
            used += bmc.requests

    def _client(self, address: str, login: BmcLogin, *, session: bool = False) -> BmcDiscovery:
        return BmcDiscovery(self._access(address, login, session=session), login.password)

    def _access(self, address: str, login: BmcLogin, *, session: bool) -> BmcAccess:
        return BmcAccess(
            address=address,
            username=login.username,
            ca=self.ca,
            verify=self.verify,
            session=session,
            login="--logins",
        )

    def _unread(self, address: str, error: BmcError, *, silent: bool = False) -> Unread:
        """Return why an address was not read, with a fix that names options of this command."""
        what = error.fault.what
        fixes = {NO_TRUST: DISTRUST in what, NO_LOGIN: isinstance(error, BmcAuthError), TOO_MANY: SPENT in what}
        fix = next((fix for fix, fits in fixes.items() if fits), NO_ANSWER)
        return Unread(address=address, why=what, fix=fix, silent=silent)


def address_of(url: BmcUrl, path: str) -> str:
    """Return the address of a system of a BMC. Empty: no address can have its path, or it would be another server's.

    A login goes there, and the path is what the BMC says.
    """
    address = f"{url.scheme}://{url.base.partition('://')[2]}{path.rstrip('/')}"
    try:
        found = parse_bmc_url(address)
    except BmcUrlError:
        return ""
    return address if found.base == url.base and found.system_id else ""
