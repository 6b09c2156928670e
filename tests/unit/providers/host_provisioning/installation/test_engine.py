"""The installation of one host: what its BMC and the evidence show decides what is written."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from base.errors import (
    BmcAuthError,
    BmcError,
    BmcIdentityError,
    BmcRefusedError,
    BmcTimeoutError,
    BmcTransientError,
    ProvisioningError,
)
from providers.host_provisioning.installation.engine import RUNS
from testing.fakes.bmc import UUID, FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.media import FakeMedia
from tests.unit.providers.host_provisioning.installation.rig import (
    DEADLINE_S,
    FROM_DISK,
    INSERTED,
    INSERTED_AGAIN,
    NAME,
    Rig,
    off_with,
    running,
)
from wires.bmc.client import Identity, Power
from wires.bmc.steps import Waits, run_steps

OURS, OLDER = FakeMedia().url(NAME), FakeMedia().url(NAME, "cd" * 32)


@pytest.mark.parametrize(
    ("rig", "writes"),
    [
        pytest.param(off_with(None), [*INSERTED, "On", *FROM_DISK], id="off-empty"),
        pytest.param(off_with(OURS), ["eject", *INSERTED, "On", *FROM_DISK], id="off-this-iso"),
        pytest.param(off_with(OLDER), ["eject", *INSERTED, "On", *FROM_DISK], id="off-older-iso"),
        pytest.param(off_with("nfs://x/rescue.iso"), ["eject", *INSERTED, "On", *FROM_DISK], id="off-foreign-iso"),
        pytest.param(running(OURS), ["Off", *INSERTED_AGAIN, "On", *FROM_DISK], id="on-this-iso"),
        pytest.param(running(OLDER), ["Off", *INSERTED_AGAIN, "On", *FROM_DISK], id="on-older-iso"),
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
    run_steps(rig.installation(reinstall=True).run(), rig.clock)
    assert rig.bmc.writes == ["Off", *INSERTED, "On", *FROM_DISK]
    assert rig.is_installed()


def test_a_server_leaves_the_cluster_once_it_is_off_and_before_its_wipe() -> None:
    rig = running(None)
    installation = rig.installation(reinstall=True)

    def take_out() -> Waits:
        rig.bmc.writes.append("taken out")
        yield 1.0

    installation.adapters = replace(installation.adapters, take_out=take_out)
    run_steps(installation.run(), rig.clock)
    assert rig.bmc.writes == ["Off", "taken out", *INSERTED, "On", *FROM_DISK]


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


def test_a_drive_that_is_there_at_once_is_not_waited_for() -> None:
    """A fleet has each wait last as long as its polls are apart: of 1000 servers, 3.3 s."""
    rig, waits = Rig(), list[float]()
    for seconds in rig.installation().run():
        waits.append(seconds)
        rig.clock.sleep(seconds)
    assert rig.is_installed()
    assert min(waits) > 0


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


def test_a_host_running_from_a_foreign_image_is_not_touched() -> None:
    rig = running("nfs://x/rescue.iso")
    with pytest.raises(BmcRefusedError, match=r"rescue\.iso.*Fix: if that may be stopped"):
        rig.run()
    assert rig.bmc.writes == []


def in_no_hurry(rig: Rig, **seconds: float) -> Rig:
    for name, value in seconds.items():
        setattr(rig.bmc, name, value)
    return rig


@pytest.mark.parametrize(
    "rig",
    [
        pytest.param(in_no_hurry(Rig(), install_s=3000), id="installation"),
        pytest.param(in_no_hurry(Rig(), boot_s=3000), id="first-boot"),
        pytest.param(in_no_hurry(running(None), _up_at=4000), id="adopted"),
    ],
)
def test_what_takes_most_of_the_deadline_is_waited_for(rig: Rig) -> None:
    rig.run()
    assert rig.bmc.is_up()


def test_a_boot_iso_that_takes_most_of_the_deadline_to_make_is_waited_for() -> None:
    rig = Rig()
    rig.media.makes = 300
    rig.run()
    assert rig.clock.now() - 1000 > 2000
    assert rig.is_installed()


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


def test_the_server_is_locked_from_the_first_request_until_it_runs() -> None:
    rig, held = Rig(), list[bool]()

    @contextmanager
    def guard() -> Iterator[None]:
        held.append(True)
        yield
        held.append(False)

    unlocked = list[str]()
    rig.bmc.fault = lambda request: None if held == [True] else unlocked.append(request)
    installation = rig.installation()
    installation.adapters = replace(installation.adapters, guard=guard())
    run_steps(installation.run(), rig.clock)
    assert (unlocked, held) == ([], [True, False])


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


def test_adopting_a_host_that_never_answers_writes_nothing() -> None:
    rig = running(None)
    rig.bmc.answers = False
    with pytest.raises(BmcTimeoutError, match=r"adopting.*an answer of 192\.0\.2\.21.*switch it off"):
        rig.run()
    assert rig.bmc.writes == []


def test_a_refused_insert_of_an_unread_iso_is_an_error_with_the_reason() -> None:
    rig = Rig()

    def refuse(request: str) -> None:
        if request == "insert":
            raise BmcTransientError("cannot insert the boot ISO: HTTP 500")

    rig.bmc.fault = refuse
    with pytest.raises(ProvisioningError, match=r"never fetched the boot ISO.*HTTP 500.*media\.address"):
        rig.run()
    assert "On" not in rig.bmc.writes
    assert rig.clock.now() - 1000 < 320


def test_a_refused_insert_of_a_fetched_iso_does_not_blame_the_network() -> None:
    rig = Rig()
    rig.media.read[OURS] = 1

    def refuse(request: str) -> None:
        if request == "insert":
            raise BmcRefusedError("cannot insert the boot ISO: HTTP 400")

    rig.bmc.fault = refuse
    with pytest.raises(BmcRefusedError, match=r"^cannot insert the boot ISO: HTTP 400$"):
        rig.run()


@pytest.mark.parametrize(
    ("error", "fix", "after_s"),
    [
        (BmcRefusedError("HTTP 400 (no)"), r"only over https \(media\.tls\)", 0),
        (BmcRefusedError("HTTP 403 (no)", fix="add the licence"), "add the licence$", 0),
        (BmcTransientError("HTTP 500 (no)", undone=True, refused=True), r"only over https \(media\.tls\)", 300),
    ],
    ids=["for-good", "with-its-own-fix", "again-and-again"],
)
def test_an_insert_that_the_bmc_answers_with_errors_is_a_refusal(error: BmcError, fix: str, after_s: float) -> None:
    rig = Rig()

    def refuse(request: str) -> None:
        if request == "insert":
            raise error

    rig.bmc.fault = refuse
    refusal = rf"the BMC refuses the boot ISO from http://media: .*\(no\).*{fix}"
    with pytest.raises(ProvisioningError, match=refusal) as caught:
        rig.run()
    assert "never fetched" not in str(caught.value)
    assert after_s <= rig.clock.now() - 1000 <= after_s + 10


def test_the_secret_path_of_an_iso_is_in_no_error() -> None:
    rig = running(FakeMedia().url("okd-master-1"))
    with pytest.raises(
        BmcRefusedError, match=r"it runs with http://media/…/okd-master-1\.iso in its virtual CD drive"
    ):
        rig.run()
    assert rig.bmc.writes == []


def test_an_insert_without_the_right_to_it_is_tried_once() -> None:
    rig, tried = Rig(), list[str]()

    def refuse(request: str) -> None:
        if request == "insert":
            tried.append(request)
            raise BmcAuthError("HTTP 403")

    rig.bmc.fault = refuse
    with pytest.raises(BmcAuthError):
        rig.run()
    assert (tried, rig.bmc.writes) == (["insert"], [])


def test_nothing_is_decided_while_the_power_changes() -> None:
    rig = running(None)
    states = iter([Power.CHANGING, Power.CHANGING])
    read = rig.bmc.power
    rig.bmc.power = lambda: next(states, None) or read()  # type: ignore[method-assign]
    rig.run()
    assert rig.bmc.writes == [], "it was on its way to On"


def test_the_error_of_a_host_that_is_never_up_says_what_it_lacks() -> None:
    rig = Rig()
    rig.bmc.answers = False
    with pytest.raises(BmcTimeoutError) as caught:
        rig.run()
    assert "step 'booting from disk': no answer yet; an answer of 192.0.2.21 was not reached in time" in str(
        caught.value
    )
    assert "booting from disk: no answer yet; " in rig.lines[-1]


def test_the_error_of_a_late_reinstallation_says_that_it_is_repeated() -> None:
    """It said that the next run waits; that wipes the server, which may be a node with pods by then."""
    rig = running(None)
    rig.bmc.answers = False
    for installs in (1, 2):
        with pytest.raises(BmcTimeoutError) as caught:
            run_steps(rig.installation(reinstall=True).run(), rig.clock)
        assert rig.bmc.installs == installs
        assert str(caught.value).endswith(f"run `pulumi up` again, which wipes it once more; {RUNS}")


def test_the_first_error_of_a_failed_first_boot_says_what_ends_it() -> None:
    """Issue 40, 12: only the second one did, a deadline later."""
    rig = Rig()
    rig.bmc.answers = False
    wipes = "switch it off, then run `pulumi up` again, which wipes and installs it"
    for cause in ("if its first boot has failed", "if it does not run this cluster"):
        with pytest.raises(BmcTimeoutError, match=f"{cause}, {wipes}"):
            rig.run()
        assert rig.bmc.installs == 1
    rig.bmc.request_power(Power.OFF)
    rig.clock.sleep(rig.bmc.change_s)
    rig.bmc.answers = True
    rig.run()
    assert (rig.bmc.installs, rig.is_installed()) == (2, True)
