"""The adverts of a real keepalived are received."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from testing.namespaces import in_own_network, ip, needs_root, neighbour
from testing.scene.foreign_machines import MAC, Router, foreign_router
from testing.scene.machine import until
from wires.segment.vrrp import Advert, adverts

pytestmark = needs_root

PEER = "192.0.2.98"


@pytest.mark.parametrize(
    ("address", "router", "advert"),
    [
        pytest.param(
            "192.0.2.99/24",
            Router(67, "192.0.2.5/24"),
            Advert(2, 67, 150, 1, "192.0.2.99", MAC, ("192.0.2.5",)),
            id="version-2",
        ),
        pytest.param(
            "192.0.2.99/24",
            Router(255, "192.0.2.5/24", version=3, interval_s=0.25),
            Advert(3, 255, 150, 0.25, "192.0.2.99", MAC, ("192.0.2.5",)),
            id="version-3",
        ),
        pytest.param(
            "2001:db8::99/64",
            Router(1, "2001:db8::5/64", version=3, interval_s=0.25),
            Advert(3, 1, 150, 0.25, "fe80::ff:fe00:99", MAC, ("2001:db8::5",)),
            id="ipv6",
        ),
        pytest.param(
            "192.0.2.99/24",
            Router(67, "192.0.2.5/24", peers=[PEER]),
            Advert(2, 67, 150, 1, "192.0.2.99", MAC, ("192.0.2.5",)),
            id="unicast-between-ports",
        ),
    ],
)
def test_the_adverts_of_a_real_keepalived_are_received(
    address: str, router: Router, advert: Advert, tmp_path: Path
) -> None:
    def scenario() -> None:
        ip("link add baremetal type bridge")
        ip("link set baremetal up")
        with ExitStack() as machines:
            if router.peers:
                machines.enter_context(neighbour("baremetal", "peer", "02:00:00:00:00:98", f"{PEER}/24"))
            machines.enter_context(foreign_router("baremetal", [address], router, tmp_path))
            seen = set[Advert]()

            def speaks() -> bool:
                seen.update(adverts("baremetal", wait_s=0.5))
                return bool(seen)

            until("an advert", speaks)
        assert seen == {advert}

    in_own_network(scenario)


def test_a_quiet_segment_has_no_adverts() -> None:
    def scenario() -> None:
        ip("link add baremetal type bridge")
        ip("link set baremetal up")
        with neighbour("baremetal", "peer", "02:00:00:00:00:98", f"{PEER}/24"):
            assert adverts("baremetal", wait_s=0.5) == ()

    in_own_network(scenario)
