"""Many hosts at once; and who is left alone by an update."""

import asyncio
from contextlib import nullcontext
from typing import Any

import pytest

from providers.base.errors import BmcTransientError, EngineGoneError
from providers.host_provisioning.engine import Host, Installation, World
from providers.host_provisioning.provider import HostProvisioningProvider, HostSpec, still_installed
from providers.host_provisioning.rollout import roll_out
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.media import FakeMedia


def fleet(count: int, clock: FakeClock) -> tuple[dict[str, FakeBmc], dict[str, Installation]]:
    media = FakeMedia()
    bmcs = {f"host-{index}": FakeBmc(clock, read_by_bmc=media.fetch) for index in range(count)}
    ways = {}
    for name, bmc in bmcs.items():
        world = World(bmc, clock, media, lambda _, bmc=bmc: bmc.is_up(), lambda _: None, nullcontext())  # type: ignore[misc]
        ways[name] = Installation(Host(name, "", "192.0.2.1"), world, 100_000)
    return bmcs, ways


def passing(clock: FakeClock):  # type: ignore[no-untyped-def]
    async def pause(seconds: float) -> None:
        clock.sleep(seconds)

    return pause


def test_one_failing_host_does_not_stop_the_others() -> None:
    clock = FakeClock()
    bmcs, ways = fleet(40, clock)
    ways["host-7"].deadline_s = 50

    def dead(_: str) -> None:
        raise BmcTransientError("no connection within 5 s")

    bmcs["host-7"].fault = dead
    failed = roll_out(ways, clock=clock, pause=passing(clock))
    assert list(failed) == ["host-7"]
    assert "no connection within 5 s" in str(failed["host-7"])
    assert all(bmc.installs == 1 and bmc.is_up() for name, bmc in bmcs.items() if name != "host-7")


def test_work_stops_when_the_engine_is_gone() -> None:
    clock = FakeClock()
    bmcs, ways = fleet(3, clock)

    class GoneClock(FakeClock):
        def sleep(self, seconds: float) -> None:
            raise EngineGoneError("the Pulumi engine is gone")

    async def never(_: float) -> None:
        await asyncio.Event().wait()

    with pytest.raises(EngineGoneError):
        roll_out(ways, clock=GoneClock(), pause=never)
    assert all(bmc.closed for bmc in bmcs.values() if bmc.requests)


HOST = {"bmc_url": "redfish-virtualmedia+https://192.0.2.9/redfish/v1/Systems/1", "username": "admin"}
HOST |= {"address": "192.0.2.21", "root_device": "/dev/sda", "uuid": "UU-1"}
RECORD = {"uuid": "uu-1", "iso_sha256": "ab", "at": "2026-11-21T00:00:00+00:00"}
PROPS = {
    "role": "control-plane",
    "hosts": {"m0": HOST},
    "passwords": {"m0": "secret"},
    "media_address": "192.0.2.1",
    "media_port": 8080.0,
    "base_iso_sha256": "cd",
    "ignition_sha256": {"m0": "1"},
    "ours": {"m0": "{}"},
    "payload_sha256": "ef",
    "stack": "test",
    "api_name": "api.okd.lab.test",
}


def test_an_installed_host_is_never_asked_again() -> None:
    olds = {**PROPS, "installed": {"m0": RECORD, "gone": RECORD}, "steps": {"m0": {"media": 1.5}}}
    news = {**PROPS, "ignition_sha256": {"m0": "2"}, "base_iso_sha256": "other", "payload_sha256": "other"}
    outs = HostProvisioningProvider().update("test-control-plane", olds, news).outs
    assert outs is not None
    assert outs["installed"] == {"m0": RECORD}
    assert outs["steps"] == {"m0": {"media": 1.5}}


@pytest.mark.parametrize(
    ("uuid", "kept"), [("UU-1", True), ("", True), ("uu-2", False)], ids=["same", "unknown", "replaced"]
)
def test_a_record_holds_for_its_machine(uuid: str, kept: bool) -> None:
    hosts = {"m0": HostSpec.model_validate({**HOST, "uuid": uuid})}
    assert bool(still_installed({"m0": RECORD}, hosts)) is kept


def test_a_preview_says_whom_the_change_leaves_alone(capfd: pytest.CaptureFixture[str]) -> None:
    olds = {**PROPS, "installed": {"m0": RECORD}}
    HostProvisioningProvider().diff("id", olds, {**PROPS, "urn": "u::rollout", "base_iso_sha256": "other"})
    assert "not touched by this change: m0" in capfd.readouterr().err


def test_check_names_what_a_host_lacks() -> None:
    failures = HostProvisioningProvider().check({}, {**PROPS, "passwords": {}}).failures
    assert [(failure.property, failure.reason) for failure in failures] == [("passwords", "nothing for m0")]


@pytest.mark.parametrize(
    ("unicast", "before", "refused"),
    [
        pytest.param(True, {"m0"}, True, id="one-more"),
        pytest.param(True, {"m0", "m1"}, False, id="the-same"),
        pytest.param(True, {"m0", "m1", "m2"}, False, id="one-less"),
        pytest.param(True, set(), False, id="the-first-ones"),
        pytest.param(False, {"m0"}, False, id="multicast"),
    ],
)
def test_a_host_that_the_others_would_not_hear_is_refused(unicast: bool, before: set[str], refused: bool) -> None:
    def props(names: set[str]) -> dict[str, Any]:
        of_each = {key: dict.fromkeys(names, "x") for key in ("hosts", "passwords", "ours", "ignition_sha256")}
        return {**PROPS, **of_each, "unicast": unicast}

    olds = props(before) if before else {}
    failures = HostProvisioningProvider().check(olds, props({"m0", "m1"})).failures
    wanted = ["m1: no installed host lists it as a VRRP peer (unicast), so two would claim a VIP; take it out"]
    assert [failure.reason for failure in failures] == (wanted if refused else [])
