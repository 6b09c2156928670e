"""One fake IPMI BMC, and clients of it in simulated time."""

from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.ipmi.bmc import PASSWORD, USER, FakeIpmiBmc
from testing.fakes.ipmi.links import SimulatedLink
from testing.fakes.ipmi.traits import TRAITS, Traits
from wires.ipmi.rakp import LEVELS
from wires.ipmi.session import Login, Session


@dataclass
class OneBmc:
    """A BMC before a server that is off."""

    fake: FakeIpmiBmc[FakeBmc]
    clock: FakeClock
    links: list[SimulatedLink] = field(default_factory=list)

    def session(self, user: str = USER, password: str = PASSWORD, levels: tuple[str, ...] = tuple(LEVELS)) -> Session:
        """Return a session that is not logged in yet."""
        return Session(self.link(), self.clock, Login(user.encode(), password.encode(), levels), "ipmi://192.0.2.1")

    def link(self, *_: object) -> SimulatedLink:
        self.links.append(SimulatedLink(self.fake, self.clock))
        return self.links[-1]

    def opened(self) -> Session:
        session = self.session()
        session.open()
        return session

    @property
    def open_sessions(self) -> int:
        return len(self.fake.sessions.open)


def one_bmc(traits: Traits | str = "generic", **faults: Any) -> OneBmc:
    clock = FakeClock()
    of = TRAITS[traits] if isinstance(traits, str) else traits
    return OneBmc(FakeIpmiBmc(FakeBmc(clock, sticky=False), of, **faults), clock)


SECRET = SecretStr(PASSWORD)
