"""The proof that exactly one of the permitted machines holds a VIP, and serves there."""

import pytest

from base.errors import VipError
from base.shown import few
from cluster.values.balancer import Balancer
from providers.vip_held.engine import VipHeldEngine
from testing.fakes.clock import FakeClock
from testing.fakes.lan import FLOOD
from testing.progress import into

VIP = "192.0.2.4"
NODES = {"worker-0": "192.0.2.24", "worker-1": "192.0.2.25"}
OF = {"192.0.2.24": frozenset({"mac-24"}), "192.0.2.25": frozenset({"mac-25"})}
OTHER = frozenset({"mac-of-the-bootstrap"})


class Rig:
    """An engine with a VIP whose answers change at given seconds."""

    def __init__(self, *macs: tuple[float, frozenset[str]], balancer: Balancer = Balancer.CLUSTER) -> None:
        self.clock, self.lines = FakeClock(0), list[str]()
        self.macs, self.serves_from = macs, 0.0
        self.engine = VipHeldEngine(VIP, NODES, self.macs_of, self.router, self.clock, into(self.lines), balancer)

    def router(self, address: str) -> str | None:
        assert address == VIP
        return None if self.clock.now() >= self.serves_from else "ConnectionRefusedError"

    def macs_of(self, address: str) -> frozenset[str]:
        if address != VIP:
            return OF[address]
        return [macs for since, macs in self.macs if since <= self.clock.now()][-1]


def test_the_only_holder_is_named() -> None:
    rig = Rig((0, OF["192.0.2.25"]))
    assert rig.engine.prove(deadline_s=60) == ("worker-1", ["mac-25"])
    assert rig.clock.now() == 0


def test_the_proof_waits_for_exactly_one_holder() -> None:
    rig = Rig((0, frozenset()), (7, OF["192.0.2.24"] | OF["192.0.2.25"]), (9, OF["192.0.2.24"]))
    assert rig.engine.prove(deadline_s=60) == ("worker-0", ["mac-24"])
    assert rig.clock.now() == 9


def test_the_proof_waits_for_a_router_at_the_vip() -> None:
    rig = Rig((0, OF["192.0.2.24"]))
    rig.serves_from = 7
    assert rig.engine.prove(deadline_s=60) == ("worker-0", ["mac-24"])
    assert rig.lines == [
        "waiting: held by worker-0, but no router serves there (ConnectionRefusedError); at most 60 s left",
        "proved: held by worker-0",
    ]


def test_a_vip_without_a_router_at_the_deadline_is_one_line() -> None:
    rig = Rig((0, OF["192.0.2.24"]))
    rig.serves_from = 61
    with pytest.raises(VipError) as caught:
        rig.engine.prove(deadline_s=60)
    assert str(caught.value) == (
        f"VIP {VIP}: held by worker-0, but no router serves there (ConnectionRefusedError), after 60 s. "
        "Fix: look at the routers and keepalived there"
    )


@pytest.mark.parametrize(
    ("macs", "answers"),
    [
        pytest.param(frozenset(), "answered by nobody", id="nobody"),
        pytest.param(OTHER, "answered by mac-of-the-bootstrap", id="somebody-else"),
        pytest.param(OF["192.0.2.24"] | OF["192.0.2.25"], "answered by mac-24 and mac-25", id="two"),
        pytest.param(FLOOD, f"answered by {' and '.join(few(FLOOD))}", id="S19"),
    ],
)
def test_a_missing_proof_at_the_deadline_is_one_line(macs: frozenset[str], answers: str) -> None:
    rig = Rig((0, macs))
    with pytest.raises(VipError) as caught:
        rig.engine.prove(deadline_s=60)
    assert str(caught.value) == (
        f"VIP {VIP}: {answers}, wanted exactly one of worker-0, worker-1, after 60 s. "
        "Fix: look at the routers and keepalived there"
    )
    assert rig.clock.now() == 60


def test_a_refresh_names_no_holder_if_two_machines_answer() -> None:
    assert Rig((0, OF["192.0.2.24"] | OTHER)).engine.holder() == (None, ["mac-24", "mac-of-the-bootstrap"])


def test_a_balancer_of_the_site_is_only_asked_for_a_router() -> None:
    rig = Rig(balancer=Balancer.SITE)
    rig.serves_from = 7
    assert rig.engine.prove(deadline_s=60) == ("the site's balancer", [])
    assert rig.clock.now() == 7
    rig.serves_from = 99
    with pytest.raises(VipError) as caught:
        rig.engine.prove(deadline_s=60)
    assert str(caught.value) == (
        f"VIP {VIP}: held by the site's balancer, but no router serves there (ConnectionRefusedError), after 60 s. "
        "Fix: look at the routers, and at the backends of the site's balancer on 443"
    )
