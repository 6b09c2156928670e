"""BMC, hypervisor and OKD in memory are as hard as what they stand for: a kinder one would let a defect pass."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator
from pydantic import RootModel

from base.errors import HypervisorError
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.hypervisor import FakeHypervisor
from testing.fakes.okd_kinds import OPERATOR_SCHEMA, VERSION_SCHEMA, Object
from testing.fakes.okd_release import LOAD_S, PART_S, PARTS, FakeOkd, image_of
from wires.api.resources import OPERATORS, VERSION
from wires.bmc.client import BootOverride, Power
from wires.libvirt.hypervisor import Domain

ISO = "http://192.0.2.1/5eed/a.iso"
VM = "vm"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def bmc(clock: FakeClock) -> FakeBmc:
    return FakeBmc(clock)


@pytest.fixture
def hypervisor(clock: FakeClock) -> FakeHypervisor:
    return FakeHypervisor(clock, domains={VM: Domain("owner", "build", running=False)})


def test_power_changes_only_after_a_while(bmc: FakeBmc, clock: FakeClock) -> None:
    bmc.request_power(Power.ON)
    assert bmc.power() is Power.OFF
    clock.sleep(bmc.change_s)
    assert bmc.power() is Power.ON


def test_a_full_drive_takes_no_image(bmc: FakeBmc) -> None:
    bmc.insert(ISO)
    with pytest.raises(AssertionError):
        bmc.insert(ISO)


@pytest.mark.parametrize(("target", "uri"), [("UefiHttp", ""), ("Cd", ISO)])
def test_only_a_boot_by_http_has_a_uri(bmc: FakeBmc, target: str, uri: str) -> None:
    with pytest.raises(AssertionError):
        bmc.set_override(target, "Once", uri=uri)


@pytest.mark.parametrize(("sticky", "left"), [(True, ("Cd", "Continuous")), (False, ("None", "Disabled"))])
def test_an_override_is_used_up_by_a_boot_unless_it_sticks(
    clock: FakeClock, sticky: bool, left: tuple[str, str]
) -> None:
    bmc = FakeBmc(clock, sticky=sticky, image=ISO)
    bmc.set_override("Cd", "Once")
    bmc.request_power(Power.ON)
    clock.sleep(bmc.change_s)
    now = bmc.boot_override()
    assert (now.target, now.enabled) == left


def installing(clock: FakeClock) -> FakeBmc:
    return FakeBmc(clock, override=BootOverride("Cd", "Continuous", "UEFI")).run_from_media(ISO)


def test_an_installer_takes_its_time_switches_off_and_is_installed_once(clock: FakeClock) -> None:
    bmc = installing(clock)
    clock.sleep(bmc.install_s - 1)
    assert (bmc.power(), bmc.disk) == (Power.ON, None)
    clock.sleep(2)
    assert (bmc.power(), bmc.disk, bmc.installs) == (Power.OFF, ISO, 1)


@pytest.mark.parametrize("spoil", [lambda bmc: bmc.eject(), lambda bmc: bmc.request_power(Power.OFF)])
def test_an_installer_without_its_iso_or_power_never_ends(clock: FakeClock, spoil: Callable[[FakeBmc], None]) -> None:
    bmc = installing(clock)
    spoil(bmc)
    clock.sleep(10 * bmc.install_s)
    bmc.power()
    assert (bmc.disk, bmc.installs) == (None, 0)


def test_an_installed_system_answers_only_when_it_has_booted_from_its_disk(clock: FakeClock) -> None:
    bmc = FakeBmc(clock, disk=ISO)
    bmc.request_power(Power.ON)
    clock.sleep(bmc.change_s)
    assert (bmc.power(), bmc.is_up()) == (Power.ON, False)
    clock.sleep(bmc.boot_s)
    assert bmc.is_up()
    bmc.request_power(Power.OFF)
    clock.sleep(bmc.change_s)
    assert not bmc.is_up()


def test_a_boot_mode_by_a_job_waits_for_the_next_power_on(clock: FakeClock) -> None:
    bmc = FakeBmc(clock, by_job=True)
    bmc.set_boot_mode("Legacy")
    assert bmc.boot_override().mode == "UEFI"
    bmc.request_power(Power.ON)
    clock.sleep(bmc.change_s)
    assert bmc.boot_override().mode == "Legacy"


def test_a_bmc_without_secure_boot_takes_none(bmc: FakeBmc) -> None:
    with pytest.raises(AssertionError):
        bmc.set_secure_boot(enabled=True)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda each: each.power_off(VM), id="cut-power-of-one-that-is-off"),
        pytest.param(lambda each: (each.start(VM), each.start(VM)), id="start-one-that-runs"),
        pytest.param(lambda each: (each.start(VM), each.undefine(VM)), id="undefine-one-that-runs"),
    ],
)
def test_libvirt_refuses_what_a_domain_cannot_do(
    hypervisor: FakeHypervisor, call: Callable[[FakeHypervisor], object]
) -> None:
    with pytest.raises(AssertionError, match="libvirt"):
        call(hypervisor)


def test_a_volume_that_is_not_there_has_no_path(hypervisor: FakeHypervisor) -> None:
    with pytest.raises(HypervisorError, match="not found"):
        hypervisor.volume_path("default", "none.qcow2")


def test_a_guest_shuts_down_after_its_button_and_not_before_its_time(
    hypervisor: FakeHypervisor, clock: FakeClock
) -> None:
    hypervisor.start(VM)
    hypervisor.shut_down(VM)
    running = replace(hypervisor.domains[VM], running=True)
    assert hypervisor.find(VM) == running
    clock.sleep(hypervisor.shuts_down_s or 0)
    assert hypervisor.find(VM) == replace(running, running=False)


@pytest.mark.parametrize(("missed", "shuts_down_s"), [(1, 3.0), (0, None)])
def test_a_guest_may_miss_or_ignore_its_button(clock: FakeClock, missed: int, shuts_down_s: float | None) -> None:
    domains = {VM: Domain("owner", "build", running=True)}
    hypervisor = FakeHypervisor(clock, shuts_down_s=shuts_down_s, presses_missed=missed, domains=domains)
    hypervisor.shut_down(VM)
    clock.sleep(3600)
    assert hypervisor.find(VM) == domains[VM]


def faults(okd: FakeOkd) -> list[str]:
    """Return what the CRDs of OKD would not take of an OKD's objects."""
    version, operators = (okd.get("", path, RootModel[Object]) for path in (VERSION, OPERATORS))
    assert version
    assert operators
    of_kind = [(VERSION_SCHEMA, version.root), *((OPERATOR_SCHEMA, each) for each in operators.root["items"])]
    return [fault.json_path for schema, seen in of_kind for fault in Draft202012Validator(schema).iter_errors(seen)]


def test_the_objects_of_an_okd_are_valid_ones(clock: FakeClock) -> None:
    okd = FakeOkd(clock)
    okd.conditional["4.21.3"] = ("False", "LosesNetwork", "Nodes lose their network.")
    assert faults(okd) == []
    okd.tell(version="4.21.3", image=image_of("4.21.3"))
    for seconds in (LOAD_S, PARTS * PART_S):
        clock.sleep(seconds)
        assert faults(okd) == []
