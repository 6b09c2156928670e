"""BmcHost: its consent, take-over and release of a server."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from base.errors import BmcAuthError, BmcIdentityError, BmcTimeoutError, BmcTransientError
from cluster.values.consent import consent_command
from providers.bmc_host.engine import LOOK_S, BmcHostEngine
from providers.bmc_host.model import AsFound
from testing.fakes.bmc import UUID, FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.mark import FakeMark
from wires.bmc.client import BootOverride, Identity, Power, SecureBoot

HOST = "okd-master-0"
KEEP = FakeMark().remove


def no_node(_: Identity) -> None:
    """Answer for a cluster of which the machine is no node."""


def engine(
    bmc: FakeBmc, consent: str = UUID, recorded: Identity | None = None, *, fenced: bool = False
) -> BmcHostEngine:
    return BmcHostEngine(bmc, bmc.clock, lambda _: None, HOST, consent, 300, recorded, fenced)


def bmc(state: Power = Power.OFF, image: str | None = None) -> FakeBmc:
    fake = FakeBmc(FakeClock(), image=image)
    return fake.run_from_disk() if state is Power.ON else fake


@pytest.mark.parametrize("consent", [UUID, UUID.upper(), "SN-1", "sn-1"])
def test_consent_names_uuid_or_serial_in_any_case(consent: str) -> None:
    assert engine(bmc(), consent).identify().uuid == UUID


def test_the_error_about_another_machine_has_the_consenting_command() -> None:
    fake = bmc(Power.ON, "http://x/y.iso")
    with pytest.raises(BmcIdentityError, match=rf"pulumi config set --path 'consent.{HOST}' {UUID}$") as caught:
        engine(fake, "SN-2").take_over(KEEP, no_node)
    assert "Dell R650" in str(caught.value)
    assert fake.writes == []


@pytest.mark.parametrize(
    ("consent", "hint"),
    [("12345", True), ("SN-2", False), (UUID.replace("4", "5"), False)],
    ids=["digits", "serial", "uuid"],
)
def test_a_consent_of_digits_may_have_lost_its_zeros(consent: str, hint: bool) -> None:
    with pytest.raises(BmcIdentityError) as caught:
        engine(bmc(), consent).identify()
    assert (
        caught.value.fault.fix.endswith("; a serial that begins with 0 stands in quotes in the stack's file") is hint
    )


def test_a_spare_needs_no_consent_but_a_name_to_consent_to() -> None:
    fake = bmc(Power.ON, "http://x/y.iso")
    identity, found = engine(fake, "").observe()
    assert (identity.uuid, found.media) == (UUID, "http://x/y.iso")
    fake.machine = Identity(BOARD, OEM)
    with pytest.raises(BmcIdentityError, match="set a serial number in its firmware first"):
        engine(fake, "").observe()
    assert fake.writes == []


OEM, BOARD = "To be filled by O.E.M.", "03000200-0400-0500-0006-000700080009"


@pytest.mark.parametrize(
    ("machine", "consent", "advice"),
    [
        pytest.param(Identity(BOARD, "SN-1"), BOARD, f"name its serial: {consent_command(HOST, 'SN-1')}", id="uuid"),
        pytest.param(Identity(UUID, OEM), OEM.upper(), f"name its UUID: {consent_command(HOST, UUID)}", id="serial"),
        pytest.param(Identity(BOARD, OEM), OEM, "set a serial number in its firmware first", id="both"),
        pytest.param(Identity(BOARD, OEM), "SN-1", "set a serial number in its firmware first", id="and-another"),
    ],
)
def test_a_value_that_many_boards_report_is_no_consent(machine: Identity, consent: str, advice: str) -> None:
    fake = bmc(Power.ON, "http://x/y.iso")
    fake.machine = machine
    with pytest.raises(BmcIdentityError) as caught:
        engine(fake, consent).take_over(KEEP, no_node)
    assert advice in str(caught.value)
    assert fake.writes == []


RECORDED = Identity(UUID, "SN-1", "R650", "Dell")


def test_the_error_about_a_replaced_machine_names_both() -> None:
    fake = bmc(Power.ON, "http://x/y.iso")
    fake.machine = Identity("c0ffee00-0000-4000-8000-000000000002", "SN-2", "DL380", "HPE")
    calls: tuple[Callable[[BmcHostEngine], object], ...] = (
        BmcHostEngine.identify,
        lambda it: it.release(AsFound()),
    )
    for call in calls:
        with pytest.raises(BmcIdentityError) as caught:
            call(engine(fake, UUID, RECORDED))
        text = str(caught.value)
        assert f"the record is of Dell R650, UUID {UUID}, serial SN-1; the BMC is that of HPE DL380, UUID " in text
        assert f"name its UUID: {consent_command(HOST, fake.machine.uuid)}" in text
    assert fake.writes == []


@pytest.mark.parametrize(
    ("image", "override", "changed"),
    [
        (None, BootOverride("Pxe", "Continuous", "UEFI"), ""),
        (None, BootOverride("Hdd", "Once"), ""),
        (None, BootOverride("None", "Disabled"), ""),
        (
            "http://x/y.iso",
            BootOverride("Hdd", "Once"),
            "changed by someone else: virtual CD http://x/y.iso, left empty",
        ),
        (None, BootOverride("Cd", "Once"), "changed by someone else: boot override Cd Once, found Pxe Continuous"),
    ],
    ids=["as-found", "from-disk", "used-up", "media", "override"],
)
def test_a_refresh_reports_changed_media_and_boot_override(
    image: str | None, override: BootOverride, changed: str
) -> None:
    fake = bmc(Power.ON, image)
    fake.override = override
    line, changes = engine(fake).drift(AsFound(override=BootOverride("Pxe", "Continuous", "UEFI")))
    assert line == f"power On; virtual CD {image or 'empty'}; boot override {override.target} {override.enabled}"
    assert changes == ([changed] if changed else [])
    assert fake.writes == []


def test_the_boot_iso_of_an_interrupted_installation_is_to_be_left_there() -> None:
    """Its ejection, as recover.md advises of somebody's media, has `up` wait for a disk that is half written."""
    fake = FakeBmc(FakeClock()).run_from_media(f"http://192.0.2.1/{'ab' * 32}/{HOST}.iso")
    _, warnings = engine(fake).drift(AsFound())
    assert warnings == [
        "an installation was interrupted, and has its boot ISO in the virtual CD. "
        "Fix: leave it there, and run `pulumi up`, which goes on"
    ]


def test_the_secret_path_of_a_boot_iso_is_in_no_line_and_no_record() -> None:
    fake = FakeBmc(FakeClock()).run_from_media(f"http://192.0.2.1/{'ab' * 32}/m0.iso")
    line, warnings = engine(fake).drift(AsFound())
    assert "virtual CD http://192.0.2.1/…/m0.iso" in line
    assert ("ab" * 32 in "".join((line, *warnings)), engine(fake).take_over(KEEP, no_node)[1].media) == (
        False,
        "http://192.0.2.1/…/m0.iso",
    )


@pytest.mark.parametrize(
    ("fake", "writes"),
    [
        pytest.param(bmc(), [], id="off"),
        pytest.param(bmc(Power.ON), ["Off"], id="on"),
        pytest.param(bmc(Power.OFF, "http://x/y.iso"), ["eject"], id="off-media"),
        pytest.param(bmc(Power.ON, "http://x/y.iso"), ["Off", "eject"], id="on-media"),
    ],
)
def test_a_server_is_taken_over_by_switching_it_off_and_ejecting_media(fake: FakeBmc, writes: list[str]) -> None:
    image = fake.image
    _, found = engine(fake).take_over(KEEP, no_node)
    assert fake.writes == writes
    assert (fake.power(), fake.media()) == (Power.OFF, None)
    assert found == AsFound(override=BootOverride("Hdd", "Continuous", "UEFI"), media=image or "")
    assert AsFound.model_validate(found.props()) == found, "the state reads back the same"


def test_a_running_cluster_is_recorded_and_not_touched() -> None:
    fake = bmc(Power.ON)
    engine(fake).record()
    assert fake.writes == []


@pytest.mark.parametrize(
    ("found", "writes"),
    [
        (BootOverride("Pxe", "Continuous", "UEFI"), ["Off", "eject", "override Pxe Continuous"]),
        (BootOverride("Cd", "Once"), ["Off", "eject"]),
        (BootOverride(), ["Off", "eject", "override None Disabled"]),
    ],
    ids=["other", "same", "unreported"],
)
def test_release_leaves_the_server_off_with_the_override_as_found(found: BootOverride, writes: list[str]) -> None:
    fake = FakeBmc(FakeClock()).run_from_media("http://x/y.iso")
    fake.sticky = False
    fake.override = BootOverride("Cd", "Once")
    engine(fake).release(AsFound(override=found))
    assert fake.writes == writes


def test_release_restores_the_boot_mode_and_secure_boot_as_found() -> None:
    fake = FakeBmc(FakeClock(), secure=SecureBoot(enabled=True, current="Enabled", keys="UserMode"))
    found = AsFound(override=replace(fake.override, mode="Legacy"), secure_boot="off")
    engine(fake).release(found)
    assert fake.writes == ["secure boot False", "mode Legacy"]


def test_release_of_a_server_off_and_as_found_writes_nothing() -> None:
    fake = bmc()
    engine(fake).release(AsFound(override=fake.override))
    assert fake.writes == []


@pytest.mark.parametrize(
    ("refusal", "version"), [(None, "7.10"), (BmcAuthError("HTTP 403"), ""), (BmcTransientError("HTTP 503"), "")]
)
def test_a_bmc_that_hides_its_version_is_accepted(refusal: Exception | None, version: str) -> None:
    fake = bmc()

    def refuse(_: str) -> None:
        if refusal:
            raise refusal

    fake.fault = refuse
    began = fake.clock.now()
    assert engine(fake).bmc_version() == version
    assert fake.clock.now() - began <= 10, "it is not worth more"


def test_a_wrong_password_is_tried_once() -> None:
    fake = bmc()

    def refuse(_: str) -> None:
        raise BmcAuthError("HTTP 401")

    fake.fault = refuse
    with pytest.raises(BmcAuthError):
        engine(fake).take_over(KEEP, no_node)
    assert fake.requests == 1


def test_an_unreachable_bmc_fails_release_at_the_deadline() -> None:
    fake = bmc()

    def dead(_: str) -> None:
        raise BmcTransientError("connection refused")

    fake.fault = dead
    with pytest.raises(BmcTimeoutError, match="connection refused"):
        engine(fake).release(AsFound())
    assert fake.clock.now() - 1000 < 310


def test_a_power_request_is_not_repeated_while_it_takes_effect() -> None:
    fake = bmc(Power.ON)
    fake.change_s = 40
    engine(fake).take_over(KEEP, no_node)
    assert fake.writes == ["Off"]


@pytest.mark.parametrize(
    ("host", "path"), [("m0", "consent.m0"), ("m0.lab", 'consent["m0.lab"]')], ids=["label", "dotted"]
)
def test_the_command_sets_one_key(host: str, path: str) -> None:
    assert consent_command(host, "X") == f"pulumi config set --path '{path}' X"


class Peer:
    """A server with Pacemaker: it finds the other one off, and switches it on again, until it is off itself."""

    def __init__(self, other: FakeBmc, until_s: float) -> None:
        self.other, self.until_s = other, until_s
        other.fault = self.look

    def look(self, request: str) -> None:
        """Fence the other server 25 s after it went off: Pacemaker has missed it, and waited for the first node."""
        now = self.other.clock.now()
        self.off_since = now if self.other.state is Power.ON else getattr(self, "off_since", now)
        if request == "power" and now - self.off_since >= 25 and now < self.until_s:
            self.other.run_from_disk()


@pytest.mark.parametrize("step", ["release", "take_over"])
def test_a_fenced_server_is_cut_off_as_often_as_its_peer_switches_it_on(step: str) -> None:
    fake = bmc(Power.ON)
    Peer(fake, until_s=fake.clock.now() + 40)
    began = fake.clock.now()
    cut = engine(fake, fenced=True)
    cut.take_over(KEEP, no_node) if step == "take_over" else cut.release(AsFound())
    assert (fake.state, fake.writes.count("Off")) == (Power.OFF, 2)
    assert fake.clock.now() - began >= 25 + LOOK_S


@pytest.mark.parametrize("deadline_s", range(270, 310, 2))
@pytest.mark.parametrize("step", ["release", "take_over"])
def test_a_server_whose_peer_is_never_cut_off_cannot_be_released(step: str, deadline_s: float) -> None:
    """Where the end fell into a cut, it said only that power Off was not reached."""
    fake = bmc(Power.ON)
    Peer(fake, until_s=10_000)
    cut = replace(engine(fake, fenced=True), deadline_s=deadline_s)
    with pytest.raises(BmcTimeoutError, match=r"switched on again by its peer.* without --parallel 1") as caught:
        cut.take_over(KEEP, no_node) if step == "take_over" else cut.release(AsFound())
    assert "destroy" not in str(caught.value)  # both a destroy and a first `up` end so


def test_no_other_server_is_looked_at_again() -> None:
    fake = bmc(Power.ON)
    began = fake.clock.now()
    engine(fake).release(AsFound())
    assert fake.clock.now() - began < LOOK_S / 2
