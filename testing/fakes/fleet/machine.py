"""One server, and the state that its BMC shows."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from testing.fakes.fleet.figures import Figures, Pace, State
from testing.fakes.fleet.parts import Slot
from testing.fakes.fleet.vendor import Vendor

OFF_TYPES = ("ForceOff", "GracefulShutdown")
FIRST_BOOT, BOOT_ONCE = "ServerBoot.1.FirstBootDevice", "ServerBoot.1.BootOnce"
MODE, HTTP_BOOT_URI = "BootSourceOverrideMode", "HttpBootUri"
RESET_TYPES = ("On", "ForceRestart", "GracefulRestart", *OFF_TYPES)


@dataclass
class Drive:
    """A virtual drive."""

    slot: Slot
    verifies: bool = False
    """Whether it verifies the server of an image over TLS, by its certificates."""
    certificates: dict[str, str] = field(default_factory=dict)
    """PEM by Id."""
    image: str = ""
    inserted: bool = False

    def load(self, image: str) -> None:
        """Insert an image."""
        self.image, self.inserted = image, True


def uuid_of(index: int) -> str:
    """Return the system UUID of a host."""
    return f"f1ee7000-0000-4000-8000-{index:012x}"


def serial_of(index: int) -> str:
    """Return the serial number of a host."""
    return f"FLEET{index:04d}"


class Machine:
    """Server number `index` of its fleet.

    Args:
        fetch: Reads some of the medium at a URL as this BMC; raises OSError if that fails.
    """

    def __init__(self, index: int, vendor: Vendor, pace: Pace, fetch: Callable[["Machine", str], Awaitable[None]]):
        self.index, self.vendor, self.pace = index, vendor, pace
        self.figures = Figures()
        self.power = "Off"
        self.boot: dict[str, str | None] = {
            "BootSourceOverrideTarget": "None",
            "BootSourceOverrideEnabled": "Disabled",
        }
        if vendor.boot_mode != "":
            self.boot[MODE] = vendor.boot_mode
        if vendor.http_boot:
            self.boot[HTTP_BOOT_URI] = None
        self.written = dict(self.boot)
        """The boot override as last written, even after a boot has used it up."""
        self._pending: dict[str, str | None] = {}
        self.secure_boot: dict[str, Any] = {
            "SecureBootEnable": False,
            "SecureBootCurrentBoot": "Disabled",
            "SecureBootMode": vendor.firmware.keys,
        }
        self.jobs: list[Callable[[], None]] = []
        """Changes of the mode and of Secure Boot that wait for the next power-on."""
        self.attributes = {FIRST_BOOT: "Normal", BOOT_ONCE: "Disabled"}
        self.drives = {slot.name: Drive(slot, bool(vendor.verifies)) for slot in vendor.slots}
        self.media_enabled = vendor.media_enabled
        self.disk = ""
        self.running = False
        self.ignores_once = False
        """The server boots its disk, although its BMC shows the override."""
        self.drops_media = False
        """Each power-on empties the drives."""
        self.keeps_once = False
        """A boot does not clear an override for one boot."""
        self.insecure = False
        """The firmware enforces no signature, whatever its setting."""
        self.version = 0
        """The version of its resources, which is their ETag; each write increments it."""
        self.etag_in = "header"
        """Where the ETag is: in the `header`, or the `body`; `empty` for an empty header."""
        self.sessions: dict[str, str] = {}
        """Session id by token."""
        self.session_limit = 8
        self.fetching: asyncio.Future[None] | None = None
        self._fetch = fetch
        self._random = random.Random(index)  # noqa: S311 - the same in each run; not a secret
        self.power_s = self._random.uniform(*pace.power)
        self.install_s = self._random.uniform(*pace.install)
        self.boot_s = self._random.uniform(*pace.boot)
        self._requests = 0
        self._changed_at = float("-inf")
        self._generation = 0
        """Incremented by each event that cancels pending changes."""
        self._due: list[tuple[float, Callable[[], None]]] = []

    def tick(self) -> None:
        """Count a request, and make the changes that are due."""
        self._requests += 1
        self._settle()

    def latency_s(self) -> float:
        """Return the latency of the next answer."""
        return self._random.uniform(*self.pace.latency_s)

    def since_change(self) -> float:
        """Return the requests or seconds since the power changed."""
        return self._now() - self._changed_at

    def after(self, delay: float, change: Callable[[], None]) -> None:
        """Make a change after a delay."""
        if self.pace.by_requests:
            self._due.append((self._now() + delay, change))
        else:
            asyncio.get_running_loop().call_later(delay, change)

    def reset(self, kind: str) -> None:
        """Begin a change of power."""
        self.figures.resets[kind] += 1
        if kind in OFF_TYPES:
            self._generation += 1
            self.power = "PoweringOff"
            self._then(self.power_s, self._off)
        else:
            self._off()
            self.power = "PoweringOn"
            self._then(self.power_s, self._on)

    def write_boot(self, changes: dict[str, str | None]) -> None:
        """Change the boot override, now or at the next power-on."""
        if self.vendor.boot_falls_back:
            changes = {MODE: "Legacy", **changes}
        self.written |= changes
        self._pending |= changes
        if not self.vendor.boot_pending:
            self._apply_boot()

    def later(self, change: Callable[[], None]) -> None:
        """Make a change of the firmware's settings, now or at the next power-on."""
        self.jobs.append(change)
        if not self.vendor.firmware.by_jobs:
            self._run_jobs()

    def _run_jobs(self) -> None:
        while self.jobs:
            self.jobs.pop(0)()

    def state(self) -> State:
        """Return the present state, without counting a request."""
        self._settle()
        loaded = (drive.image for drive in self.drives.values() if drive.inserted)
        boot = str(self.boot["BootSourceOverrideTarget"]), str(self.boot["BootSourceOverrideEnabled"])
        secure = bool(self.secure_boot["SecureBootEnable"])
        return State(
            self.power,
            next(loaded, ""),
            self.disk,
            self.running,
            *boot,
            len(self.sessions),
            secure,
            self.boot.get(MODE) or "",
            self.disc_drive().verifies,
            [*self.disc_drive().certificates.values()],
        )

    def is_running(self) -> bool:
        """Return whether the installed system runs, without counting a request."""
        self._settle()
        return self.running

    def change(self, **state: Any) -> None:
        """Change the state at once.

        Args:
            state: `image` (empty: nothing is inserted), `images` by drive, `verifies` and
                `certificates` (by Id) of the drive that boots, `target`, `enabled` and `mode` of the override,
                `secure` (Secure Boot is on), or any of `power`, `disk`, `running`, `ignores_once`, `drops_media`,
                `keeps_once`, `insecure`, `session_limit`, `etag_in`.
        """
        images = state.pop("images", {})
        if "image" in state:
            images[self.disc_drive().slot.name] = state.pop("image")
        for name, image in images.items():
            self.drives[name].image, self.drives[name].inserted = image, bool(image)
        for name in ("verifies", "certificates"):
            if name in state:
                setattr(self.disc_drive(), name, state.pop(name))
        if "secure" in state:
            self.secure_boot["SecureBootEnable"] = state.pop("secure")
        for name in ("target", "enabled", "mode"):
            if name in state:
                self.boot[f"BootSourceOverride{name.title()}"] = state.pop(name)
        for name, value in state.items():
            if not hasattr(self, name):
                raise ValueError(f"a server has no property {name}")
            setattr(self, name, value)

    def restart_bmc(self, *, keeps: bool) -> None:
        """Restart the BMC, without an effect on its server.

        Args:
            keeps: Media and boot override stay.
        """
        self.sessions.clear()
        if not keeps:
            self.write_boot({"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"})
            self._apply_boot()
            self._empty_drives()

    def _empty_drives(self) -> None:
        for drive in self.drives.values():
            drive.image, drive.inserted = "", False

    def disc_drive(self) -> Drive:
        """Return the drive that boots; an empty one that is not in `drives` if none does."""
        return next((drive for drive in self.drives.values() if self._boots(drive.slot)), Drive(Slot("none")))

    def _boots(self, slot: Slot) -> bool:
        usable = slot.action or self.vendor.media_by == "patch"
        return usable and not slot.refuses and ("CD" in slot.types or (not slot.types and slot.name.startswith("CD")))

    def _then(self, delay: float, change: Callable[[], None]) -> None:
        """Make a change after a delay, unless the power changes before."""
        generation = self._generation
        self.after(delay, lambda: change() if generation == self._generation else None)

    def _settle(self) -> None:
        now = self._now()
        while ready := [event for event in self._due if event[0] < now]:
            first = min(ready, key=lambda event: event[0])
            self._due.remove(first)
            first[1]()

    def _now(self) -> float:
        return self._requests if self.pace.by_requests else time.monotonic()

    def _off(self) -> None:
        self.power, self.running, self._changed_at = "Off", False, self._now()
        self._generation += 1
        if self.fetching:
            self.fetching.cancel()
            self.fetching = None

    def _apply_boot(self) -> None:
        self.boot |= self._pending
        self._pending = {}

    def _on(self) -> None:
        self.power, self._changed_at = "On", self._now()
        self._apply_boot()
        self._run_jobs()
        if self.drops_media:
            self._empty_drives()
        secure = self.secure_boot["SecureBootEnable"] and self.boot.get(MODE) != "Legacy" and not self.insecure
        self.secure_boot["SecureBootCurrentBoot"] = "Enabled" if secure else "Disabled"
        into_setup = self.boot["BootSourceOverrideTarget"] == "BiosSetup"
        image = self._overriding_image()
        if image:
            self.figures.booted.append(image)
            self.fetching = asyncio.ensure_future(self._fetch(self, image))
            self.fetching.add_done_callback(lambda fetched: self._fetched(fetched, image))
        elif into_setup:
            self.figures.booted.append("setup")
        elif self.disk:
            self.figures.booted.append("disk")
            self._then(self.boot_s, self._ready)
        else:
            self.figures.booted.append("nothing")

    def _overriding_image(self) -> str:
        """Return the image that the boot override boots, and clear an override for one boot."""
        wanted, enabled = self.boot["BootSourceOverrideTarget"], self.boot["BootSourceOverrideEnabled"]
        if enabled == "Once" and not self.keeps_once:
            self.boot |= {"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"}
        if wanted == "UefiHttp" and enabled != "Disabled":
            return str(self.boot[HTTP_BOOT_URI] or "")
        drive = self.disc_drive()
        if self.vendor.capture:  # a capture does not show which drive boots
            drive = next((full for full in self.drives.values() if full.inserted), drive)
        follows = enabled != "Disabled" and wanted in self.vendor.cd_targets and self.boot.get(MODE) != "Legacy"
        if self.vendor.attributes and self.attributes == {FIRST_BOOT: "VCD-DVD", BOOT_ONCE: "Enabled"}:
            self.attributes, follows = {FIRST_BOOT: "Normal", BOOT_ONCE: "Disabled"}, True
        follows = follows and not self.ignores_once
        return drive.image if follows and drive.inserted else ""

    def _fetched(self, fetched: asyncio.Future[None], image: str) -> None:
        failed = fetched.cancelled() or fetched.exception() is not None
        if self.fetching is fetched:
            self.fetching = None
        if not failed:
            self._then(self.install_s, lambda: self._installed(image))

    def _installed(self, image: str) -> None:
        self.disk = image
        self.figures.installs += 1
        self._off()

    def _ready(self) -> None:
        self.running = True
