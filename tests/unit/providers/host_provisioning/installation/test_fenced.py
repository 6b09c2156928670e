"""The installation of a server that its peer fences once both run etcd: from then on, it is only read."""

import pytest

from base.errors import BmcTimeoutError, Fault, ProvisioningError
from providers.host_provisioning.composition import FENCED, RAN
from providers.host_provisioning.installation.boot_procedures import NetworkBoot
from testing.fakes.media import FakeMedia
from tests.unit.providers.host_provisioning.installation.rig import NAME, Rig, off_with, running

OURS = FakeMedia().url(NAME)


def over_network() -> Rig:
    """Return a server that boots from the network, and whose live system nothing shows."""
    rig = running(None)
    rig.boot_procedure = NetworkBoot(rig.bmc, rig.media, NAME, rig.clock, "52:54:00:11:10:01")
    return rig


@pytest.mark.parametrize("rig", [running(None), over_network()], ids=["virtual-cd", "network"])
def test_a_server_that_runs_from_its_disk_is_adopted(rig: Rig) -> None:
    rig.untouchable = FENCED
    installation = rig.run()
    assert (rig.bmc.writes, installation.iso_sha256, rig.media.published) == ([], "", [])


@pytest.mark.parametrize("rig", [off_with(None), off_with(OURS), running(OURS)], ids=["off", "off-iso", "on-iso"])
def test_no_other_server_is_touched(rig: Rig) -> None:
    rig.untouchable, rig.has_joined = FENCED, True
    with pytest.raises(ProvisioningError, match="whose servers fence each other; nothing was changed") as caught:
        rig.run()
    assert "pcs status" in caught.value.fault.fix
    assert rig.bmc.writes == []


@pytest.mark.parametrize("untouchable", [FENCED, RAN], ids=["fenced", "ran"])
def test_the_fix_of_one_that_does_not_answer_is_one_that_helps(
    monkeypatch: pytest.MonkeyPatch, untouchable: Fault
) -> None:
    """It promised that `up` wipes a server that was switched off; its peer switches it on, and `up` refuses."""
    rig = running(None)
    rig.untouchable = untouchable
    monkeypatch.setattr(rig.bmc, "is_up", lambda: False)
    with pytest.raises(BmcTimeoutError) as caught:
        rig.run()
    assert caught.value.fault.fix == f"look at the server's console; {untouchable.fix}"
