"""`BmcClient` by sushy. Its exceptions become this program's errors, without secrets."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from http import HTTPStatus
from typing import Any

import sushy
from pydantic import SecretStr

from base.errors import BmcError, BmcRefusedError, BmcTransientError
from cluster.values.boot_method import BootMethod
from wires.bmc import writes
from wires.bmc.access import LIMITS, BmcAccess, Limits
from wires.bmc.client import (
    CD,
    HTTP,
    ONCE,
    PXE,
    SPELLINGS,
    STARTS_S,
    BootOverride,
    Identity,
    Power,
    SecureBoot,
    mode_of,
)
from wires.redfish.boot.idrac import NOTHING, VIRTUAL_CD_ONCE, BootAttributes
from wires.redfish.boot.network import ALLOWED, HTTP_BOOT_URI, network_types, or_by
from wires.redfish.client.connector import BmcConnector
from wires.redfish.client.reasons import REFUSED_LOGIN, REFUSED_STATE_LOGIN
from wires.redfish.client.refusals import NOT_NOW_WORDS, UNUSABLE, Refusals
from wires.redfish.client.resources import SYSTEMS, Resources
from wires.redfish.client.shapes import text, texts
from wires.redfish.client.tasks import TaskResult
from wires.redfish.drives.discs import DiscDrives

POWER = {power.value: power for power in (Power.ON, Power.OFF)}
RESET = {
    Power.ON: (sushy.ResetType.ON, sushy.ResetType.FORCE_ON),
    Power.OFF: (sushy.ResetType.FORCE_OFF,),
}
"""Reset types for each power state, best first. No restart: it cannot be verified, and some servers do it badly."""
SHUTDOWN = (sushy.ResetType.GRACEFUL_SHUTDOWN, sushy.ResetType.PUSH_POWER_BUTTON)
"""Reset types that leave it to the operating system, best first: an older iLO has only the button."""
TARGETS = {BootMethod.VIRTUAL_CD: SPELLINGS[CD], BootMethod.IPXE: (PXE,), BootMethod.UEFI_HTTP: (HTTP,)}
"""Boot targets by which a host gets to its boot ISO, best first."""
MODE = "BootSourceOverrideMode"
UNREAD = 6
"""How often, in about 90 s, a drive that cannot be read now is awaited: it may have an image, so it counts."""


class SushyBmc:
    """One system behind a Redfish service. Sends nothing before the first read. Not thread-safe.

    Args:
        from_state: Whether the login is that of the state, which may be older than that of the stack's options.
    """

    def __init__(
        self, access: BmcAccess, password: SecretStr, limits: Limits = LIMITS, *, from_state: bool = False
    ) -> None:
        url = access.url
        self._address, self.wanted_mode = access.address, access.boot_mode
        self._boot_method, self._instead = access.boot_method, url.instead
        self._http = BmcConnector(url, access, password, limits)
        self._limits = limits
        self.url = f"{url.base}{url.system_id or SYSTEMS}"
        refused_login = REFUSED_STATE_LOGIN if from_state else REFUSED_LOGIN
        self._refusals = Refusals(self.url, limits, self._http.adapter, refused_login, access.login)
        self._read = Resources(self._http, self.url, url.system_id, self._converted_errors)
        self._discs: DiscDrives | None = None
        self._unread = 0

    @property
    def requests(self) -> int:
        """Number of requests sent so far."""
        return self._http.adapter.sent

    @property
    def settle_s(self) -> float:
        """Seconds from an insert until the host sees the drive."""
        with self._converted_errors("read the system"):
            return self._read.boot_quirks.settle_s

    @property
    def boot_mode(self) -> str:
        """The boot mode that each boot override is sent with. Empty: it is sent without."""
        # OpenBMC has no such property, and refuses a change of it, also in a server of Supermicro's.
        with self._converted_errors("read the boot mode"):
            is_there = MODE in (self._read.known.json.get("Boot") or {})
            return mode_of(self.wanted_mode) if is_there and self._read.boot_quirks.sends_mode else ""

    def remember(self) -> None:
        """See `BmcClient`. Power, boot override and the ETag that a change names are parts of one System."""
        self._http.remember()

    def identity(self) -> Identity:
        """Read the identity of the machine."""
        with self._converted_errors("read the system"):
            system = self._read.system()
            return Identity(
                uuid=text(system.uuid).lower(),
                serial=text(system.serial_number),
                model=text(system.model),
                manufacturer=text(system.manufacturer),
                bios_version=text(system.bios_version),
                tag=text(system.sku) if self._read.quirks.sku_is_tag else "",
            )

    def bmc_version(self) -> str:
        """Read the firmware version of the BMC itself. Empty if unreported."""
        with self._converted_errors("read the BMC's version"):
            return next((text(manager.firmware_version) for manager in self._read.managers), "")

    def power(self) -> Power:
        """Read the power state. Skips the rest of the System, because this is the most frequent read."""
        with self._converted_errors("read the power"):
            system = (
                self._http.get(self._read.seen.path).json()
                if self._read.seen is not None
                else self._read.system().json
            )
            if not system["PowerState"]:
                raise BmcTransientError("cannot read the power: PowerState reads null", where=self.url, undone=True)
            return POWER.get(system["PowerState"], Power.CHANGING)

    def boot_override(self) -> BootOverride:
        """Read the boot override."""
        with self._converted_errors("read the boot override"):
            boot = self._read.system().boot
            words = (boot.target, boot.enabled, boot.mode) if boot else ()
            override = BootOverride(*(word.value if word else "" for word in words))
        with self._converted_errors("read the boot attributes"):
            if self._read.quirks.boots_by_attributes and self._boot_attributes().choose_virtual_cd:
                return BootOverride(CD, ONCE, override.mode)
        return override

    def pending_override(self) -> BootOverride | None:
        """Read the boot override that waits for the next reset, in @Redfish.Settings. None: nothing can wait."""
        with self._converted_errors("read the pending boot override"):
            boot = self._pending_boot()
            override = BootOverride(
                *(text(boot.get(f"BootSourceOverride{word}")) for word in ("Target", "Enabled", "Mode"))
            )
            return override if override.target else None

    def boot_modes(self) -> tuple[str, ...]:
        """Read the boot modes that the BMC allows. Empty if unreported."""
        with self._converted_errors("read the boot modes"):
            return texts(self._boot().get(f"{MODE}@Redfish.AllowableValues"))

    def expect_boot_method(self) -> None:
        """See `BmcClient`. Attributes choose an iDRAC's virtual CD. Not every BMC with UefiHttp takes a URI."""
        with self._converted_errors("read the boot targets"):
            if self._boot_method is BootMethod.VIRTUAL_CD and self._read.quirks.boots_by_attributes:
                return
            wanted = tuple(map(sushy.BootSource, TARGETS[self._boot_method]))
            try:
                self._first(wanted, self._read.known.get_allowed_system_boot_source_values(), "boot override")
            except BmcRefusedError as error:
                raise self._unbootable(error.fault.what) from None
            if self._boot_method is BootMethod.UEFI_HTTP and HTTP_BOOT_URI not in self._boot():
                raise self._unbootable(f"takes no URI to boot by HTTP: its Boot has no {HTTP_BOOT_URI}")

    def _unbootable(self, what: str) -> BmcRefusedError:
        """Return the error of a BMC without the boot method of its host; the fix has those that it offers."""
        boot = self._boot()
        by_cd = [self._instead] if set(SPELLINGS[CD]) & set(boot.get(ALLOWED) or ()) else []
        fix = or_by("update the BMC's firmware", by_cd + network_types(boot))
        return BmcRefusedError(what, where=self.url, fix=fix)

    def secure_boot(self) -> SecureBoot | None:
        """Read Secure Boot. None: the BMC has no such resource."""
        with self._converted_errors("read Secure Boot"):
            path = (self._read.known.json.get("SecureBoot") or {}).get("@odata.id")
            if not path:
                return None
            answer = self._http.get(path).json()
            words = (text(answer.get(f"SecureBoot{word}")) for word in ("CurrentBoot", "Mode"))
            enabled = answer.get("SecureBootEnable")
            return SecureBoot(enabled if isinstance(enabled, bool) else None, *words)

    def media(self) -> str | None:
        """Read the image in the virtual CD drives, as the BMC names it. None: all drives are empty.

        A BMC whose address says that its host boots from the network need not have a drive, and is not asked for one.
        """
        if self._boot_method is not BootMethod.VIRTUAL_CD:
            return None
        if self._discs is None or self._discs.enable:
            self._discs = self._find_discs()
        else:
            with self._converted_errors("read the virtual CD"):
                self._discs.reread()
        return self._discs.image

    def media_at_once(self) -> tuple[str | None, str]:
        """See `BmcClient`."""
        if self._boot_method is not BootMethod.VIRTUAL_CD:
            return None, ""
        discs = self._read_discs()
        return discs.image, "; ".join(error.fault.what for error in self._unread_drives(discs))

    def insert(self, url: str, certificate: str = "") -> None:
        """See `BmcClient`. If a drive refuses, try the next."""
        discs = self._known_discs()
        with self._converted_errors("insert the boot ISO"), self._http.adapter.patience(self._limits.insert_s):
            if discs.enable:
                with self._writing(writes.ENABLE_MEDIA):
                    self._http.post(discs.enable, data={"RMediaState": "Enable"})
                self._forget_paths()
                raise BmcTransientError("virtual media is being switched on", where=self.url, undone=True)
            with self._writing(writes.insert(url)):
                discs.insert(url, certificate)

    def trust(self, certificate: str) -> None:
        """See `BmcClient`."""
        discs = self._known_discs()
        with self._converted_errors("trust the server of the boot ISO"), self._writing(writes.TRUST):
            discs.trust(certificate)

    def eject(self) -> None:
        """Empty all virtual CD drives. Read afterwards: sushy returns normally even if the BMC refuses."""
        discs = self._known_discs()
        with self._converted_errors("eject the virtual CD"), self._writing(writes.EJECT):
            discs.eject()

    def offers(self, target: str) -> bool:
        """Return whether the BMC offers a boot override to `target`."""
        with self._converted_errors("read the boot targets"):
            return sushy.BootSource(target) in self._read.known.get_allowed_system_boot_source_values()

    def set_override(self, target: str, enabled: str, mode: str = "", uri: str = "") -> None:
        """Set the boot override, with a boot mode only where it must be: on iDRAC, it would be a BIOS job.

        sushy clears the URI of an earlier override if this one has none.
        """
        with self._converted_errors(f"set the boot override to {target}"):
            system, action = self._read.known, writes.override(target, enabled)
            if self._read.quirks.boots_by_attributes:
                attributes = self._boot_attributes()
                if target == CD:
                    with self._writing(action):
                        attributes.write(self._http, VIRTUAL_CD_ONCE)
                    return
                if attributes.choose_virtual_cd:
                    with self._writing(writes.NO_OVERRIDE):
                        attributes.write(self._http, NOTHING)
            spellings = SPELLINGS.get(target, (target,)) if target else ()
            wanted = tuple(map(sushy.BootSource, spellings[::-1] if self._read.quirks.usb_cd_first else spellings))
            offered, sent = system.get_allowed_system_boot_source_values(), mode or self.boot_mode
            with self._writing(action, *([writes.boot_mode(sent)] if sent else [])):
                self._set_boot(
                    target=self._first(wanted, offered, "boot override") if wanted else None,
                    enabled=sushy.BootSourceOverrideEnabled(enabled),
                    mode=sushy.BootSourceOverrideMode(sent) if sent else None,
                    http_boot_uri=uri or None,
                )

    def set_boot_mode(self, mode: str) -> None:
        """Request a boot mode and nothing else, as ironic does, unless the BMC wants the whole Boot."""
        with self._converted_errors(f"set the boot mode to {mode}"), self._writing(writes.boot_mode(mode)):
            self._set_boot(mode=sushy.BootSourceOverrideMode(mode))

    def set_secure_boot(self, *, enabled: bool) -> None:
        """Request that Secure Boot be on or off from the next boot."""
        action = writes.secure_boot(enabled=enabled)
        with self._converted_errors(f"switch {action}"), self._writing(action):
            self._read.known.secure_boot.set_enabled(enabled)

    def request_power(self, want: Power) -> None:
        """Request On, or Off without a shutdown of the operating system."""
        action = writes.power(want)
        with self._converted_errors(f"switch {action}"), self._writing(action):
            system = self._read.known
            system.reset_system(self._first(RESET[want], system.get_allowed_reset_system_values(), "reset"))

    def request_shutdown(self) -> None:
        """Request that the operating system shut down. A button is pressed only on what is on: it starts the rest."""
        with self._converted_errors(writes.SHUT_DOWN):
            how = self._first(SHUTDOWN, self._read.known.get_allowed_reset_system_values(), "reset")
            if how is sushy.ResetType.PUSH_POWER_BUTTON and (seen := self.power()) is not Power.ON:
                what = f"its power button was not pressed, since its power reads {seen.value}"
                raise BmcTransientError(what, where=self.url, undone=True)
        with self._converted_errors(writes.SHUT_DOWN), self._writing(writes.SHUT_DOWN):
            self._read.known.reset_system(how)

    def check_task(self) -> str:
        """See `BmcClient`. Sends nothing if the last write has started no task."""
        if not self._http.task:
            return ""
        with self._converted_errors("read the task of the last request"):
            try:
                task = TaskResult.of(self._http.get(self._http.task))
            except (sushy.exceptions.ResourceNotFoundError, sushy.exceptions.AccessError):
                # A monitor may go with its task, and not every account may read it.
                task = TaskResult(is_over=True)
            if task.is_over:
                self._http.task = ""
            if task.failure:
                raise self._refusals.of_task(task)
            return "" if task.is_over else task.state

    def close(self) -> None:
        """End the session, if any, and close the connection."""
        self._http.close()

    def _writing(self, *actions: str) -> AbstractContextManager[None]:
        """Name what the requests of the block write to the system."""
        return self._http.adapter.writing(*(writes.to_bmc(self._address, action) for action in actions))

    def _known_discs(self) -> DiscDrives:
        """Return the drives as last read."""
        if self._discs is None:
            self._discs = self._find_discs()
        return self._discs

    def _find_discs(self) -> DiscDrives:
        discs = self._read_discs()
        for unread in self._unread_drives(discs):
            if isinstance(unread, BmcTransientError) and self._unread < UNREAD:
                self._unread += 1
                raise unread
        return discs

    def _read_discs(self) -> DiscDrives:
        with self._converted_errors("read the virtual CD"):
            return DiscDrives.read(self.url, self._read.known, self._read.managers, self._read.quirks)

    def _unread_drives(self, discs: DiscDrives) -> Iterator[BmcError]:
        for path, error in discs.unread.items():
            drive = path.rpartition("/")[2]
            yield self._refusals.of(error, f"read the virtual CD drive {drive}", known=True)

    def _set_boot(self, **changes: Any) -> None:
        """Change a part of Boot; if the BMC refuses a part, as AMI's do, also what is not to change."""
        system = self._read.known
        try:
            system.set_system_boot_options(**changes)
        except sushy.exceptions.BadRequestError as error:
            sent = {name: value for name, value in changes.items() if value}
            whole = {**self._boot_as_read(), **sent}
            if whole == sent or any(word in str(error) for word in NOT_NOW_WORDS):
                raise
            with suppress(sushy.exceptions.BadRequestError):
                system.set_system_boot_options(**whole)
                return
            raise

    def _boot_as_read(self) -> dict[str, Any]:
        """Return Boot of the system for `_set_boot`, with the host's mode where the BMC has none."""
        boot, has_mode = self._read.known.boot, MODE in (self._read.known.json.get("Boot") or {})
        read = {"target": boot.target, "enabled": boot.enabled}
        if has_mode:
            read["mode"] = boot.mode or sushy.BootSourceOverrideMode(mode_of(self.wanted_mode))
        return {name: value for name, value in read.items() if value}

    def _boot(self) -> dict[str, Any]:
        """Read Boot of the system, with what only its @Redfish.Settings have."""
        return self._pending_boot() | (self._read.known.json.get("Boot") or {})

    def _pending_boot(self) -> dict[str, Any]:
        """Read Boot in @Redfish.Settings. Empty if there is none."""
        settings = self._read.known.json.get("@Redfish.Settings") or {}
        path = settings.get("SettingsObject", {}).get("@odata.id")
        return (self._http.get(path).json().get("Boot") or {}) if path else {}

    def _boot_attributes(self) -> BootAttributes:
        return BootAttributes.read(self._http, self._read.managers[0])

    def _first(self, wanted: tuple[Any, ...], offered: set[Any], what: str) -> Any:
        """Return the first of the wanted values that the BMC offers."""
        for value in wanted:
            if value in offered:
                return value
        listed = ", ".join(sorted(value.value for value in offered))
        raise BmcRefusedError(f"{what} {wanted[0].value} is not offered; {listed} are", where=self.url)

    def _forget_paths(self) -> None:
        """Forget the paths of System, Managers and drives, which may change when the BMC restarts."""
        self._discs = None
        self._read.forget_paths()

    @contextmanager
    def _converted_errors(self, attempt: str) -> Iterator[None]:
        """Convert the exceptions of sushy and requests into this program's errors."""
        try:
            yield
        except UNUSABLE as error:
            converted = self._refusals.of(error, attempt, known=self._read.was_read)
            if getattr(error, "status_code", 0) == HTTPStatus.NOT_FOUND:
                self._forget_paths()
                if isinstance(converted, BmcTransientError):
                    converted.passes_s = STARTS_S
            raise converted from None
