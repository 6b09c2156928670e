"""IPMI BMCs of all kinds whose datagrams, and the data in their sealed answers, are mutated."""

import json
from collections.abc import Callable
from random import Random

from pydantic import SecretStr

from base.errors import BmcError
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.ipmi.bmc import FakeIpmiBmc
from testing.fakes.ipmi.links import SimulatedLink
from testing.fakes.ipmi.traits import TRAITS
from testing.fuzz.engine import CANARY, Surface
from testing.fuzz.mutations import mutated_bytes
from wires.bmc.access import CHECK_LIMITS, BmcAccess
from wires.bmc.client import ONCE, PXE, Power
from wires.ipmi.capture import IpmiCapture
from wires.ipmi.probe import IpmiProbe

LONGEST = 1024
"""Bytes of mutated data: more do not fit into a datagram with the fake's seal."""
USER, PASSWORD = "admin", f"a{CANARY}"
ACCESS = BmcAccess(address="ipmi://192.0.2.1", username=USER, boot_mac="52:54:00:11:10:01")
ASKED: tuple[Callable[[IpmiProbe], object], ...] = (
    *(IpmiProbe.identity, IpmiProbe.power, IpmiProbe.boot_override, IpmiProbe.bmc_version, IpmiProbe.certificate),
    *(IpmiProbe.kind, IpmiProbe.boot_targets, IpmiProbe.warnings, lambda bmc: bmc.set_override(PXE, ONCE)),
    *(lambda bmc: bmc.request_power(Power.ON), lambda bmc: bmc.request_power(Power.OFF)),
)
"""What a check and an installation ask."""


class _Bmc(FakeIpmiBmc[FakeBmc]):
    """A BMC that mutates some of its answers."""

    def mutate(self) -> None:
        """Mutate data before they are sealed, too."""
        run = self.sessions.run

        def mutated(netfn: int, command: int, data: bytes, level: int) -> tuple[int, bytes] | None:
            done = run(netfn, command, data, level)
            if done is None or self.random.random() > 0.3:
                return done
            code, answer = done
            data = mutated_bytes(self.random, answer)[:LONGEST]
            return self.random.choice((0, 0, 0, code, self.random.randrange(256))), data

        self.sessions.run = mutated

    def answers(self, datagram: bytes) -> list[bytes]:
        """Return what comes for a datagram, mutated, or beside what does not belong there."""
        whole = super().answers(datagram)
        if self.random.random() > 0.1:
            return whole
        return [mutated_bytes(self.random, each) for each in (*whole, datagram)] + whole[:1]


def _make(random: Random) -> bytes:
    return json.dumps({"kind": random.choice([*TRAITS]), "seed": random.randrange(2**32)}).encode()


def _run(case: bytes) -> str:
    wanted = json.loads(case)
    random, clock = Random(wanted["seed"]), FakeClock()  # noqa: S311
    users = {USER.encode(): PASSWORD.encode()}
    bmc = _Bmc(FakeBmc(clock, sticky=False), TRAITS[wanted["kind"]], seed=wanted["seed"], users=users)
    bmc.mutate()
    client = (IpmiCapture if random.random() < 0.2 else IpmiProbe)(ACCESS, SecretStr(PASSWORD), CHECK_LIMITS)
    client._clock, client._connect = clock, lambda *_: SimulatedLink(bmc, clock)
    try:
        if isinstance(client, IpmiCapture):
            return json.dumps(client.tree(lambda _: None))
        return "\n".join(_asked(client, ask) for ask in random.sample(ASKED, 6))
    finally:
        client.close()


def _asked(client: IpmiProbe, ask: Callable[[IpmiProbe], object]) -> str:
    try:
        return client.masked(repr(ask(client)))
    except BmcError as error:
        return str(error)


SURFACE = Surface(_make, _run)
