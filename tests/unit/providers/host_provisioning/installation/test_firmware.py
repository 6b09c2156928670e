"""Firmware that is slow, and boot ISOs that it drops or never reads."""

from dataclasses import replace

import pytest

from base.errors import BmcTimeoutError, BmcTransientError, ProvisioningError
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from tests.unit.providers.host_provisioning.installation.rig import FROM_DISK, INSERTED, Rig
from wires.bmc.client import Power
from wires.bmc.steps import run_steps


def test_an_iso_that_is_never_read_is_an_error_before_the_deadline() -> None:
    rig = Rig()
    rig.bmc.read_by_bmc = lambda _: None
    rig.bmc.install_s = 1e9
    error = r"from http://media within 1,8\d\d s: the server is on, .*reads Cd Continuous.*raise deadlines\.host_s"
    with pytest.raises(ProvisioningError, match=error):
        rig.run()


def slow(post_s: float) -> Rig:
    """Return a server whose firmware takes so long, and whose BMC reads the ISO only then."""
    return Rig(FakeBmc(FakeClock(), sticky=False, post_s=post_s, reads_at_boot=True))


@pytest.mark.parametrize("post_s", [0, 600, 890, 1000, 1500, 3500])
def test_slow_firmware_has_half_of_the_deadline(post_s: float) -> None:
    """SLOW1: it had 900 s, whatever the deadline."""
    rig = slow(post_s)
    run_steps(replace(rig.installation(), deadline_s=7200).run(), rig.clock)
    assert (rig.is_installed(), rig.bmc.writes) == (True, [*INSERTED, "On", *FROM_DISK])


def test_a_bmc_that_is_busy_while_firmware_starts_has_as_long() -> None:
    """The same kind as SLOW1: AMI's answers 503 then, and a step ended after 1500 s."""
    rig, busy_until = slow(2000), list[float]()

    def note(write: str) -> None:
        if write == "On":
            busy_until.append(rig.clock.now() + 2000)

    def busy(_: str) -> None:
        if busy_until and rig.clock.now() < busy_until[-1]:
            raise BmcTransientError("HTTP 503")

    rig.bmc.lost, rig.bmc.fault = note, busy
    run_steps(replace(rig.installation(), deadline_s=7200).run(), rig.clock)
    assert (rig.is_installed(), rig.bmc.writes) == (True, [*INSERTED, "On", *FROM_DISK])


@pytest.mark.parametrize("post_s", [1900, 2500])
def test_firmware_that_is_slower_is_not_switched_off_by_the_next_run(post_s: float) -> None:
    """SLOW1: the next run switched it off in the middle of its POST, for ever."""
    rig = slow(post_s)
    with pytest.raises(ProvisioningError, match=r"reads Cd Once.*if the server was still starting"):
        rig.run()
    installation = rig.run()
    assert (rig.is_installed(), rig.bmc.writes) == (True, [*INSERTED, "On", *FROM_DISK])
    assert installation.iso_sha256 == rig.media.revision


def test_the_next_run_has_the_bmc_verify_by_its_own_certificate() -> None:
    """S9 and SLOW1: the firmware is left to start, and the BMC then reads from a server with another key."""
    rig = slow(1900)
    rig.media.pem = "of the first run"
    with pytest.raises(ProvisioningError, match=r"reads Cd Once"):
        rig.run()
    assert rig.bmc.trusted == "of the first run"
    rig.media.pem = "of the second run"
    rig.run()
    assert (rig.is_installed(), rig.bmc.writes) == (True, [*INSERTED, "On", *FROM_DISK])
    assert rig.bmc.trusted == "of the second run"


def test_an_image_that_the_bmc_drops_at_the_start_is_no_firewall() -> None:
    """The same kind as SLOW1: a wrong cause. An empty drive would have the next run adopt what runs there."""
    rig = slow(60)
    rig.bmc.lost = lambda write: setattr(rig.bmc, "image", None) if write == "On" and not rig.bmc.installs else None
    with pytest.raises(ProvisioningError, match=r"its virtual CD drive is empty\. Fix: switch the server off"):
        rig.run()
    assert 120 <= rig.clock.now() - 1000 <= 150, "two reads of the drive, a minute apart"
    rig.bmc.lost = lambda _: None
    rig.bmc.request_power(Power.OFF)
    rig.clock.sleep(10)
    rig.run()
    assert rig.is_installed()


def test_an_image_that_the_bmc_drops_later_is_named_at_the_deadline() -> None:
    """Issue 42, 8, and the same kind: the live system has read some of its ISO, and cannot go on without the rest."""
    rig = Rig()
    rig.bmc.lost = lambda write: rig.bmc.eject() if write == "On" and not rig.bmc.installs else None
    rig.bmc.install_s = 1e9
    with pytest.raises(BmcTimeoutError, match=r"virtual CD drive is empty; .* Fix: switch the server off"):
        rig.run()


def test_an_image_that_somebody_else_inserts_at_the_start_is_named() -> None:
    """Issue 42, 8, and the same kind: the drive is full, and not of the boot ISO."""
    rig = slow(60)
    rig.bmc.lost = lambda write: setattr(rig.bmc, "image", "nfs://192.0.2.9/other.iso") if write == "On" else None
    named = r"virtual CD drive has nfs://192\.0\.2\.9.*Fix: switch the server off"
    with pytest.raises(ProvisioningError, match=named):
        rig.run()


def test_a_drive_that_reads_empty_for_a_moment_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = slow(600)
    reads = iter([None])

    def media() -> str | None:
        return next(reads, rig.bmc.image) if rig.bmc.state is Power.ON else rig.bmc.image

    monkeypatch.setattr(rig.bmc, "media", media)
    rig.run()
    assert (rig.is_installed(), next(reads, "read")) == (True, "read")


def test_firmware_that_does_not_come_to_boot_is_started_again() -> None:
    rig = slow(1e9)
    with pytest.raises(ProvisioningError):
        rig.run()
    rig.bmc.post_s = 0
    rig.run()
    assert (rig.is_installed(), rig.bmc.writes.count("Off")) == (True, 1)


@pytest.mark.parametrize("gone", ["off", "unread"])
def test_a_server_that_an_ended_run_left_starting_may_go_off(gone: str) -> None:
    rig = slow(1e9)
    with pytest.raises(ProvisioningError):
        rig.run()
    rig.bmc.post_s = 0
    if gone == "off":
        rig.bmc._events = [(rig.clock.now() + 60, rig.bmc._switch_off)]
    rig.run()
    assert rig.is_installed()


def test_another_boot_iso_is_not_waited_for() -> None:
    rig = slow(1e9)
    with pytest.raises(ProvisioningError):
        rig.run()
    rig.bmc.post_s, rig.media.revision, before = 0, "cd" * 32, rig.clock.now()
    rig.run()
    assert rig.is_installed()
    assert rig.clock.now() - before < 300
