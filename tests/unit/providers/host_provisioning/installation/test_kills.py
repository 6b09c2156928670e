"""The installation of one host after a kill; `tests/simulation` has kills at each write, and lost answers."""

from itertools import islice

import pytest

from base.errors import BmcTimeoutError
from boot_media.disk import CHOSEN
from providers.mark_file import Ended
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from tests.unit.providers.host_provisioning.installation.rig import FROM_DISK, NAME, Rig
from wires.bmc.client import Identity, Power, SecureBoot
from wires.bmc.steps import run_steps

ON_FROM_CD, ON_FROM_DISK = 2, 5  # among the writes


@pytest.mark.parametrize("change_s", [3.0, 40.0], ids=["at-once", "late"])
@pytest.mark.parametrize("sticky", [True, False], ids=["once-is-kept", "once-is-used-up"])
def test_after_a_kill_between_any_two_steps_the_next_run_converges(sticky: bool, change_s: float) -> None:
    total = sum(1 for _ in iterate(Rig(FakeBmc(FakeClock(), sticky=sticky, change_s=change_s))))
    for steps in range(total + 1):
        rig = Rig(FakeBmc(FakeClock(), sticky=sticky, change_s=change_s))
        killed = rig.installation().run()
        for seconds in islice(killed, steps):
            rig.clock.sleep(seconds)
        killed.close()
        on_disk, is_done = rig.bmc.booted_from == "disk", rig.mark.ended is not None
        before = list(rig.bmc.writes)
        rig.run()
        assert rig.is_installed(), steps
        assert rig.bmc.installs == 1 or not is_done, "what was installed is never wiped again"
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


@pytest.mark.parametrize("settle_s", [0.0, 90.0], ids=["settled", "drive-settles"])
@pytest.mark.parametrize("kills", [1, 2, 3])
def test_a_server_on_its_way_to_its_disk_is_never_wiped(kills: int, settle_s: float) -> None:
    """`cases/simulation` A1 and A2: the BMC acts 40 s after the request, and the runs after it are killed, too."""
    rig = Rig(FakeBmc(FakeClock(), sticky=False, change_s=40, boot_s=30, settle_s=settle_s))
    rig.bmc.lost = lambda _: kill_at(rig, ON_FROM_DISK)
    for kill in range(kills):
        with pytest.raises(KeyboardInterrupt):
            rig.run()
        rig.bmc.lost = kill_at_power_on
        rig.clock.sleep(5 * (kill + 1))
    rig.bmc.lost = lambda _: None
    rig.run()
    assert (rig.is_installed(), rig.bmc.installs) == (True, 1)
    assert "Off" not in rig.bmc.writes


def test_a_server_that_a_person_switched_on_after_a_kill_is_adopted() -> None:
    """`cases/simulation` A3: its installation has ended after the kill, so its boot ISO is still in its drive."""
    rig = killed_while_it_installs()
    rig.bmc._switch_on()
    rig.clock.sleep(600)
    assert (rig.bmc.is_up(), rig.bmc.booted_from) == (True, "disk")
    rig.bmc.writes.clear()
    rig.run()
    assert rig.bmc.writes == ["eject", "override Hdd Once"]
    assert (rig.is_installed(), rig.bmc.installs) == (True, 1)


@pytest.mark.parametrize("has_joined", [True, False], ids=["joined", "not-joined"])
def test_a_node_that_was_switched_off_after_a_kill_boots_from_its_disk(has_joined: bool) -> None:
    rig = killed_while_it_installs()
    rig.bmc._switch_on()
    rig.clock.sleep(600)
    rig.bmc._switch_off()
    rig.has_joined = has_joined
    rig.run()
    assert (rig.is_installed(), rig.bmc.installs) == (True, 1 if has_joined else 2)


@pytest.mark.parametrize("has_joined", [True, False], ids=["joined", "not-joined"])
def test_a_server_is_not_wiped_before_the_cluster_has_answered(has_joined: bool) -> None:
    rig = Rig()
    rig.run()
    rig.mark.remove()
    rig.bmc._switch_off()
    rig.has_joined, rig.silent_s = has_joined, rig.clock.now() + 40
    rig.run()
    assert (rig.is_installed(), rig.bmc.installs) == (True, 1 if has_joined else 2)


def test_a_server_to_be_reinstalled_is_wiped_in_spite_of_all_evidence() -> None:
    rig = Rig()
    rig.run()
    rig.bmc._switch_off()
    rig.has_joined = True
    run_steps(rig.installation(reinstall=True).run(), rig.clock)
    assert (rig.is_installed(), rig.bmc.installs) == (True, 2)


def test_a_server_whose_disk_does_not_boot_is_wiped_once_it_is_off() -> None:
    """As the fix says of a first boot that has failed."""
    rig = Rig(FakeBmc(FakeClock(), answers=False))
    with pytest.raises(BmcTimeoutError, match="if its first boot has failed, switch it off, then run `pulumi up`"):
        rig.run()
    rig.bmc._switch_off()
    rig.bmc.answers = True
    rig.run()
    assert (rig.is_installed(), rig.bmc.installs) == (True, 2)


def test_a_mark_has_the_nodes_address_once_its_system_has_come_up() -> None:
    rig = Rig()
    rig.bmc.lost = lambda _: kill_at(rig, 4)
    with pytest.raises(KeyboardInterrupt):
        rig.run()
    assert rig.mark.ended
    assert rig.mark.ended.address == ""
    rig.bmc.lost = lambda _: None
    rig.run()
    assert rig.mark.ended.address == rig.installation().host.address


def test_the_mark_of_another_boot_iso_or_machine_does_not_count() -> None:
    for change in ("iso", "machine"):
        rig = Rig()
        rig.bmc.lost = lambda _, rig=rig: kill_at(rig, 4)  # type: ignore[misc]
        with pytest.raises(KeyboardInterrupt):
            rig.run()
        rig.bmc.lost = lambda _: None
        assert rig.mark.ended
        if change == "iso":
            rig.media.revision = "cd" * 32
        else:
            other = Identity("c0ffee00-0000-4000-8000-000000000002", "SN-2")
            rig.mark.ended = Ended(other, rig.media.revision)
        rig.run()
        assert (rig.is_installed(), rig.bmc.installs) == (True, 2), change


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


def test_an_installer_that_read_its_iso_from_a_killed_run_is_left_to_end() -> None:
    """Simulation, seed 20198: the BMC has downloaded it, so that only the disk report comes to the next run."""
    rig = Rig(FakeBmc(FakeClock(), sticky=False, post_s=300))
    rig.bmc.lost = lambda _: kill_at(rig, ON_FROM_CD)
    with pytest.raises(KeyboardInterrupt):
        rig.run()
    rig.bmc.lost = lambda _: None
    rig.clock.sleep(rig.bmc.change_s)
    rig.media.read.clear()
    rig.media.report = f"{CHOSEN} /dev/sda"
    assert rig.run().disk == "/dev/sda"
    assert (rig.is_installed(), rig.bmc.installs) == (True, 1)


def iterate(rig: Rig) -> list[float]:
    waits = []
    for seconds in rig.installation().run():
        waits.append(seconds)
        rig.clock.sleep(seconds)
    return waits


def killed_while_it_installs() -> Rig:
    """Return a server whose installation has ended after the kill of its run; it is off."""
    rig = Rig(FakeBmc(FakeClock(), sticky=False))
    rig.bmc.lost = lambda _: kill_at(rig, ON_FROM_CD)
    with pytest.raises(KeyboardInterrupt):
        rig.run()
    rig.bmc.lost = lambda _: None
    for _ in range(30):
        rig.clock.sleep(10)
        rig.bmc.power()
    assert (rig.bmc.state, rig.bmc.installs) == (Power.OFF, 1)
    return rig


def kill_at_power_on(write: str) -> None:
    if write == "On":
        raise KeyboardInterrupt


def kill_at(rig: Rig, write: int) -> None:
    if len(rig.bmc.writes) == write + 1:
        raise KeyboardInterrupt
