"""The BMC address of an install-config, as metal3's baremetal-operator reads it."""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

VIRTUAL_MEDIA_DRIVERS = ("redfish-virtualmedia", "idrac-virtualmedia", "ilo5-virtualmedia")


class BmcUrl(NamedTuple):
    """Where a BMC answers, and which of its systems is the server."""

    base: str
    """`https://host[:port]`, without a trailing slash."""
    system_path: str
    """`/redfish/v1/Systems/<id>`."""


def parse_bmc_url(address: str) -> BmcUrl:
    """Split `redfish-virtualmedia+https://host:port/redfish/v1/Systems/id`; https is the default transport.

    Raises:
        ValueError: The driver cannot boot from virtual media, or the URL names no system.
    """
    # First, since the messages below repeat the address; a password with a slash in it hides from urlsplit.
    if "@" in address:
        raise ValueError("credentials do not belong into the URL; use bmc.username and bmc.password")
    parts = urlsplit(address)
    driver, _, transport = parts.scheme.partition("+")
    if driver not in VIRTUAL_MEDIA_DRIVERS:
        known = ", ".join(VIRTUAL_MEDIA_DRIVERS)
        raise ValueError(f"driver {driver or address!r} cannot boot from virtual media; use one of {known}")
    if (transport or "https") not in ("https", "http"):
        raise ValueError(f"transport {transport!r} is unknown; use https or http")
    if not parts.hostname or not re.fullmatch(r"/redfish/v1/Systems/[^/]+/?", parts.path):
        raise ValueError(f"{address!r} does not name a system: …://<host>/redfish/v1/Systems/<id> is wanted")
    return BmcUrl(f"{transport or 'https'}://{parts.netloc}", parts.path.rstrip("/"))
