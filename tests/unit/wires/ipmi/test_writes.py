"""Every request by IPMI that may change something is a named write, which the tables beside the providers list."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pytest

from base.errors import BmcRefusedError, ProvisioningError, UnplannedWriteError
from base.writes import Write
from providers.bmc_host.model import BmcHostOuts
from testing.fakes.bmc import UUID
from testing.fakes.ipmi.traits import TRAITS, Traits
from testing.ipmi_server_under_test import MAC, NAME, IpmiServer
from testing.planned_writes import PlannedServer
from tests.unit.wires.bmc.methods import READS, WRITES, refuse
from wires.bmc.client import LEGACY, UEFI, Power
from wires.ipmi import bmc as wire
from wires.ipmi.bmc import CONTROL, SET_BOOT
from wires.ipmi.session import CLOSE, SET_PRIVILEGE, Command

CHANGING = {(0, 2), (0, 8)}
"""Chassis Control and Set System Boot Options, by the numbers of the specification."""
NEVER_SENT = ("insert", "trust", "eject", "set_boot_mode", "set_secure_boot")
"""What IPMI has not."""
TARGET = "BMC ipmi://192.0.2.1"


@dataclass
class Course:
    """The writes of a server, and at which request of its BMC the line of each was written."""

    it: IpmiServer
    consent: str = UUID
    outs: BmcHostOuts = field(default_factory=BmcHostOuts)
    lines: list[tuple[int, str]] = field(default_factory=list)

    def make(self, write: Write) -> None:
        if write not in PlannedServer(NAME, self.it.access, self.consent, "192.0.2.21").writes(self.outs):
            raise UnplannedWriteError(f"not made: {write.action}", where=write.target)
        self.lines.append((len(self.it.fake.log), write.action))

    def run(self) -> None:
        """Take the server over, install it, and give it up."""
        with suppress(BmcRefusedError, ProvisioningError):  # not every BMC does all of this
            self.outs = BmcHostOuts(found=self.it.take_over())
            self.it.install()
            self.it.release(self.outs.found)

    @property
    def unnamed(self) -> list[tuple[int, int, bytes]]:
        """The requests for a change that have no line of their own before them."""
        named = {at for at, _ in self.lines}
        return [it for at, it in enumerate(self.it.fake.log) if it[:2] in CHANGING and at not in named]


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Callable[[IpmiServer, str], Course]:
    def begin(it: IpmiServer, consent: str = UUID) -> Course:
        course = Course(it, consent)
        monkeypatch.setattr(wire, "make", course.make)
        return course

    return begin


@contextmanager
def all_refused(monkeypatch: pytest.MonkeyPatch) -> Iterator[IpmiServer]:
    """Yield a server whose writes are all refused, and see that none was sent."""
    monkeypatch.setattr(wire, "make", refuse)
    it = IpmiServer()
    yield it
    assert not CHANGING & {request[:2] for request in it.fake.log}
    assert it.fake.server.state is Power.ON


@pytest.mark.parametrize("mode", [UEFI, LEGACY])
@pytest.mark.parametrize("name", TRAITS)
def test_all_that_is_written_to_a_bmc_of_any_kind_is_planned(
    begun: Callable[..., Course], name: str, mode: str
) -> None:
    has_uuid = TRAITS[name].guid in ("smbios", "rfc", "reversed")
    consent = UUID if has_uuid else MAC if TRAITS[name].fru == "none" else "SN-1"
    course = begun(IpmiServer(TRAITS[name], consent=consent, boot_mode=mode), consent)
    course.it.fake.flags = bytes.fromhex("e004000000")
    course.run()
    assert course.it.fake.server.installs == 1
    assert course.unnamed == []


@pytest.mark.parametrize("traits", [Traits(flags=False), Traits(once_works=False)], ids=["no-flags", "no-once"])
def test_what_a_bmc_is_asked_for_in_vain_is_planned_too(begun: Callable[..., Course], traits: Traits) -> None:
    course = begun(IpmiServer(traits))
    course.run()
    assert course.unnamed == []


def test_an_installation_has_these_words(begun: Callable[..., Course]) -> None:
    course = begun(IpmiServer())
    course.run()
    words = {action for _, action in course.lines}
    assert words >= {"power Off", "power On", "boot override Pxe Once", "boot override Hdd Once", "boot mode UEFI"}


def test_flags_that_are_sent_again_have_their_lines_again(begun: Callable[..., Course]) -> None:
    course = begun(IpmiServer(TRAITS["openbmc"]))
    course.outs = BmcHostOuts(found=course.it.take_over())
    bmc = course.it.bmc()
    bmc.set_override("Pxe", "Once")
    course.it.clock.sleep(61)
    began = len(course.lines)
    bmc.request_power(Power.ON)
    override = ["boot override Pxe Once", "boot mode UEFI"]
    assert [action for _, action in course.lines[began:]] == [*override, *override, "power On"]
    assert course.unnamed == []


@pytest.mark.parametrize("name", [name for name in WRITES if name not in NEVER_SENT])
def test_a_write_that_is_refused_is_not_sent(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with all_refused(monkeypatch) as it, pytest.raises(UnplannedWriteError, match=f"^{TARGET}: not made: "):
        WRITES[name](it.bmc())


@pytest.mark.parametrize("name", NEVER_SENT)
def test_what_ipmi_has_not_is_refused_without_a_request(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with all_refused(monkeypatch) as it:
        bmc = it.bmc()
        with pytest.raises(BmcRefusedError, match=r"IPMI has no .* Fix: use redfish-virtualmedia"):
            WRITES[name](bmc)
        assert bmc.requests == 0


@pytest.mark.parametrize("name", READS)
def test_a_read_writes_nothing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with all_refused(monkeypatch) as it:
        READS[name](it.bmc())


@pytest.mark.parametrize(
    "command",
    [
        CONTROL,
        SET_BOOT,
        SET_PRIVILEGE,
        CLOSE,
        Command("Cold Reset", 0x06, 0x02),
        Command("Write FRU Data", 0x0A, 0x12),
    ],
    ids=lambda command: command.name,
)
def test_a_request_that_no_write_names_is_not_sent(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    with all_refused(monkeypatch) as it, pytest.raises(UnplannedWriteError, match=f"a {command.name} that no write"):
        it.bmc()._ask("change something", command, b"\0")


def test_a_login_and_its_end_are_no_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    with all_refused(monkeypatch) as it:
        bmc = it.bmc()
        bmc.power()
        bmc.close()
        assert it.open_sessions == 0
