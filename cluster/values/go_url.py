"""URLs as Go's net/url parses them, which the installer uses."""

import re
from ipaddress import IPv6Address
from typing import NamedTuple

PORTS = range(1, 65536)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_LOGIN = re.compile(r"[\w.~!$&'()*+,;:=%@-]*", re.ASCII)
_HOST = re.compile(r"""(?:[^\x00-\x7f]|[\w.~!$&'()*+,;=:\[\]<>"-]|%25|%[89A-Fa-f][0-9A-Fa-f])*""", re.ASCII)
_PORT = re.compile("(?::[0-9]*)?", re.ASCII)
_HOST_AND_PORT = re.compile(r"(.*?)(?::([0-9]*))?", re.ASCII | re.DOTALL)


class GoUrl(NamedTuple):
    """The parts of a URL that rules need."""

    scheme: str
    """In lower case; empty if the text has none."""
    netloc: str
    """Host and port as written, without a login."""
    path: str
    is_opaque: bool
    """Whether no slash follows the scheme, as in `bmc:443`."""

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        host = self._split[0]
        return host[1:-1] if host.startswith("[") else host

    @property
    def port(self) -> str:
        """The port's digits; empty if there is none."""
        return self._split[1]

    @property
    def _split(self) -> tuple[str, str]:
        match = _HOST_AND_PORT.fullmatch(self.netloc)
        return (match[1], match[2] or "") if match else (self.netloc, "")


def parse_go_url(text: str, *, is_request: bool = False) -> GoUrl | None:
    """Return a URL as `url.Parse` parses it, or with `is_request` as `url.ParseRequestURI`; None: it is an error."""
    if not is_request:
        text, _, fragment = text.partition("#")
        if _BAD_ESCAPE.search(fragment):
            return None
    if _CONTROL.search(text) or text.startswith(":") or (is_request and not text):
        return None
    match = _SCHEME.match(text)
    scheme, rest = (match[1].lower(), text[match.end() :]) if match else ("", text)
    return _after_scheme(scheme, rest.partition("?")[0], is_request)


def _after_scheme(scheme: str, rest: str, is_request: bool) -> GoUrl | None:
    if not rest.startswith("/"):
        if scheme:
            return GoUrl(scheme, "", rest, is_opaque=True)
        if rest != "*" and (is_request or ":" in rest.partition("/")[0]):
            return None
    netloc = ""
    if rest.startswith("//") and (scheme or not (is_request or rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        login, _, netloc = authority.rpartition("@")
        rest = slash + path
        if _BAD_ESCAPE.search(login) or not _LOGIN.fullmatch(login) or not _is_host(scheme, netloc):
            return None
    return None if _BAD_ESCAPE.search(rest) else GoUrl(scheme, netloc, rest, is_opaque=False)


def _is_host(scheme: str, host: str) -> bool:
    if "[" in host:
        inner, bracket, port = host[1:].rpartition("]")
        return host.rfind("[") == 0 and bool(bracket and _PORT.fullmatch(port)) and _is_ipv6(inner)
    _, colon, port = host.partition(":") if scheme in ("http", "https") else host.rpartition(":")
    if colon and not port.isdecimal() and port:
        return False
    return bool(_HOST.fullmatch(host)) and port.isascii()


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text.replace("%25", "%", 1))
    except ValueError:
        return False
    return True
