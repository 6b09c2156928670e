"""The installation of one host after a kill, and after an answer that was lost."""

from itertools import islice

import pytest

from base.errors import BmcTransientError
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from tests.unit.providers.host_provisioning.installation.rig import FROM_DISK, INSERTED, NAME, Rig
from wires.bmc.client import SecureBoot

ON_FROM_CD, ON_FROM_DISK = 2, 5  # among the writes


@pytest.mark.parametrize("sticky", [True, False], ids=["once-is-kept", "once-is-used-up"])
def test_after_a_kill_between_any_two_steps_the_next_run_converges(sticky: bool) -> None:
    total = sum(1 for _ in iterate(Rig(FakeBmc(FakeClock(), sticky=sticky))))
    for steps in range(total + 1):
        rig = Rig(FakeBmc(FakeClock(), sticky=sticky))
        killed = rig.installation().run()
        for seconds in islice(killed, steps):
            rig.clock.sleep(seconds)
        killed.close()
        on_disk = rig.bmc.booted_from == "disk"
        before = list(rig.bmc.writes)
        rig.run()
        assert rig.is_installed(), steps
        assert rig.bmc.installs == 1 or not on_disk, "a booted disk is never installed again"
        if on_disk:
            assert rig.bmc.writes == before


@pytest.mark.parametrize("by_job", [True, False], ids=["by-a-job", "at-once"])
def test_after_a_kill_at_any_time_a_disk_boots_only_with_secure_boot(by_job: bool) -> None:
    def fresh() -> Rig:
        off = SecureBoot(enabled=False, current="Disabled", keys="UserMode")
        return Rig(FakeBmc(FakeClock(), wanted_mode="UEFISecureBoot", secure=off, by_job=by_job, sticky=False))

    total = sum(1 for _ in iterate(fresh()))
    for steps in range(total + 1):
        rig = fresh()
        killed = rig.installation().run()
        for seconds in islice(killed, steps):
            rig.clock.sleep(seconds)
        killed.close()
        assert rig.bmc.booted_from != "disk" or is_secure(rig), steps
        rig.run()
        assert rig.is_installed(), steps
        assert is_secure(rig), steps


def is_secure(rig: Rig) -> bool:
    return rig.bmc.secure is not None and rig.bmc.secure.current == "Enabled"


@pytest.mark.parametrize("sticky", [True, False], ids=["once-is-kept", "once-is-used-up"])
@pytest.mark.parametrize("write", range(6), ids=["insert", "cd", "on", "eject", "hdd", "on-from-disk"])
def test_after_a_kill_after_any_write_the_next_run_converges(write: int, sticky: bool) -> None:
    rig = Rig(FakeBmc(FakeClock(), sticky=sticky))
    rig.bmc.lost = lambda _: kill_at(rig, write)
    with pytest.raises(KeyboardInterrupt):
        rig.run()
    rig.bmc.lost = lambda _: None
    rig.clock.sleep(rig.bmc.change_s)
    again = rig.run()
    assert rig.is_installed()
    # After a kill between the end of the installation and the first boot from disk, nothing shows that it is done.
    assert rig.bmc.installs == (2 if write in (3, 4) else 1)
    assert (again.iso_sha256 == "") is (write == ON_FROM_DISK)


@pytest.mark.parametrize("sticky", [True, False], ids=["once-is-kept", "once-is-used-up"])
@pytest.mark.parametrize("change_s", [0.5, 3, 8, 30], ids=str)
def test_a_late_power_on_of_a_killed_run_is_harmless(change_s: float, sticky: bool) -> None:
    rig = Rig(FakeBmc(FakeClock(), sticky=sticky, change_s=change_s))
    rig.bmc.lost = lambda _: kill_at(rig, ON_FROM_DISK)
    with pytest.raises(KeyboardInterrupt):
        rig.run()
    rig.bmc.lost = lambda _: None
    rig.run()
    assert rig.is_installed()


@pytest.mark.parametrize("sticky", [True, False], ids=["once-is-kept", "once-is-used-up"])
def test_an_installer_that_a_killed_run_started_late_is_started_again(sticky: bool) -> None:
    """It has lost its ISO by the eject of this run, and would never be done."""
    rig = Rig(FakeBmc(FakeClock(), sticky=sticky, change_s=0.5))
    rig.bmc.lost = lambda _: kill_at(rig, ON_FROM_CD)
    with pytest.raises(KeyboardInterrupt):
        rig.run()
    rig.bmc.lost = lambda _: None
    rig.bmc.writes.clear()
    rig.media.makes = 1
    rig.run()
    again = [] if sticky else ["override Cd Once"]
    assert rig.bmc.writes == ["eject", f"insert {NAME}.iso", "Off", *again, "On", *FROM_DISK]
    assert (rig.is_installed(), rig.bmc.installs) == (True, 1)


@pytest.mark.parametrize("write", range(6), ids=["insert", "cd", "on", "eject", "hdd", "on-from-disk"])
def test_a_write_whose_answer_was_lost_is_not_repeated(write: int) -> None:
    rig = Rig()

    def lose(_: str) -> None:
        if len(rig.bmc.writes) == write + 1:
            rig.bmc.lost = lambda _: None
            raise BmcTransientError("the connection broke")

    rig.bmc.lost = lose
    rig.run()
    assert rig.bmc.writes == [*INSERTED, "On", *FROM_DISK]
    assert rig.bmc.installs == 1


def iterate(rig: Rig) -> list[float]:
    waits = []
    for seconds in rig.installation().run():
        waits.append(seconds)
        rig.clock.sleep(seconds)
    return waits


def kill_at(rig: Rig, write: int) -> None:
    if len(rig.bmc.writes) == write + 1:
        raise KeyboardInterrupt
