"""One BMC of the fake fleet, without TLS, and clients for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from testing.fakes.fleet.fleet import Fault, Fleet, Options, running
from wires.bmc.access import BmcAccess
from wires.redfish.sushy_bmc import SushyBmc

SYSTEMS = "/redfish/v1/Systems"
SYSTEM = f"{SYSTEMS}/1"
MANAGER = "/redfish/v1/Managers/1"
RESET = f"POST {SYSTEM}/Actions/ComputerSystem.Reset"
SESSIONS = "/redfish/v1/SessionService/Sessions"
PASSWORD = "s3cret-Pässword"


@dataclass
class OneBmc:
    """The BMC of a host: the requests that it got, and scripted answers in place of the real ones."""

    fleet: Fleet
    clients: list[SushyBmc] = field(default_factory=list)

    def client(
        self,
        system: str | None = None,
        *,
        session: bool = False,
        password: str = PASSWORD,
        kind: str = "redfish-virtualmedia",
    ) -> SushyBmc:
        """Return a client of this program.

        Args:
            system: Path in the BMC's address; None for the path of its system.
            session: Whether it uses a Redfish session.
            password: The password of its login.
            kind: Type in the BMC's address, which says how the host boots.
        """
        address = self.fleet.address(0).replace("redfish-virtualmedia", kind, 1)
        if system is not None:
            address = f"redfish-virtualmedia+{self.fleet.base(0)}{system}"
        access = BmcAccess(address=address, username=self.fleet.options.username, session=session)
        self.clients.append(SushyBmc(access, SecretStr(password)))
        return self.clients[-1]

    def answers(self, match: str, status: int = 200, **answer: Any) -> None:
        """Answer matching requests with a `body` (a JSON document), a `text` or `headers`."""
        self.fleet.fault(Fault(match, "status", status=status, **answer))

    def says(self, match: str, **properties: Any) -> None:
        """Replace properties of the real answers."""
        self.fleet.fault(Fault(match, "says", says=properties))

    def takes(self, match: str) -> None:
        """Answer matching writes as done, whatever they contain."""
        self.fleet.fault(Fault(match, "ignored"))

    @property
    def lines(self) -> list[str]:
        """All requests as `METHOD path`, in order."""
        return self.fleet.figures().lines

    @property
    def writes(self) -> list[str]:
        """All requests but GETs."""
        return self.fleet.figures().writes

    @property
    def bodies(self) -> list[Any]:
        """The JSON documents of all requests, in order."""
        return self.fleet.figures().bodies


@contextmanager
def one_bmc(vendor: str = "generic") -> Iterator[OneBmc]:
    """Run one BMC."""
    with running(Options(vendors=(vendor,), tls=False, password=PASSWORD)) as fleet:
        bmc = OneBmc(fleet)
        try:
            yield bmc
        finally:
            for client in bmc.clients:
                client.close()
