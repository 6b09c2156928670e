"""The installation of one host: evidence, convergence after a kill, deadlines."""

from contextlib import nullcontext
from itertools import islice

import pytest

from providers.base.errors import (
    BmcAuthError,
    BmcError,
    BmcIdentityError,
    BmcTimeoutError,
    BmcTransientError,
    ProvisioningError,
)
from providers.host_provisioning.engine import Installation, Target, World
from testing.fakes.bmc import UUID, FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.media import FakeMedia
from wires.redfish.bmc import Identity, Power
from wires.redfish.steps import run_steps

NAME = "okd-master-0"
INSERTED = [f"insert {NAME}.iso", "override Cd Once"]
ANEW = ["eject", f"insert {NAME}.iso"]
FROM_DISK = ["eject", "override Hdd Once", "On"]
DEADLINE_S = 3600
ON_FROM_DISK = 5  # the last write


class Rig:
    """A server, a media server, and the installation of one host."""

    def __init__(self, bmc: FakeBmc | None = None) -> None:
        self.clock = bmc.clock if bmc else FakeClock()
        self.bmc = bmc or FakeBmc(self.clock)
        self.media = FakeMedia()
        self.bmc.read_by_bmc = self.media.fetch
        self.lines: list[str] = []

    def installation(self, uuid: str = UUID, *, anew: bool = False) -> Installation:
        world = World(self.bmc, self.clock, self.media, lambda _: self.bmc.is_up(), self.lines.append, nullcontext())
        return Installation(Target(NAME, uuid, "192.0.2.21", anew), world, DEADLINE_S)

    def run(self) -> Installation:
        installation = self.installation()
        run_steps(installation.run(), self.clock)
        return installation

    def is_installed(self) -> bool:
        return self.bmc.state is Power.ON and self.bmc.image is None and self.bmc.booted_from == "disk"


def off_with(image: str | None) -> Rig:
    rig = Rig()
    rig.bmc.image = image
    return rig


def running(image: str | None) -> Rig:
    rig = Rig()
    if image is None:
        rig.bmc.run_from_disk()
    else:
        rig.bmc.run_from_media(image)
    return rig


OURS, OLDER = FakeMedia().url(NAME), FakeMedia().url(NAME, "cd" * 32)


@pytest.mark.parametrize(
    ("rig", "writes"),
    [
        pytest.param(off_with(None), [*INSERTED, "On", *FROM_DISK], id="off-empty"),
        pytest.param(off_with(OURS), ["eject", *INSERTED, "On", *FROM_DISK], id="off-this-iso"),
        pytest.param(off_with(OLDER), ["eject", *INSERTED, "On", *FROM_DISK], id="off-older-iso"),
        pytest.param(off_with("nfs://x/rescue.iso"), ["eject", *INSERTED, "On", *FROM_DISK], id="off-foreign-iso"),
        pytest.param(running(OURS), ["Off", *ANEW, "On", *FROM_DISK], id="on-this-iso"),
        pytest.param(running(OLDER), ["Off", *ANEW, "On", *FROM_DISK], id="on-older-iso"),
        pytest.param(running(None), [], id="on-empty"),
    ],
)
def test_evidence_decides_what_is_written(rig: Rig, writes: list[str]) -> None:
    installation = rig.run()
    assert rig.bmc.writes == writes
    assert rig.bmc.is_up()
    assert rig.bmc.installs == (1 if writes else 0)
    assert installation.iso_sha256 == (rig.media.revision if writes else "")
    assert rig.media.published == ([NAME] if writes else [])


def test_a_running_host_is_reinstalled_on_request() -> None:
    rig = running(None)
    run_steps(rig.installation(anew=True).run(), rig.clock)
    assert rig.bmc.writes == ["Off", *INSERTED, "On", *FROM_DISK]
    assert rig.is_installed()


def test_an_image_that_the_bmc_drops_before_the_start_is_inserted_again() -> None:
    rig = Rig()

    def drop(write: str) -> None:
        if write == "override Cd Once":
            rig.bmc.image = None

    rig.bmc.lost = drop
    rig.run()
    assert rig.bmc.writes == [*INSERTED, f"insert {NAME}.iso", "On", *FROM_DISK]


def test_power_on_waits_for_inserted_media_to_settle() -> None:
    rig = Rig(FakeBmc(FakeClock(), settle_s=90))
    moments: dict[str, float] = {}

    def note(write: str) -> None:
        moments.setdefault(write, rig.clock.now())

    rig.bmc.lost = note
    rig.run()
    assert round(moments["On"] - moments[f"insert {NAME}.iso"]) >= 90


def test_an_installation_that_ended_unobserved_counts_as_done() -> None:
    rig = Rig()
    away_until = float("inf")

    def note(write: str) -> None:
        nonlocal away_until
        if write == "On" and rig.bmc.installs == 0:
            rig.media.read[OURS] = 37_000_000
            away_until = rig.clock.now() + 2 * rig.bmc.install_s

    def away(_: str) -> None:
        if rig.bmc.writes.count("On") == 1 and rig.clock.now() < away_until:
            raise BmcTransientError("HTTP 503")

    rig.bmc.lost, rig.bmc.fault = note, away
    rig.run()
    assert rig.is_installed()
    assert rig.bmc.writes == [*INSERTED, "On", *FROM_DISK]


def test_off_after_on_without_a_read_of_the_iso_is_no_installation() -> None:
    rig = Rig()
    rig.bmc.change_s = 400
    rig.run()
    assert rig.bmc.installs == 1


def test_a_host_running_from_a_foreign_image_is_left_alone() -> None:
    rig = running("nfs://x/rescue.iso")
    with pytest.raises(BmcError, match=r"rescue\.iso.*Fix: eject that"):
        rig.run()
    assert rig.bmc.writes == []


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


def test_a_failing_bmc_is_asked_again_within_the_deadline() -> None:
    rig = Rig()
    sick = iter(range(40))

    def fault(_: str) -> None:
        if next(sick, 40) % 2:
            raise BmcTransientError("HTTP 503")

    rig.bmc.fault = fault
    rig.run()
    assert rig.is_installed()
    assert rig.bmc.installs == 1


def test_a_wrong_password_is_tried_once() -> None:
    rig = Rig()

    def refuse(_: str) -> None:
        raise BmcAuthError("HTTP 401")

    rig.bmc.fault = refuse
    with pytest.raises(BmcAuthError):
        rig.run()
    assert (rig.bmc.requests, rig.bmc.writes, rig.bmc.closed) == (1, [], 1)


def test_another_machine_is_not_touched() -> None:
    rig = Rig()
    rig.bmc.machine = Identity("dead", "SN-2")
    with pytest.raises(BmcIdentityError, match=UUID):
        rig.run()
    assert rig.bmc.writes == []


def test_the_deadline_names_step_and_time() -> None:
    rig = Rig()
    rig.bmc.install_s = 1e9
    with pytest.raises(
        BmcTimeoutError, match=r"installing from ISO.*power Off.*3,\d+ s in it.*3,600 s.*console"
    ) as caught:
        rig.run()
    assert str(caught.value).startswith(rig.bmc.url)
    assert rig.clock.now() - 1000 < DEADLINE_S + 10


def test_adopting_a_host_that_never_answers_ends_at_the_deadline_without_writes() -> None:
    rig = running(None)
    rig.bmc.answers = False
    with pytest.raises(BmcTimeoutError, match=r"adopting.*an answer of 192\.0\.2\.21.*switch it off"):
        rig.run()
    assert rig.bmc.writes == []


def test_a_refused_insert_without_a_read_of_the_iso_is_an_error_with_the_reason() -> None:
    rig = Rig()

    def refuse(request: str) -> None:
        if request == "insert":
            raise BmcTransientError("cannot insert the boot ISO: HTTP 500")

    rig.bmc.fault = refuse
    with pytest.raises(ProvisioningError, match=r"never fetched the boot ISO.*HTTP 500.*media\.address"):
        rig.run()
    assert "On" not in rig.bmc.writes
    assert rig.clock.now() - 1000 < 320


def test_an_iso_that_is_never_read_is_an_error_before_the_deadline() -> None:
    rig = Rig()
    rig.bmc.read_by_bmc = lambda _: None
    rig.bmc.install_s = 1e9
    with pytest.raises(ProvisioningError, match=r"from http://media within 900 s.*reads Cd Continuous"):
        rig.run()


def test_progress_names_each_reader_of_the_iso(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    monkeypatch.setattr(FakeMedia, "progress", lambda _, url: f"192.0.2.9 has read 37 MB of {url[-16:]}")
    rig.run()
    read = [line for line in rig.lines if "has read" in line]
    assert read
    assert all(line.startswith(f"installing from ISO: 192.0.2.9 has read 37 MB of {NAME}.iso; ") for line in read)


def test_progress_is_a_line_per_change_and_a_heartbeat() -> None:
    rig = Rig()
    rig.bmc.install_s = 300
    seconds = rig.run().seconds
    beats = [line for line in rig.lines if line.startswith("installing from ISO")]
    assert 20 <= len(beats) <= 31
    assert "s spent, 3," in beats[0]
    assert rig.lines[-1].startswith("installed; ")
    assert seconds["installing from ISO"] >= 300


def iterate(rig: Rig) -> list[float]:
    waits = []
    for seconds in rig.installation().run():
        waits.append(seconds)
        rig.clock.sleep(seconds)
    return waits


def kill_at(rig: Rig, write: int) -> None:
    if len(rig.bmc.writes) == write + 1:
        raise KeyboardInterrupt
