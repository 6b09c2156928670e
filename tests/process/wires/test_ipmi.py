"""Real IPMI over UDP: ipmitool against the fake BMC, and many clients at once."""

import math
import os
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from pydantic import SecretStr

from base.clock import SYSTEM_CLOCK
from cluster.values.consent import missing_consent
from testing.fakes.bmc import UUID, FakeBmc
from testing.fakes.ipmi.bmc import PASSWORD, USER, FakeIpmiBmc
from testing.fakes.ipmi.links import TickingClock, served
from testing.fakes.ipmi.traits import TRAITS
from wires.bmc.access import BmcAccess
from wires.bmc.client import BootOverride, Identity, Power
from wires.bmc.steps import Steps, run_steps
from wires.ipmi import session
from wires.ipmi.bmc import IpmiBmc

HOSTS = 100


@pytest.fixture(autouse=True)
def _no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait a second between requests: the fake has no firmware that they could crash."""
    monkeypatch.setattr(session, "PACE_S", 0.05)


def fake(kind: str = "generic", **faults: float) -> FakeIpmiBmc[FakeBmc]:
    server = FakeBmc(TickingClock(), sticky=False, change_s=0.0, disk="installed before")
    return FakeIpmiBmc(server, TRAITS[kind], **faults)  # type: ignore[arg-type]


def client(port: int) -> IpmiBmc:
    return IpmiBmc(BmcAccess(address=f"ipmi://127.0.0.1:{port}", username=USER), SecretStr(PASSWORD))


def ipmitool(port: int, *words: str) -> str:
    command = ("ipmitool", "-I", "lanplus", "-H", "127.0.0.1", "-p", str(port), "-U", USER, "-E", *words)
    secret = {**os.environ, "IPMI_PASSWORD": PASSWORD}
    return subprocess.run(command, env=secret, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.parametrize("suite", ["17", "3"])
def test_ipmitool_reads_from_the_fake_bmc_what_the_client_has_set(suite: str) -> None:
    """The fake and the client were both written here: a third program has to agree with both."""
    bmc = fake()
    with served([bmc]) as (port,):
        ours, theirs = client(port), partial(ipmitool, port, "-C", suite)
        ours.set_override("Pxe", "Once")
        assert "Boot parameter data: a004000000" in theirs("chassis", "bootparam", "get", "5")
        theirs("chassis", "bootdev", "disk", "options=persistent,efiboot")
        assert ours.boot_override() == BootOverride("Hdd", "Continuous")
        theirs("power", "on")
        assert ours.power() is Power.ON
        ours.request_power(Power.OFF)
        assert theirs("power", "status") == "Chassis Power is off\n"
        assert UUID in theirs("mc", "guid")
        assert ours.identity() == Identity(UUID, "SN-1", "R650", "Dell")
        assert "Product Serial        : SN-1" in theirs("fru", "print", "0")
        ours.close()
    assert not bmc.sessions.open


def test_the_command_of_a_missing_consent_prints_the_uuid() -> None:
    bmc = fake()
    with served([bmc]) as (port,):
        _, command, *_ = missing_consent("m0", f"ipmi://127.0.0.1:{port}").fix.split("its ")[1].split("`")
        words = command.replace("<user>", USER).split()
        done = subprocess.run(words, input=f"{PASSWORD}\n", capture_output=True, text=True, timeout=60, check=True)
    assert f"System GUID   : {UUID}" in done.stdout


def test_a_hundred_hosts_are_read_at_once_where_datagrams_are_lost() -> None:
    """Issue 45: pyghmi hung, and ipmitool failed for some. As in a run, a step repeats what gets no answer."""
    bmcs = [fake(loss=0.01, latency_s=0.0, seed=number) for number in range(HOSTS)]

    def read(port: int) -> tuple[object, ...]:
        ours = client(port)
        steps = Steps(ours, SYSTEM_CLOCK, math.inf)
        read_by: list[Callable[[], object]] = [ours.power, ours.boot_override, ours.identity]
        try:
            return tuple(run_steps(steps.value("an answer", it), SYSTEM_CLOCK) for it in read_by)
        finally:
            ours.close()

    began = time.monotonic()
    with served(bmcs) as ports, ThreadPoolExecutor(HOSTS) as threads:
        answers = list(threads.map(read, ports))
    assert answers == [(Power.OFF, BootOverride("None", "Disabled"), Identity(UUID, "SN-1", "R650", "Dell"))] * HOSTS
    assert time.monotonic() - began < 100
