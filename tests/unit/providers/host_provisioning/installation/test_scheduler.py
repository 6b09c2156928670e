"""The installation of many hosts at once."""

import asyncio
import errno
import os
import resource
from collections.abc import Awaitable, Callable
from concurrent.futures import thread
from contextlib import nullcontext

import pytest

from base.clock import engine_gone
from base.errors import BmcTransientError, EngineGoneError
from providers.host_provisioning.installation.adapters import Adapters, Target
from providers.host_provisioning.installation.boot_procedures import VirtualCd
from providers.host_provisioning.installation.engine import Installation
from providers.host_provisioning.installation.evidence import Evidence
from providers.host_provisioning.installation.scheduler import install_all
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.mark import FakeMark
from testing.fakes.media import FakeMedia


def fleet(count: int, clock: FakeClock) -> tuple[dict[str, FakeBmc], dict[str, Installation]]:
    media = FakeMedia()
    bmcs = {f"host-{index}": FakeBmc(clock, read_by_bmc=media.fetch) for index in range(count)}
    installations = {}
    for name, bmc in bmcs.items():
        evidence = Evidence(FakeMark(), lambda _: False, bmc.is_up)
        by_cd = VirtualCd(bmc, media, name)
        adapters = Adapters(bmc, clock, media, by_cd, bmc.missing, lambda _: None, nullcontext(), evidence)
        installations[name] = Installation(Target(name, "", "192.0.2.1"), adapters, 100_000)
    return bmcs, installations


def passing(clock: FakeClock) -> Callable[[float], Awaitable[None]]:
    async def pause(seconds: float) -> None:
        clock.sleep(seconds)

    return pause


def test_one_failing_host_does_not_stop_the_others() -> None:
    clock = FakeClock()
    bmcs, installations = fleet(40, clock)
    installations["host-7"].deadline_s = 50

    def dead(_: str) -> None:
        raise BmcTransientError("no connection within 5 s")

    bmcs["host-7"].fault = dead
    failed = install_all(installations, clock=clock, pause=passing(clock))
    assert list(failed) == ["host-7"]
    assert "no connection within 5 s" in str(failed["host-7"])
    assert all(bmc.installs == 1 and bmc.is_up() for name, bmc in bmcs.items() if name != "host-7")


@pytest.mark.parametrize("error", [AttributeError("hunter2"), RecursionError(), TypeError()], ids=repr)
def test_an_error_of_one_host_that_nobody_expects_does_not_stop_the_others(error: Exception) -> None:
    """S3 of issue 43."""
    clock = FakeClock()
    bmcs, installations = fleet(6, clock)

    def odd(_: str) -> None:
        raise error

    bmcs["host-3"].fault = odd
    failed = install_all(installations, clock=clock, pause=passing(clock))
    assert list(failed) == ["host-3"]
    line = f"internal error: {type(error).__name__}: test_scheduler.py:"
    assert str(failed["host-3"]).startswith(line)
    assert "Fix: report it with what `okd-baremetal gather` writes" in str(failed["host-3"])
    assert "hunter2" not in str(failed["host-3"])
    assert all(bmc.installs == 1 and bmc.is_up() for name, bmc in bmcs.items() if name != "host-3")


def test_a_full_disk_is_no_defect_to_report() -> None:
    """A boot ISO is made with files in $TMPDIR, once its host is due."""
    clock = FakeClock()
    bmcs, installations = fleet(2, clock)

    def full(_: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    bmcs["host-1"].fault = full
    failed = install_all(installations, clock=clock, pause=passing(clock))
    wanted = (
        "the system refuses: No space left on device. Fix: make room on the disk of standard output and of $TMPDIR"
    )
    assert {host: str(error).startswith(wanted) for host, error in failed.items()} == {"host-1": True}


def test_work_stops_when_the_engine_is_gone() -> None:
    clock = FakeClock()
    bmcs, installations = fleet(3, clock)

    class GoneClock(FakeClock):
        def sleep(self, seconds: float) -> None:
            raise engine_gone()

    async def never(_: float) -> None:
        await asyncio.Event().wait()

    with pytest.raises(EngineGoneError):
        install_all(installations, clock=GoneClock(), pause=never)
    assert all(bmc.closed for bmc in bmcs.values() if bmc.requests)


def test_a_host_that_notices_the_end_of_the_engine_ends_all_hosts() -> None:
    clock = FakeClock()
    bmcs, installations = fleet(3, clock)

    def gone(_: str) -> None:
        raise engine_gone()

    bmcs["host-1"].fault = gone
    with pytest.raises(EngineGoneError):
        install_all(installations, clock=clock, pause=passing(clock))


def test_a_process_that_ends_has_no_internal_error_to_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a second Ctrl-C: the engine has this process end, and an interpreter that ends starts no thread."""
    clock = FakeClock()
    bmcs, installations = fleet(3, clock)
    bmcs["host-1"].fault = lambda _: monkeypatch.setattr(thread, "_shutdown", True)
    with pytest.raises(EngineGoneError):
        install_all(installations, clock=clock, pause=passing(clock))


def test_a_fleet_may_open_as_many_files_as_the_machine_allows() -> None:
    """1024 by custom: enough for 200 hosts."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    clock, limits = FakeClock(), set[tuple[int, int]]()
    bmcs, installations = fleet(1, clock)
    bmcs["host-0"].fault = lambda _: limits.add(resource.getrlimit(resource.RLIMIT_NOFILE))
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1] - 1, before[1]))
    try:
        install_all(installations, clock=clock, pause=passing(clock))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert limits == {(before[1], before[1])}
