"""Steps read before they write, write once, and repeat a write only if that is harmless."""

from collections.abc import Callable

import pytest

from base.errors import BmcAuthError, BmcRefusedError, BmcTimeoutError, BmcTransientError
from testing.fakes.bmc import UUID, FakeBmc
from testing.fakes.clock import FakeClock
from wires.bmc.client import BootOverride, Identity, Power
from wires.bmc.steps import Steps, run_steps

HOUR_S = 3600


def steps(bmc: FakeBmc, deadline_s: float = HOUR_S) -> Steps:
    return Steps(bmc, bmc.clock, bmc.clock.now() + deadline_s)


def failing(times: int, error: Exception, on: str = "") -> Callable[[str], None]:
    left = iter(range(times))

    def fault(request: str) -> None:
        if request.startswith(on) and next(left, None) is not None:
            raise error

    return fault


def test_a_state_already_reached_is_not_requested() -> None:
    bmc = FakeBmc(FakeClock())
    run_steps(steps(bmc).power(Power.OFF), bmc.clock)
    assert (bmc.writes, bmc.requests) == ([], 1)


def test_an_accepted_change_is_requested_once_however_long_it_takes() -> None:
    bmc = FakeBmc(FakeClock(), change_s=1200)
    run_steps(steps(bmc).power(Power.ON), bmc.clock)
    assert bmc.writes == ["On"]


def test_power_that_never_changes_ends_the_step_long_before_the_deadline() -> None:
    bmc = FakeBmc(FakeClock(), change_s=1e9)
    began = bmc.clock.now()
    with pytest.raises(BmcTimeoutError, match=r"power On was not reached in time\. Fix: see in the BMC's own page "):
        run_steps(steps(bmc, 10 * HOUR_S).power(Power.ON), bmc.clock)
    assert bmc.clock.now() - began == 1500
    assert bmc.writes == ["On"]


@pytest.mark.parametrize(
    ("undone", "after_s"),
    [pytest.param(True, 2, id="refused-by-the-bmc"), pytest.param(False, 60, id="perhaps-done")],
)
def test_a_failed_change_is_repeated_at_once_only_if_it_was_not_made(undone: bool, after_s: float) -> None:
    bmc = FakeBmc(FakeClock())
    asked: list[float] = []

    def fault(request: str) -> None:
        if request == "request_power":
            asked.append(bmc.clock.now())
            if len(asked) == 1:
                raise BmcTransientError("HTTP 503", undone=undone)

    bmc.fault = fault
    run_steps(steps(bmc).power(Power.ON), bmc.clock)
    assert len(asked) == 2
    assert after_s * 0.8 <= asked[1] - asked[0] <= after_s * 1.2 + 3


@pytest.mark.parametrize("change_s", [0, 45], ids=["at-once", "slowly"])
def test_a_lost_answer_is_not_followed_by_a_second_request(change_s: float) -> None:
    bmc = FakeBmc(FakeClock(), change_s=change_s)
    bmc.lost = failing(1, BmcTransientError("the connection broke"))
    run_steps(steps(bmc).power(Power.ON), bmc.clock)
    assert bmc.writes == ["On"]


def test_a_failing_bmc_is_asked_less_and_less_often() -> None:
    bmc = FakeBmc(FakeClock())
    bmc.fault = failing(1000, BmcTransientError("HTTP 503"))
    with pytest.raises(BmcTimeoutError, match="last answer: HTTP 503"):
        run_steps(steps(bmc).power(Power.ON), bmc.clock)
    assert bmc.requests < 80


def busy(retry_after_s: float) -> BmcTransientError:
    error = BmcTransientError("HTTP 503")
    error.retry_after_s = retry_after_s
    return error


@pytest.mark.parametrize("retry_after_s", [300, 86_400], ids=["minutes", "a-wrong-date"])
def test_retry_after_is_respected_for_minutes(retry_after_s: float) -> None:
    bmc = FakeBmc(FakeClock())
    bmc.fault = failing(1, busy(retry_after_s))
    began = bmc.clock.now()
    run_steps(steps(bmc).power(Power.OFF), bmc.clock)
    assert bmc.clock.now() - began == 300
    assert bmc.requests == 2


def test_a_wait_for_retry_after_ends_at_the_deadline() -> None:
    bmc = FakeBmc(FakeClock())
    bmc.fault = failing(9, busy(86_400))
    began = bmc.clock.now()
    with pytest.raises(BmcTimeoutError):
        run_steps(steps(bmc, 600).power(Power.OFF), bmc.clock)
    assert bmc.clock.now() - began == 600


def test_reads_become_rarer_during_a_long_wait() -> None:
    bmc = FakeBmc(FakeClock(), change_s=1200)
    run_steps(steps(bmc).power(Power.ON), bmc.clock)
    assert 60 < bmc.requests < 220


@pytest.mark.parametrize(
    ("error", "ends_well"),
    [
        pytest.param(BmcRefusedError("HTTP 400 (already on)"), True, id="refused-and-so"),
        pytest.param(BmcAuthError("HTTP 401"), False, id="wrong-password"),
    ],
)
def test_a_refused_change_that_took_effect_is_no_error(error: Exception, ends_well: bool) -> None:
    bmc = FakeBmc(FakeClock(), change_s=0)
    bmc.lost = failing(1, error)
    if ends_well:
        run_steps(steps(bmc).power(Power.ON), bmc.clock)
    else:
        with pytest.raises(BmcAuthError):
            run_steps(steps(bmc).power(Power.ON), bmc.clock)


def test_a_permanent_refusal_ends_the_step() -> None:
    bmc = FakeBmc(FakeClock())
    bmc.fault = failing(1, BmcRefusedError("reset On is not offered"), on="request_power")
    with pytest.raises(BmcRefusedError, match="not offered"):
        run_steps(steps(bmc).power(Power.ON), bmc.clock)
    assert bmc.writes == []


def test_an_eject_without_effect_is_repeated() -> None:
    class Silent(FakeBmc):
        ejects = 0

        def eject(self) -> None:
            self.ejects += 1
            if self.ejects == 3:
                super().eject()

    bmc = Silent(FakeClock(), image="nfs://x/rescue.iso")
    run_steps(steps(bmc).no_media(), bmc.clock)
    assert bmc.ejects == 3


@pytest.mark.parametrize(
    ("as_found", "writes"),
    [
        (BootOverride("Cd", "Disabled"), ["override Cd Once"]),
        (BootOverride("Hdd", "Once"), ["override Cd Once"]),
        (BootOverride("Cd", "Continuous"), []),
        (BootOverride("UsbCd", "Once"), []),
    ],
    ids=["disabled", "another", "as-sushy-tools-has-it", "as-supermicro-has-it"],
)
def test_an_override_is_set_unless_it_names_the_target_and_holds(as_found: BootOverride, writes: list[str]) -> None:
    bmc = FakeBmc(FakeClock(), override=as_found)
    run_steps(steps(bmc).override("Cd"), bmc.clock)
    assert bmc.writes == writes


def test_an_override_that_was_disabled_is_so_whatever_its_target() -> None:
    """Of a disabled one a BMC may show any target."""
    bmc = FakeBmc(FakeClock(), override=BootOverride("None", "Disabled"))
    run_steps(steps(bmc).override_as_found("Pxe", "Disabled"), bmc.clock)
    assert bmc.writes == []


def test_an_override_of_one_boot_is_not_the_lasting_one_that_was_found() -> None:
    """Found by simulation (seed 2227)."""
    bmc = FakeBmc(FakeClock(), sticky=False, override=BootOverride("Hdd", "Once", "UEFI"))
    run_steps(steps(bmc).override_as_found("Hdd", "Continuous"), bmc.clock)
    assert bmc.writes == ["override Hdd Continuous"]


@pytest.mark.parametrize(
    ("sends_mode", "read_mode", "writes"),
    [
        ("UEFI", "UEFI", ["override None Disabled Legacy"]),
        ("UEFI", "Legacy", []),
        ("", "UEFI", []),
    ],
    ids=["another-mode", "as-found", "takes-no-mode"],
)
def test_a_disabled_override_is_sent_again_for_its_mode_as_found(
    sends_mode: str, read_mode: str, writes: list[str]
) -> None:
    """Issue 42, 4: to a BMC that must be sent one, the mode goes with an override."""
    bmc = FakeBmc(FakeClock(), boot_mode=sends_mode, override=BootOverride("None", "Disabled", read_mode))
    run_steps(steps(bmc).override_as_found("None", "Disabled", "Legacy"), bmc.clock)
    assert bmc.writes == writes


NAMELESS = Identity("", "")


@pytest.mark.parametrize(
    ("first", "name", "waits_s"),
    [
        (NAMELESS, UUID, 60),
        (NAMELESS, "", 60),
        (Identity("", "SN-1"), UUID, 60),
        (Identity("00000000-0000-0000-0000-000000000000", "Default string"), "SN-1", 60),
        (Identity("", "SN-1"), "SN-1", 0),
        (Identity("", "SN-1"), "", 0),
        (Identity(UUID, "SN-1"), "another", 0),
        (Identity(UUID, ""), "SN-1", 60),
        (Identity(UUID, ""), UUID.replace("2", "3"), 0),
    ],
    ids=[
        "both",
        "a-spares",
        "uuid",
        "zeros",
        "named-by-serial",
        "a-spares-serial",
        "another-machine",
        "serial",
        "another-uuid",
    ],
)
def test_what_a_bmc_that_starts_does_not_report_yet_is_waited_for(first: Identity, name: str, waits_s: float) -> None:
    """Issue 42, 10: "set a serial number in its firmware", of a server that has one."""
    bmc = FakeBmc(FakeClock(), machine=first)
    began = bmc.clock.now()

    def start(_: str) -> None:
        if bmc.clock.now() - began >= 60:
            bmc.machine = Identity(UUID, "SN-1")

    bmc.fault = start
    machine = run_steps(steps(bmc).identity(name), bmc.clock)
    assert machine == (Identity(UUID, "SN-1") if waits_s else first)
    assert waits_s <= bmc.clock.now() - began <= waits_s + 40


def test_what_a_bmc_never_reports_is_waited_for_two_minutes() -> None:
    bmc = FakeBmc(FakeClock(), machine=NAMELESS)
    began = bmc.clock.now()
    assert run_steps(steps(bmc).identity(UUID), bmc.clock) == NAMELESS
    assert 120 <= bmc.clock.now() - began <= 160


def test_a_wait_for_a_serial_that_is_cut_short_returns_the_machine() -> None:
    """The rules on identities then name the machine that the BMC is of."""
    bmc = FakeBmc(FakeClock(), machine=Identity(UUID, ""))
    assert run_steps(steps(bmc, 30).identity("SN-1"), bmc.clock) == Identity(UUID, "")


def test_a_wait_for_a_uuid_that_is_cut_short_says_what_is_missing() -> None:
    """A refresh, which then keeps the recorded values."""
    bmc = FakeBmc(FakeClock(), machine=NAMELESS)
    with pytest.raises(BmcTimeoutError, match="last answer: the BMC reports no UUID and no serial of its own"):
        run_steps(steps(bmc, 30).identity(UUID), bmc.clock)


@pytest.mark.parametrize(
    ("targets", "read", "writes"),
    [
        (("Cd", "Hdd"), BootOverride("Cd", "Once"), ["override Hdd Once"]),
        (("Cd", "None"), BootOverride("Cd", "Once"), ["override None Disabled"]),
        (("Cd",), BootOverride("None", "Disabled"), ["override None Disabled"]),
    ],
    ids=["offered", "not-offered", "used-up"],
)
def test_the_disk_boots_next_by_hdd_else_without_an_override(
    targets: tuple[str, ...], read: BootOverride, writes: list[str]
) -> None:
    bmc = FakeBmc(FakeClock(), targets=targets, override=read, sticky=False)
    run_steps(steps(bmc).disk_next(), bmc.clock)
    assert bmc.writes == writes
