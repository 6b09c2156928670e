"""The installation of a host that boots from the network."""

from dataclasses import replace

import pytest

from base.errors import BmcTimeoutError, ProvisioningError
from providers.host_provisioning.installation.boot_procedures import NetworkBoot
from providers.host_provisioning.installation.running_host import UNSEEN_S
from testing.fakes.media import DIGEST
from tests.unit.providers.host_provisioning.installation.rig import NAME, Rig
from wires.bmc.client import Power
from wires.bmc.steps import Waits, run_steps

MAC = "52:54:00:11:10:01"


def rig_over_network() -> Rig:
    rig = Rig()
    rig.boot_procedure = NetworkBoot(rig.bmc, rig.media, NAME, rig.clock, MAC)
    rig.bmc.boot_over_network = lambda: rig.media.boot(NAME)
    return rig


def test_the_host_boots_once_from_the_network_then_from_its_disk() -> None:
    rig = rig_over_network()
    installation = rig.run()
    assert rig.bmc.writes == ["override Pxe Once", "On", "override Hdd Once", "On"]
    assert (installation.iso_sha256, rig.bmc.installs, rig.bmc.booted_from) == (DIGEST, 1, "disk")
    assert "installing over the network" in installation.seconds


def test_an_on_during_the_departure_is_not_that_of_this_run() -> None:
    """The API is asked without a wait of the installation, and nothing is written to prepare this boot."""
    rig = rig_over_network()
    rig.media.makes = 0  # made before
    installation = rig.installation()

    def take_out() -> Waits:
        rig.bmc.run_from_disk()
        yield from ()

    installation.adapters = replace(installation.adapters, take_out=take_out)
    run_steps(installation.run(), rig.clock)
    assert rig.bmc.writes == ["Off", "override Pxe Once", "On", "override Hdd Once", "On"]


def test_ipxe_starts_the_installer_only_while_the_host_is_installed() -> None:
    rig, enabled = rig_over_network(), []
    rig.bmc.lost = lambda write: enabled.append((write, NAME in rig.media.enabled))
    rig.run()
    assert enabled == [("override Pxe Once", False), ("On", True), ("override Hdd Once", False), ("On", False)]


def test_a_host_that_boots_from_the_network_again_boots_its_disk() -> None:
    rig = rig_over_network()
    rig.run()
    rig.bmc.request_power(Power.OFF)
    rig.clock.sleep(10)
    rig.bmc.set_override("Pxe", "Continuous")
    rig.bmc.request_power(Power.ON)
    rig.clock.sleep(10)
    assert (rig.bmc.power(), rig.bmc.booted_from, rig.bmc.installs) == (Power.ON, "disk", 1)


def test_a_host_that_boots_its_disk_instead_is_an_error() -> None:
    rig = rig_over_network()
    rig.bmc.boot_over_network = lambda: None
    with pytest.raises(
        ProvisioningError,
        match=rf"never asked for its boot script, 1,8\d\d s after.*{MAC}.*then switch the server off",
    ):
        rig.run()
    assert rig.bmc.installs == 0


def test_a_host_that_goes_off_without_its_live_system_is_not_installed() -> None:
    rig = rig_over_network()
    rig.bmc.boot_over_network = lambda: rig.bmc.request_power(Power.OFF)
    with pytest.raises(ProvisioningError, match=r"never asked for its boot script, .* the server is off"):
        rig.run()
    assert rig.bmc.writes == ["override Pxe Once", "On", "Off"]


def test_ipxe_installs_no_host_whose_installation_has_failed() -> None:
    rig = rig_over_network()
    rig.bmc.boot_over_network = lambda: None
    with pytest.raises(ProvisioningError):
        rig.run()
    assert rig.media.enabled == set()


def test_the_error_says_how_far_the_host_came() -> None:
    rig = rig_over_network()
    rig.bmc.boot_over_network = lambda: None
    rig.media.fetched = "boot.ipxe, vmlinuz"
    with pytest.raises(ProvisioningError, match=r"it fetched boot\.ipxe, vmlinuz, but not its live system"):
        rig.run()


def test_a_host_that_runs_from_its_disk_is_adopted_and_only_read() -> None:
    rig = rig_over_network()
    rig.bmc.run_from_disk()
    installation = rig.run()
    assert (installation.iso_sha256, rig.bmc.writes, rig.media.enabled) == ("", [], set())


@pytest.mark.parametrize("sign", ["reads", "says"])
def test_a_live_system_that_an_ended_run_started_is_awaited(sign: str) -> None:
    rig = rig_over_network()
    rig.media.enable_boot(NAME)
    rig.bmc.set_override("Pxe", "Once")
    rig.bmc.request_power(Power.ON)
    rig.clock.sleep(10)
    assert rig.bmc.power() is Power.ON
    rig.media.disable_boot(NAME)
    rig.bmc.writes.clear()
    assert (rig.bmc.power(), rig.bmc.booted_from) == (Power.ON, rig.media.url(NAME))
    if sign == "says":
        rig.media.read, rig.media.report = {}, "chosen /dev/vda"
    installation = rig.run()
    assert rig.bmc.writes == ["override Hdd Once", "On"]
    assert (installation.iso_sha256, rig.bmc.installs) == (DIGEST, 1)


def test_a_host_that_is_off_for_a_minute_after_an_ended_run_is_installed() -> None:
    rig = rig_over_network()
    rig.bmc.run_from_disk()
    rig.bmc.answers = False
    rig.bmc._events.append((rig.clock.now() + 30, rig.bmc._switch_off))
    rig.bmc.lost = lambda _: setattr(rig.bmc, "answers", True)
    installation = rig.run()
    assert rig.bmc.writes == ["override Pxe Once", "On", "override Hdd Once", "On"]
    assert installation.seconds["adopting, as it runs from its disk"] >= UNSEEN_S


def test_a_host_that_only_seems_off_for_a_moment_is_not_touched() -> None:
    rig = rig_over_network()
    rig.bmc.run_from_disk()
    rig.bmc.answers = False
    rig.bmc._events.append((rig.clock.now() + 30, lambda: setattr(rig.bmc, "state", Power.OFF)))
    rig.bmc._events.append((rig.clock.now() + 60, lambda: setattr(rig.bmc, "state", Power.ON)))
    with pytest.raises(BmcTimeoutError, match="adopting"):
        rig.run()
    assert rig.bmc.writes == []


@pytest.mark.parametrize("breaks", [1, 2])
def test_a_live_system_that_breaks_off_is_started_over(breaks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = rig_over_network()
    rig.bmc.sticky, install_s = False, rig.bmc.install_s
    monkeypatch.setattr(rig.media, "size", lambda _: 2)

    def boot() -> str | None:
        sent_before = rig.media.sent(rig.media.url(NAME))
        if url := rig.media.boot(NAME):
            breaks_off = rig.bmc.writes.count("Off") < breaks
            rig.media.read[url] = sent_before + (1 if breaks_off else 2)
            rig.bmc.install_s = 1e9 if breaks_off else install_s
        return url

    rig.bmc.boot_over_network = boot
    rig.run()
    started_over = ["Off", "override Pxe Once", "On"] * breaks
    assert rig.bmc.writes == ["override Pxe Once", "On", *started_over, "override Hdd Once", "On"]
    assert rig.bmc.installs == 1


def test_a_live_system_that_was_fetched_to_the_end_may_install_for_long() -> None:
    rig = rig_over_network()
    rig.bmc.install_s = 3000
    rig.run()
    assert rig.bmc.writes == ["override Pxe Once", "On", "override Hdd Once", "On"]


def test_a_fetch_may_pause_while_the_network_breaks_for_100_s(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = rig_over_network()
    monkeypatch.setattr(rig.media, "size", lambda _: 1_000_000)
    monkeypatch.setattr(rig.media, "sent", lambda _: int(rig.clock.now() // 100))
    rig.bmc.install_s = 3000
    rig.run()
    assert rig.bmc.writes == ["override Pxe Once", "On", "override Hdd Once", "On"]
