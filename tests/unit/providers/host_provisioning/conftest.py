"""Fixtures of a resource whose installations are stand-ins."""

import pytest

from providers.host_provisioning import composition, provision
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from tests.unit.providers.host_provisioning.rollouts import Rollouts


@pytest.fixture
def rollouts(monkeypatch: pytest.MonkeyPatch) -> Rollouts:
    made = Rollouts()
    monkeypatch.setattr(provision, "install_all", made)
    monkeypatch.setattr(composition, "SYSTEM_CLOCK", FakeClock())
    return made


@pytest.fixture
def server(rollouts: Rollouts, monkeypatch: pytest.MonkeyPatch) -> FakeBmc:
    """The server behind the BMC of each host; it is off."""
    clock = FakeClock()
    bmc = FakeBmc(clock)
    monkeypatch.setattr(composition, "SYSTEM_CLOCK", clock)
    monkeypatch.setattr(composition, "client_of", lambda *_, **__: bmc)
    return bmc
