"""The address of a list of devices, as NetBox's own page shows it."""

from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from base.errors import ConfigError, Fault

WHERE = "--netbox"
PAGE = "/dcim/devices/"
OF_THE_VIEW = frozenset({"brief", "exclude", "fields", "format", "limit", "offset", "omit", "ordering", "page"})
OF_THE_VIEW |= {"per_page", "sort", "start", "strict_filters"}
"""Parameters that select no device: of the page (netbox/netbox/tables), of the API, and of pynetbox's `filter`."""


class DevicePage(NamedTuple):
    """A list of devices."""

    base: str
    """NetBox's URL, without a slash at its end."""
    filters: dict[str, list[str]]


def device_page(url: str) -> DevicePage:
    """Return what the address of NetBox's list of devices says: page and API take the same filters.

    Raises:
        ConfigError: It is none, not of HTTPS, or has no filter.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.port != 0 else None
    except ValueError:
        host = None
    before, page, after = parts.path.partition(PAGE) if host else ("", "", "")
    if not page or after:
        fix = "open the list of devices in NetBox, filter it, and paste its address: https://…/dcim/devices/?tag=…"
        raise ConfigError(Fault(WHERE, "not the address of a list of devices in NetBox", fix))
    if parts.scheme != "https" or "@" in parts.netloc:
        fix = "write https:// and no login: the token is of the environment"
        raise ConfigError(Fault(WHERE, "the address would show a secret", fix))
    filters = {name: values for name, values in parse_qs(parts.query).items() if name not in OF_THE_VIEW}
    if not filters:
        fix = "filter the list in NetBox, by tag, site or role, and paste its address"
        raise ConfigError(Fault(WHERE, "has no filter: it lists the devices of all clusters", fix))
    return DevicePage(f"https://{parts.netloc}{before.removesuffix('/api')}", filters)
