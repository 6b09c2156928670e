"""The end of a guest: gentle if it obeys its power button, forced at the deadline otherwise."""

from dataclasses import dataclass, field

import pytest

from testing.fakes.clock import FakeClock
from testing.fakes.hypervisor import FakeHypervisor
from testing.progress import into
from wires.libvirt.hypervisor import Domain
from wires.libvirt.shutdown import stop

NAME = "okd-bootstrap"


@dataclass
class Rig:
    """A guest that runs by default."""

    clock: FakeClock = field(default_factory=lambda: FakeClock(0))
    lines: list[str] = field(default_factory=list)
    hypervisor: FakeHypervisor = field(init=False)

    def __post_init__(self) -> None:
        self.hypervisor = FakeHypervisor(self.clock, domains={NAME: Domain("", "", running=True)})

    def stop(self, deadline_s: float = 60) -> bool:
        return stop(self.hypervisor, NAME, deadline_s=deadline_s, clock=self.clock, report=into(self.lines))


def test_a_guest_that_shuts_down_is_not_forced() -> None:
    rig = Rig()
    assert rig.stop()
    assert rig.hypervisor.calls == [f"button {NAME}"]
    assert rig.clock.now() == 3, "only as long as the guest takes"


def test_a_guest_that_ignores_its_button_is_forced_off_at_the_deadline() -> None:
    rig = Rig()
    rig.hypervisor.shuts_down_s = None
    assert not rig.stop(deadline_s=60)
    assert rig.hypervisor.calls == [f"button {NAME}"] * 6 + [f"cut power of {NAME}"]
    assert rig.clock.now() == 60
    assert not rig.hypervisor.domains[NAME].running
    assert rig.lines[0] == f"power button pressed: {NAME} is forced off in 60 s"
    assert rig.lines[-1] == f"forced off: {NAME} ignored its power button for 60 s"


def test_a_press_that_a_busy_guest_missed_is_repeated_after_ten_seconds() -> None:
    rig = Rig()
    rig.hypervisor.presses_missed = 1
    assert rig.stop()
    assert rig.hypervisor.calls == [f"button {NAME}"] * 2
    assert rig.clock.now() == 13


@pytest.mark.parametrize("domains", [{}, {NAME: Domain("", "", running=False)}], ids=["missing", "off"])
def test_a_guest_that_is_missing_or_off_gets_no_button_press(domains: dict[str, Domain]) -> None:
    rig = Rig()
    rig.hypervisor.domains = domains
    assert rig.stop()
    assert rig.hypervisor.calls == []
