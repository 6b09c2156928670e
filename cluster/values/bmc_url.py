"""The BMC address of an install-config, parsed as by metal3's baremetal-operator.

Forms and verdicts follow metal3-io/baremetal-operator 137d8726384c, pkg/hardwareutils/bmc, over Go's net/url. This
parser is stricter: it refuses credentials, a query, a fragment and unprintable characters, and wants a host that is
not a mistyped IPv4 address, and a port from 1 to 65535.
"""

import difflib
import re
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote

from base.errors import OkdBaremetalError
from cluster.values.address import netloc, parse_address

Transport = Literal["https", "http"]
PORTS: dict[Transport, int] = {"https": 443, "http": 80}


class _Kind(NamedTuple):
    driver: str
    virtual_media: bool = False
    needs_provisioning_network: bool = False


UEFI_HTTP = "redfish-uefihttp"
KINDS = {
    "redfish": _Kind("redfish", needs_provisioning_network=True),
    "redfish-virtualmedia": _Kind("redfish", virtual_media=True),
    UEFI_HTTP: _Kind("redfish"),
    "idrac-redfish": _Kind("idrac", needs_provisioning_network=True),
    "idrac-virtualmedia": _Kind("idrac", virtual_media=True),
    "ilo5-redfish": _Kind("redfish", needs_provisioning_network=True),
    "ilo5-virtualmedia": _Kind("redfish", virtual_media=True),
}
SCHEMES: dict[str, tuple[str, Transport]] = {
    **{kind: (kind, "https") for kind in KINDS},
    **{f"{kind}+{transport}": (kind, transport) for kind in KINDS for transport in PORTS},
}
UNTYPED = "ipmi"
"""The type that metal3 reads where none is named."""
PXE_ONLY = (UNTYPED, "libvirt")
REMOVED = ("ilo4", "ilo4-virtualmedia", "ilo5", "irmc", "ibmc", "idrac")
"""Types that metal3 no longer supports (`idrac` is WSMAN). The installer still knows them: see `metal3`."""
FOREIGN = {*PXE_ONLY, *REMOVED, *(f"{family}+{transport}" for family in REMOVED for transport in PORTS)}
INSTEAD = "redfish-virtualmedia, idrac-virtualmedia for Dell, or ilo5-virtualmedia for HPE"

_URL = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(//)?([^/?#]*)([^?#]*)(.*)")
_AUTHORITY = re.compile(r"(?:\[([^\]:]*+:[^\]]*+)\]|([^:\[\]]*))(?::([0-9]*))?")
_LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"(?![0-9.]+\Z){_LABEL}(?:\.{_LABEL})*\.?")


class BmcUrlError(OkdBaremetalError, ValueError):
    """An address that cannot be used. The fault holds no credentials."""

    def __init__(self, what: str, *, fix: str) -> None:
        super().__init__(what, fix=fix)


class ForeignBmc(BmcUrlError):  # noqa: N818 (it says what the BMC is)
    """A type that metal3 supports, or once supported, and that is not Redfish."""

    def __init__(self, family: str) -> None:
        self.family = family
        """One of `PXE_ONLY` or `REMOVED`."""
        why = "needs a provisioning network" if family in PXE_ONLY else "is no longer supported by metal3"
        what = f"{family} (the type if none is named)" if family == UNTYPED else family
        super().__init__(f"{what} {why}", fix=f"use {INSTEAD}")


@dataclass(frozen=True)
class BmcUrl:
    """The parsed address of a Redfish BMC: its URL, its system, and how that system boots.

    `str()` of it parses back to an equal object.
    """

    url: str = field(compare=False)
    """The address as written."""
    driver: str
    """Ironic's driver: `redfish` or `idrac`."""
    scheme: str
    """As written, in lower case: `redfish-virtualmedia+https`. `redfish` if `parse_redfish_url` found none."""
    host: str
    """Name or address as written, IPv6 without brackets."""
    port: int
    system_id: str | None
    """Path `/redfish/v1/Systems/<id>`. None: the only system of the BMC."""
    transport: Transport
    virtual_media: bool
    needs_provisioning_network: bool

    @property
    def kind(self) -> str:
        """The scheme without its transport: `redfish-virtualmedia`."""
        return self.scheme.partition("+")[0]

    @property
    def base(self) -> str:
        """`https://host[:port]`, without a default port."""
        return f"{self.transport}://{self._authority}"

    @property
    def instead(self) -> str:
        """The kind of the same vendor that boots from virtual media."""
        return f"{self.kind.partition('-')[0]}-virtualmedia"

    @property
    def has_one_system(self) -> bool:
        """Whether a BMC of its vendor is that of one server: iDRAC and iLO are, whatever path is written."""
        return not self.kind.startswith("redfish")

    @property
    def endpoint(self) -> tuple[object, ...]:
        """A value that is equal for all spellings of one BMC's address; the ports of HTTP and HTTPS are one."""
        port = None if self.port in PORTS.values() else self.port
        return parse_address(self.host) or self.host.lower().removesuffix("."), port

    @property
    def server(self) -> tuple[object, ...]:
        """A value that is equal for all spellings of one server's address."""
        return *self.endpoint, self.system_id

    @property
    def _authority(self) -> str:
        authority = netloc(self.host, self.port)
        return authority.removesuffix(f":{self.port}") if self.port == PORTS[self.transport] else authority

    def __str__(self) -> str:
        return f"{self.scheme}://{self._authority}{quote(self.system_id or '')}"


def parse_bmc_url(address: str) -> BmcUrl:
    """Parse `redfish-virtualmedia+https://host:port/redfish/v1/Systems/id`, and every other form that metal3 reads.

    Raises:
        ForeignBmc: The type is `ipmi` (also for a bare host), `libvirt`, or one that metal3 removed.
        BmcUrlError: It is not the address of a BMC.
    """
    scheme, authority, path, rest = _parts(address)
    if scheme not in SCHEMES and scheme not in FOREIGN:
        near = difflib.get_close_matches(scheme, SCHEMES, n=1)
        raise BmcUrlError(f"BMC type {scheme} is unknown", fix=f"use {near[0] if near else INSTEAD}")
    host, port = _host_and_port(address, authority)
    system_id = _system_id(address, path)
    if scheme in FOREIGN:
        raise ForeignBmc(scheme.partition("+")[0])
    if rest:
        raise BmcUrlError(f"{address} continues after its path", fix=f"remove {rest[0]} and all that follows")
    kind, transport = SCHEMES[scheme]
    return BmcUrl(
        url=address,
        driver=KINDS[kind].driver,
        scheme=scheme,
        host=host,
        port=PORTS[transport] if port is None else port,
        system_id=system_id,
        transport=transport,
        virtual_media=KINDS[kind].virtual_media,
        needs_provisioning_network=KINDS[kind].needs_provisioning_network,
    )


def parse_redfish_url(address: str) -> BmcUrl:
    """Parse the address of a server that this program can boot: by virtual CD, from the network, or by UEFI HTTP.

    An address without a type is read as `redfish`, not as metal3's `ipmi`.

    Raises:
        BmcUrlError: See `parse_bmc_url`; or the BMC does not speak Redfish.
    """
    scheme, *_ = _parts(address)
    untyped = scheme == UNTYPED and not address.lower().startswith(f"{UNTYPED}:")
    try:
        url = parse_bmc_url(f"redfish://{address}" if untyped else address)
    except ForeignBmc as error:
        if error.family not in PXE_ONLY:
            raise
        fix = f"use redfish, if the BMC has that, or {INSTEAD}"
        raise BmcUrlError(f"{error.family}: this program speaks only Redfish", fix=fix) from None
    return replace(url, url=address)


def _parts(address: str) -> tuple[str, str, str, str]:
    """Return the scheme in lower case, the authority, the path, and the rest."""
    if not address:
        raise BmcUrlError("missing", fix=f"write an address of type {INSTEAD}")
    # First, because the other messages repeat the address. This also finds a password with a slash in it.
    if "@" in address:
        raise BmcUrlError("credentials do not belong in the URL", fix="use bmc.username and bmc.password")
    match = _URL.fullmatch(address)
    if match is None or not address.isprintable():
        raise BmcUrlError("holds a character that cannot be printed", fix="remove it")
    scheme, slashes, authority, path, rest = match.groups()
    if scheme:
        return scheme.lower(), authority, path, rest
    # Go's net/url refuses a bare host:port. metal3 then reads the whole text as one, and IPv6 must have a port.
    if slashes or (":" in authority and (path or rest or authority.endswith("]"))):
        raise BmcUrlError(f"{address!r} names no type", fix=f"use {INSTEAD}")
    return UNTYPED, authority, path, rest


def _host_and_port(address: str, authority: str) -> tuple[str, int | None]:
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        what = f"{address!r} has no <host> or <host>:<port> where one is wanted"
        raise BmcUrlError(what, fix="write one of them, IPv6 in brackets")
    ipv6, name, port = match.groups()
    host = name if ipv6 is None else ipv6
    if not host:
        raise BmcUrlError(f"{address!r} names no host", fix="write the BMC's address or DNS name after the //")
    if parse_address(host) is None and (ipv6 or not _NAME.fullmatch(host)):
        raise BmcUrlError(f"host {host!r} is neither an address nor a DNS name", fix="write one of them")
    if port and (len(port) > len("65535") or not 1 <= int(port) <= 65535):  # noqa: PLR2004
        raise BmcUrlError(f"port {port} is out of range", fix="write 1 to 65535")
    return host, int(port) if port else None


def _system_id(address: str, path: str) -> str | None:
    try:
        plain = unquote(path, errors="strict")
    except UnicodeDecodeError:
        plain = "\0"
    if re.search("%(?![0-9A-Fa-f]{2})", path) or not plain.isprintable():
        what = f"{address} has a percent sign that encodes no character of a path"
        raise BmcUrlError(what, fix="write %25 for the sign itself")
    plain = re.sub("/+", "/", plain)
    return None if plain.strip("/") in ("", "redfish/v1") else plain.rstrip("/")
