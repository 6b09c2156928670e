"""The client of a BMC, by what its address says that it speaks: Redfish or IPMI.

Imports are in the functions: a preview asks no BMC, and sushy takes 0.1 s.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from pydantic import SecretStr

from base import lock
from wires.bmc.access import CHECK_LIMITS, BmcAccess, Limits
from wires.bmc.client import BmcClient, ProbedBmc


class CapturedBmc(Protocol):
    """A BMC that is read for a report about it."""

    def tree(self, on_read: Callable[[str], None]) -> dict[str, Any]:
        """Return the masked answers of all reads, under `resources`.

        Args:
            on_read: Called with the name of each read, before it is sent.

        Raises:
            BmcError: The BMC does not answer, or refuses the login.
        """
        ...

    def close(self) -> None:
        """End the session, if any, and close the connection."""
        ...


def client_of(access: BmcAccess, password: SecretStr, *, from_state: bool = False) -> BmcClient:
    """Return a client, which the caller closes.

    Args:
        access: How it is reached.
        password: Of its login.
        from_state: Whether the login is that of the state, which may be older than that of the stack's options.
    """
    if access.url.speaks_ipmi:
        from wires.ipmi.bmc import IpmiBmc  # noqa: PLC0415

        return IpmiBmc(access, password, from_state=from_state)
    from wires.redfish.sushy_bmc import SushyBmc  # noqa: PLC0415

    return SushyBmc(access, password, from_state=from_state)


@contextmanager
def exclusive(bmc: BmcClient) -> Iterator[BmcClient]:
    """Yield a client of a BMC that no other run uses meanwhile, and close it.

    Raises:
        BusyError: Another run works on it.
    """
    try:
        with lock.held(bmc.url):
            yield bmc
    finally:
        bmc.close()


def probe_of(access: BmcAccess, password: SecretStr, limits: Limits = CHECK_LIMITS) -> ProbedBmc:
    """Return a client that reads what the operator has to know, which the caller closes."""
    if access.url.speaks_ipmi:
        from wires.ipmi.probe import IpmiProbe  # noqa: PLC0415

        return IpmiProbe(access, password, limits)
    from wires.redfish.probe import BmcProbe  # noqa: PLC0415

    return BmcProbe(access, password, limits)


def capture_of(access: BmcAccess, password: SecretStr) -> CapturedBmc:
    """Return a client that reads all that the program may read, which the caller closes."""
    if access.url.speaks_ipmi:
        from wires.ipmi.capture import IpmiCapture  # noqa: PLC0415

        return IpmiCapture(access, password)
    from wires.redfish.capture.tree import BmcCapture  # noqa: PLC0415

    return BmcCapture(access, password)
