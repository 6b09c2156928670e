"""Steps on a BMC: read the state, return if it is as wanted, else request the change and verify it.

Each step is a generator that yields the seconds to wait before it continues. Its caller does the waiting: a loop with
a clock for one host, asyncio for a thousand. Between two yields, at most one request is under way. A step may
continue on another thread, so it must hold no lock and no thread-local value over a `yield`.
"""

import math
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TypeVar

from base.clock import Clock
from base.errors import BmcRefusedError, BmcTimeoutError, BmcTransientError
from wires.bmc.client import (
    DISABLED,
    HDD,
    NO_TARGET,
    ONCE,
    SPELLINGS,
    STARTS_S,
    BmcClient,
    BootOverride,
    Identity,
    Power,
)
from wires.bmc.identity import is_shared, is_uuid, usable
from wires.bmc.pacing import UNSURE_S, Acceptance, RequestPacing

T = TypeVar("T")
Waits = Generator[float, None, None]
"""A step, which yields the seconds of each wait."""

STEP_S = 1500.0  # AMI's BMC answers 503 for up to 20 minutes after its host's POST
SHUTDOWN_AGAIN_S = 120.0
EJECT_AGAIN_S = 5.0  # sushy returns alike for a refused and an accepted eject
LATE_FIX = "see in the BMC's own page and log what it does; run the same command again, which asks again"


def run_steps(waits: Generator[float, None, T], clock: Clock) -> T:
    """Run steps to their end on the caller's thread, and return their result.

    Raises:
        BmcTimeoutError: One was late. It has a fix; within an installation, that has one that fits it better.
    """
    while True:
        try:
            seconds = next(waits)
        except StopIteration as end:
            result: T = end.value
            return result
        except BmcTimeoutError as late:
            fault = late.fault
            raise BmcTimeoutError(
                fault.what, where=fault.where, fix=fault.fix or LATE_FIX, refused=late.refused
            ) from None
        clock.sleep(seconds)


@dataclass(frozen=True)
class Steps:
    """Steps on one BMC."""

    bmc: BmcClient
    clock: Clock
    until: float
    """Deadline of all steps, as a time of `clock`."""

    def wait_until(self, what: str, read: Callable[[], bool], *, within_s: float = STEP_S) -> Waits:
        """Wait until `read` returns True. A transient error of the BMC counts as False."""
        yield from self.ensure(what, read, None, within_s=within_s)

    def value(
        self, what: str, read: Callable[[], T | None], *, within_s: float = STEP_S
    ) -> Generator[float, None, T]:
        """Read until the result is not None, and return it."""
        answers: list[T] = []

        def has_read() -> bool:
            answer = read()
            if answer is not None:
                answers.append(answer)
            return bool(answers)

        yield from self.wait_until(what, has_read, within_s=within_s)
        return answers[0]

    def current_power(self) -> Generator[float, None, Power]:
        """Read whether the server is on."""
        return self.value("its power", self.bmc.power)

    def power_and_media(self) -> Generator[float, None, tuple[Power, str | None]]:
        """Read whether the server is on, and the image in its virtual CD drives."""

        def read() -> tuple[Power, str | None] | None:
            power = self.bmc.power()
            return None if power is Power.CHANGING else (power, self.bmc.media())

        return self.value("power and virtual CD", read)

    def identity(self, name: str) -> Generator[float, None, Identity]:
        """Read the identity. A BMC that starts up may lack a part of it: wait for what may be the machine's name.

        Args:
            name: UUID, serial or service tag that the machine should have. Empty: any that is unique.

        Raises:
            BmcTimeoutError: The BMC did not answer in time, or reports neither UUID nor serial.
        """
        clock, seen = self.clock, list[tuple[float, Identity]]()

        def read() -> Identity:
            machine = self.bmc.identity()
            seen.append((clock.now(), machine))
            lacks = _missing(machine, name)
            if lacks and clock.now() - seen[0][0] < STARTS_S:
                what = f"the BMC reports no {' and no '.join(lacks)} of its own"
                raise BmcTransientError(what, where=self.bmc.url, undone=True, refused=True)
            return machine

        try:
            return (yield from self.value("an answer of the BMC", read))
        except BmcTimeoutError:
            if seen and usable(seen[-1][1]):
                return seen[-1][1]
            raise

    def ensure(
        self,
        what: str,
        is_so: Callable[[], bool],
        act: Callable[[], None] | None,
        *,
        within_s: float = STEP_S,
        again_s: float = math.inf,
    ) -> Waits:
        """Request a change until it has taken effect, with a read between any two requests.

        Args:
            what: The wanted state, for the error.
            is_so: Reads whether the BMC is in that state.
            act: Requests the change. None: only wait.
            within_s: Seconds for the step.
            again_s: Seconds after which an accepted request without effect is sent again.

        Raises:
            BmcTimeoutError: The state was not reached in time.
            BmcRefusedError: The BMC refuses the request, or its task has failed.
        """
        clock, task = self.clock, ""
        until = min(self.until, clock.now() + within_s)
        pacing = RequestPacing(clock, clock.now(), again_s)
        while True:
            try:
                if is_so() or (act and pacing.is_due() and _made_so(is_so, lambda: pacing.request(act))):
                    return
                if act:
                    task = self.bmc.check_task()
                pacing.succeeded()
            except BmcTransientError as error:
                pacing.failed(error)
            if clock.now() >= until:
                running = f"; the BMC's task for it reads {task}" if task else ""
                what = f"{what} was not reached in time{running}{pacing.last}"
                raise BmcTimeoutError(what, where=self.bmc.url, fix=pacing.fix, refused=pacing.refused)
            yield min(pacing.wait_s, max(0.0, until - clock.now()))

    def power(self, want: Power, *, within_s: float = STEP_S) -> Waits:
        """Switch the power to `want`."""
        bmc, request = self.bmc, partial(self.bmc.request_power, want)
        yield from self.ensure(f"power {want.value}", lambda: bmc.power() is want, request, within_s=within_s)

    def shutdown(self, *, within_s: float) -> Waits:
        """Have the operating system shut down, until the server is off. Its power is never cut.

        A system that still starts may miss the request, so one without effect is sent again.
        """
        bmc = self.bmc
        yield from self.ensure(
            "power Off by a shutdown of its system",
            lambda: bmc.power() is Power.OFF,
            bmc.request_shutdown,
            within_s=within_s,
            again_s=SHUTDOWN_AGAIN_S,
        )

    def no_media(self) -> Waits:
        """Empty the virtual CD drives."""
        bmc = self.bmc
        yield from self.ensure(
            "an empty virtual CD drive", lambda: bmc.media() is None, bmc.eject, again_s=EJECT_AGAIN_S
        )

    def media(self, url: str, certificate: str = "", *, within_s: float = STEP_S) -> Waits:
        """Insert `url` into the virtual CD drive, which must be empty; see `BmcClient.insert`."""
        bmc, what = self.bmc, "the boot ISO in the virtual CD drive"
        yield from self.ensure(
            what, lambda: names_image(bmc.media(), url), lambda: bmc.insert(url, certificate), within_s=within_s
        )

    def trust(self, certificate: str) -> Waits:
        """Have the virtual CD drive verify the server of its image by a certificate, unless that is empty."""

        def is_given() -> bool:
            self.bmc.trust(certificate)
            return True

        if certificate:
            yield from self.wait_until("a certificate of the virtual CD drive", is_given)

    def override(self, target: str, enabled: str = ONCE, uri: str = "", *, anew: bool = False) -> Waits:
        """Set the boot override to `target`. `enabled` is not verified: sushy-tools reports Once as Continuous.

        Nor is `uri`, which is set in any case: of an earlier run's, the target may still be there, not its ISO.
        `anew` has the override set even if it reads so: boot flags that an earlier run set may expire any moment.
        """
        wanted = SPELLINGS.get(target, (target,))

        def fits(read: BootOverride) -> bool:
            mode = self.bmc.boot_mode
            return read.target in wanted and read.enabled != DISABLED and (not mode or read.mode in ("", mode))

        change = partial(self.bmc.set_override, target, enabled, uri=uri)
        yield from self._override(f"boot override {target}", fits, change, always=anew or bool(uri))

    def disk_next(self) -> Waits:
        """Have the server boot its disk next: by the target Hdd, else without an override, in the boot order."""
        (is_offered,) = yield from self.value("the boot targets", lambda: (self.bmc.offers(HDD),))
        if is_offered:
            yield from self.override(HDD)
            return
        with suppress(BmcRefusedError):  # its drive is empty, and its ISO is served no more
            yield from self._override(
                "no boot override", _is_none, partial(self._disable, NO_TARGET, ""), always=True
            )

    def override_as_found(self, target: str, enabled: str, mode: str = "") -> Waits:
        """Restore a boot override, with its mode on a BMC that must be sent one. If none was reported, disable it.

        Raises:
            BmcRefusedError: The BMC keeps another one.
        """
        target = target if enabled else NO_TARGET
        was_none = _is_none(BootOverride(target, enabled))

        def fits(read: BootOverride) -> bool:
            # Once may read as Continuous; what reads as Once is not Continuous, and is gone after the next boot.
            is_kept = read.target == target and (read.enabled != ONCE or enabled == ONCE)
            is_so = _is_none(read) if was_none else is_kept
            return is_so and not (mode and self.bmc.boot_mode and read.mode not in ("", mode))

        def change() -> None:
            sent = mode if self.bmc.boot_mode else ""
            if was_none:
                self._disable(target, sent)
            else:
                self.bmc.set_override(target, enabled, sent)

        yield from self._override(f"boot override {target} as found", fits, change)

    def _disable(self, target: str, mode: str) -> None:
        """Disable the boot override, in the first of the forms that the BMC takes.

        An iLO refuses the target None (ironcore-dev/metal-operator pull request 998), others want the mode
        (community.general issue 11542).

        Raises:
            BmcRefusedError: It takes none of them; the error is that of the first.
        """
        bmc = self.bmc
        try:
            bmc.set_override(target, DISABLED, mode)
        except BmcRefusedError as error:
            refusal = error
        else:
            return
        now = bmc.pending_override() or bmc.boot_override()
        modes, targets = dict.fromkeys((mode, mode or now.mode)), dict.fromkeys((NO_TARGET, "", now.target))
        for sent, other in product(modes, targets):
            if (sent, other) != (mode, target):
                with suppress(BmcRefusedError):
                    bmc.set_override(other, DISABLED, sent)
                    return
        raise refusal

    def _override(
        self, what: str, fits: Callable[[BootOverride], bool], change: Callable[[], None], *, always: bool = False
    ) -> Waits:
        """Set the boot override. What waits for the next reset counts, too, but by itself only once it was accepted.

        A BMC may still read what an earlier boot has used up. `always` has it set even if what it reads fits.

        Raises:
            BmcRefusedError: The BMC accepted the override, and shows another one.
        """
        bmc, acceptance = self.bmc, Acceptance(self.clock)

        def is_so() -> bool:
            if always and not acceptance.is_given:
                return False
            now, pending = bmc.boot_override(), bmc.pending_override()
            fitting = map(fits, (now,) if pending is None else (now, pending))
            if any(fitting) if acceptance.is_given else all(fitting):
                return True
            if acceptance.is_past:
                raise _stored_otherwise(what, bmc.boot_mode, pending or now, bmc.url)
            return False

        def request() -> None:
            change()
            acceptance.give()

        yield from self.ensure(what, is_so, request)


def _missing(machine: Identity, name: str) -> list[str]:
    """Return in words what a machine does not report and `name` may be; nothing if it has that name."""
    is_named = machine.answers_to(name) if name else bool(usable(machine))
    if is_named:
        return []
    values = {"UUID": machine.uuid, "serial": machine.serial}
    if usable(machine):
        del values["serial" if is_uuid(name) else "UUID"]
    return [word for word, value in values.items() if is_shared(value)]


def _is_none(read: BootOverride) -> bool:
    """Return whether a boot override is none. Of a disabled one, a BMC may show any target."""
    return read.enabled == DISABLED or read.target in ("", NO_TARGET)


def _stored_otherwise(what: str, mode: str, read: BootOverride, where: str) -> BmcRefusedError:
    what = f"{what} with mode {mode}" if mode else what
    reads = " ".join(word for word in (read.target, read.enabled, read.mode) if word) or "nothing"
    fix = "set the boot mode in the server's firmware to the bootMode of its host, or update the BMC's firmware"
    return BmcRefusedError(f"the BMC accepted {what}, and reads {reads} {UNSURE_S:g} s later", where=where, fix=fix)


def names_image(image: str | None, url: str) -> bool:
    """Whether what a BMC reports is the image at `url`: AMI repeats the file name, other BMCs have only that."""
    *_, digest, name = url.split("/")
    return image is not None and (f"/{digest}/{name}" in image or image == name)


def _made_so(is_so: Callable[[], bool], request: Callable[[], None]) -> bool:
    """Request the change, and return whether it has taken effect. A refusal counts only if it has not."""
    try:
        request()
    except BmcRefusedError:
        if is_so():
            return True
        raise
    return is_so()
