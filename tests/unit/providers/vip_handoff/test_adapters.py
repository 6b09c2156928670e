"""What the handoff works with: the figures of its clients, and the bootstrap VM over libvirt."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from providers.vip_handoff import adapters
from providers.vip_handoff.adapters import LibvirtGuest, VipClients, measuring
from testing.fakes.clock import FakeClock
from testing.fakes.hypervisor import FakeHypervisor
from testing.progress import into
from wires.api.api import Api
from wires.api.client import Attempts, VipClient
from wires.libvirt.hypervisor import Domain

NAME = "okd-bootstrap"


def client(connects: Attempts, requests: Attempts) -> VipClient:
    """Return a client that has finished its measurements."""
    measured = VipClient(lambda: None, lambda: None)
    measured.connects, measured.requests = connects, requests
    return measured


NOTHING = Attempts()
FIRST = client(
    Attempts(tried=450, failed=1, retried=2, problems=["reset"], gap_ms=30.6, gap_began=1010.0),
    Attempts(tried=50, failed=4, retried=8, problems=["status 500"], gap_ms=9000.0, gap_began=1001.0),
)
SECOND = client(
    Attempts(tried=300, failed=16, retried=32, problems=["refused"], gap_ms=1019.4, gap_began=1012.345),
    Attempts(tried=20, failed=64, retried=128),
)


def test_the_figures_of_all_clients_are_one_output() -> None:
    assert VipClients((FIRST, SECOND)).figures(1000.0) == {
        "gap_ms": 1019,
        "gap_at_s": 12.35,
        "probes_sent": 820,
        "probes_failed": 85,
        "clients": {
            "connects_tried": 750,
            "connects_failed": 17,
            "connects_broken_in_flight": 34,
            "requests_tried": 70,
            "requests_failed_after_retry": 68,
            "requests_broken_in_flight": 136,
            "problems": ["reset", "refused", "status 500"],
        },
    }


def test_without_a_gap_its_start_time_is_none() -> None:
    figures = VipClients((client(NOTHING, NOTHING),)).figures(1000.0)
    assert (figures["gap_ms"], figures["gap_at_s"]) == (0, None)


def test_a_client_of_a_vip_waits_as_long_as_client_go(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, through = list[tuple[str, float]](), threading.Event()

    def problem(self: Api, address: str, *, timeout_s: float) -> None:
        asked.append((address, timeout_s))
        through.set()

    monkeypatch.setattr(Api, "problem", problem)
    monkeypatch.setattr(adapters, "connect_problem", lambda address, port: None)
    with measuring(("192.0.2.5",), Api("okd.example.com", "")):
        assert through.wait(10)
    assert set(asked) == {("192.0.2.5", 10)}


@pytest.fixture
def hypervisor(monkeypatch: pytest.MonkeyPatch) -> FakeHypervisor:
    clock = FakeClock(0)
    hypervisor = FakeHypervisor(clock, domains={NAME: Domain("okd-baremetal/prod", "", running=True)})

    @contextmanager
    def connected(uri: str) -> Iterator[Any]:
        assert uri == "qemu:///system"
        yield hypervisor

    monkeypatch.setattr(adapters, "connected", connected)
    monkeypatch.setattr(adapters, "SYSTEM_CLOCK", clock)
    return hypervisor


def test_the_guest_is_asked_on_the_channel_of_its_domain(
    hypervisor: FakeHypervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hypervisor, "ask", lambda name, word: f"{name} was sent {word}")
    assert LibvirtGuest("qemu:///system", NAME, "prod", 60, print).send("release") == f"{NAME} was sent release"


def test_the_guest_ends_by_its_power_button_or_by_the_deadline(hypervisor: FakeHypervisor) -> None:
    lines = list[str]()
    hypervisor.shuts_down_s = None
    guest = LibvirtGuest("qemu:///system", NAME, "prod", 5, into(lines))
    guest.stop()
    assert hypervisor.calls == [f"button {NAME}", f"cut power of {NAME}", f"undefine {NAME}"]
    assert lines[-1] == f"forced off: {NAME} ignored its power button for 5 s"
    guest.stop()
    assert hypervisor.domains == {}


@pytest.mark.parametrize("owner", ["", "okd-baremetal/lab", "okd-baremetal/not-prod"])
def test_a_domain_of_the_name_that_another_stack_made_is_left_alone(hypervisor: FakeHypervisor, owner: str) -> None:
    hypervisor.domains[NAME] = Domain(owner, "", running=True)
    LibvirtGuest("qemu:///system", NAME, "prod", 5, into([])).stop()
    assert hypervisor.calls == []
