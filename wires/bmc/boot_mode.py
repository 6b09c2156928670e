"""Checks, sets, proves and restores how a host boots: by UEFI, by Legacy or by UEFI with Secure Boot."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial

from base.clock import Clock
from base.errors import BmcRefusedError, BmcTimeoutError
from cluster.values.boot_method import SECURE_BOOT
from wires.bmc.client import ENABLED, ON, SETUP, BmcClient, Power, SecureBoot, mode_of
from wires.bmc.pacing import Acceptance
from wires.bmc.steps import Steps, Waits

KEYLESS = ("SetupMode", "AuditMode")
"""The states of the keys in which UEFI firmware enforces no signature."""
COMMITTED = "SYS011"
"""An iDRAC's message that a BIOS job waits for the next power-on, perhaps that of a run that was killed."""
BY_HAND = "set it by hand in the server's firmware, then run the command again"
SLOW = "if the server was still starting, raise deadlines.host_s: half of it is for that"
"""What to do where firmware may have needed more time than it has."""


def check_boot_mode(bmc: BmcClient) -> SecureBoot | None:
    """Check that a host can boot as it has to. Return what the BMC reports of Secure Boot, if the host wants that.

    Raises:
        BmcRefusedError: The host cannot; the message names the bootMode, or the boot override.
    """
    bmc.expect_boot_method()
    wanted, allowed = bmc.wanted_mode, bmc.boot_modes()
    if allowed and mode_of(wanted) not in allowed:
        what = f"bootMode {wanted} is not offered; {', '.join(allowed)} is"
        raise BmcRefusedError(what, where=bmc.url, fix="write another bootMode for this host")
    if wanted != SECURE_BOOT:
        return None
    secure_boot, fix = bmc.secure_boot(), "write bootMode UEFI for this host, or update the BMC's firmware"
    if secure_boot is None:
        raise BmcRefusedError(f"bootMode {wanted}: the BMC has no Secure Boot", where=bmc.url, fix=fix)
    if secure_boot.enabled is None:
        raise BmcRefusedError(f"bootMode {wanted}: the BMC does not report SecureBootEnable", where=bmc.url, fix=fix)
    if secure_boot.keys in KEYLESS:
        what = f"bootMode {wanted}: SecureBootMode reads {secure_boot.keys}, in which no signature is enforced"
        fix = "enrol the vendor's keys on the BMC's own pages or in the server's firmware"
        raise BmcRefusedError(what, where=bmc.url, fix=fix)
    return secure_boot


@dataclass
class _Change:
    """A change that may have been requested."""

    acceptance: Acceptance
    shows: bool = False
    """Whether the BMC showed it at the last read."""


@dataclass(frozen=True)
class BootMode:
    """Sets how a host boots. The host is off.

    Args:
        post_s: Seconds that the firmware may take after power-on; 0 if the host stays off.
        entered: Called with the step that takes long, where there is one.
    """

    steps: Steps
    post_s: float = 0
    entered: Callable[[str], None] = lambda _: None

    def set_up(self) -> Waits:
        """Have the host boot as it has to, from its next boot on. A boot ISO of this program is in its drive."""
        bmc = self.steps.bmc
        yield from self.steps.value("how the host can boot", lambda: (check_boot_mode(bmc),))
        mode = mode_of(bmc.wanted_mode)
        if not bmc.boot_mode:  # else each boot override is sent with it
            yield from self._set(f"boot mode {mode}", partial(self._reads, mode), partial(bmc.set_boot_mode, mode))
        if bmc.wanted_mode == SECURE_BOOT:
            turn = partial(bmc.set_secure_boot, enabled=True)
            yield from self._set("Secure Boot on", partial(self._is_secure, ON), turn)

    def as_found(self, mode: str, secure_boot: str) -> Generator[float, None, list[str]]:
        """Restore Secure Boot and the boot mode, where known. Return what the next power-on will apply."""
        bmc, waiting = self.steps.bmc, list[str]()
        if secure_boot:
            what, turn = f"Secure Boot {secure_boot}", partial(bmc.set_secure_boot, enabled=secure_boot == ON)
            if not (yield from self._request(what, partial(self._is_secure, secure_boot), turn)):
                waiting.append(what)
        if mode:
            what, put = f"boot mode {mode}", partial(bmc.set_boot_mode, mode)
            if not (yield from self._request(what, partial(self._reads, mode), put)):
                waiting.append(what)
        return waiting

    def _set(self, what: str, is_so: Callable[[], bool], act: Callable[[], None]) -> Waits:
        if not (yield from self._request(what, is_so, act)):
            yield from self._apply(what, is_so)

    def _request(self, what: str, is_so: Callable[[], bool], act: Callable[[], None]) -> Generator[float, None, bool]:
        """Request a change, and return whether it shows. Some firmware applies it at its next start."""
        change = _Change(Acceptance(self.steps.clock))

        def is_settled() -> bool:
            change.shows = is_so()
            return change.shows or change.acceptance.is_past

        def ask() -> None:
            try:
                act()
            except BmcRefusedError as error:
                if COMMITTED not in error.fault.what:
                    raise BmcRefusedError(
                        error.fault.what, where=error.fault.where, fix=error.fault.fix or BY_HAND
                    ) from None
            change.acceptance.give()

        yield from self.steps.ensure(what, is_settled, ask)
        return change.shows

    def _apply(self, what: str, is_so: Callable[[], bool]) -> Waits:
        """Have the firmware apply a change: power on into its own setup, which boots no disk, then off again."""
        steps = self.steps
        self.entered(f"having the firmware apply {what}")
        yield from steps.power(Power.OFF)  # a late On of a killed run began before the request
        try:
            yield from steps.override(SETUP)
        except BmcRefusedError as error:
            waits = f"{what} waits for the next power-on, which must not boot the disk: {error.fault.what}"
            raise BmcRefusedError(waits, where=error.fault.where, fix=BY_HAND) from None
        yield from steps.power(Power.ON)
        late = ""
        try:
            yield from steps.wait_until(what, is_so, within_s=self.post_s)
        except BmcTimeoutError as error:
            late = error.fault.what
        yield from steps.power(Power.OFF)
        if late:
            hidden = f"the BMC accepted {what}, and does not show it {self.post_s:,.0f} s after power-on: {late}"
            raise BmcRefusedError(hidden, where=steps.bmc.url, fix=f"{SLOW}; else {BY_HAND}")

    def _reads(self, mode: str) -> bool:
        """Whether the BMC reads the boot mode, or none."""
        return self.steps.bmc.boot_override().mode in ("", mode)

    def _is_secure(self, word: str) -> bool:
        secure_boot = self.steps.bmc.secure_boot()
        return secure_boot is not None and secure_boot.word == word


@dataclass
class SecureBootProof:
    """The proof that a host which was switched on boots with Secure Boot, if it has to.

    Args:
        post_s: Seconds that the firmware may take after power-on.
    """

    bmc: BmcClient
    clock: Clock
    post_s: float
    proven: bool = field(init=False)
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self.proven, self._began = self.bmc.wanted_mode != SECURE_BOOT, self.clock.now()

    def check(self, *, last: bool) -> None:
        """Read Secure Boot until it is proven. A BMC that does not report the present boot proves its setting.

        Args:
            last: Whether the boot has ended.

        Raises:
            BmcRefusedError: Secure Boot is not in force.
        """
        if self.proven:
            return
        state = self.bmc.secure_boot() or SecureBoot()
        self.proven = state.enabled is True and state.current in ("", ENABLED)
        spent = self.clock.now() - self._began
        if not self.proven and (last or spent >= self.post_s):
            setting, boot = state.word or "nothing", state.current or "nothing"
            reads = f"SecureBootEnable reads {setting}, SecureBootCurrentBoot {boot}"
            keys = f", SecureBootMode {state.keys}" if state.keys else ""
            what = f"it did not boot with Secure Boot: {reads}{keys}, {spent:,.0f} s after power-on"
            fix = f"look at Secure Boot and its keys in the server's firmware, then run `pulumi up` again; {SLOW}"
            raise BmcRefusedError(what, where=self.bmc.url, fix=fix)
