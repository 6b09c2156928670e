"""The wire: sushy, tuned. Its errors become ours here, and no secret is in any of them."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import sushy
from requests import exceptions as requests_errors
from sushy.connector import Connector
from sushy.resources.manager.constants import ConnectedVia, VirtualMediaType
from sushy.resources.system.system import System, SystemCollection

from cluster.bmc_url import parse_virtual_media_url
from providers.errors import BmcAuthError, BmcError, BmcTransientError
from providers.redfish.access import Access
from providers.redfish.bmc import BootOverride, Identity, Power
from providers.redfish.tls import OneContextAdapter, confine, tls_context

SYSTEMS = "/redfish/v1/Systems"
CONNECT_S = 5
READ_S = 30
SINGLE_ATTEMPT = 1  # of sushy's `server_side_retries`: 0 would mean three, and POSTs are sent again as well
BUSY_STATUS = frozenset({408, 409, 412, 423, 425, 428, 429})
BUSY_WORDS = ("InvalidOperationForSystemState", "UnableToModifyDuringSystemPOST", "SYS518")  # iLO, iLO, iDRAC
DISC = frozenset({VirtualMediaType.CD, VirtualMediaType.DVD})
POWER = {sushy.PowerState.ON: Power.ON, sushy.PowerState.OFF: Power.OFF}
RESET = {Power.ON: sushy.ResetType.ON, Power.OFF: sushy.ResetType.FORCE_OFF}

# sushy warns about what we turn into errors; without a handler Python would print that to the operator.
logging.getLogger("sushy").addHandler(logging.NullHandler())


class SushyBmc:
    """One system behind a Redfish service. Nothing is sent before the first look. Not thread-safe: one at a time."""

    def __init__(self, access: Access) -> None:
        url = parse_virtual_media_url(access.address)
        self._path = url.system_id
        self._password = access.password
        self._adapter = OneContextAdapter(tls_context(access.ca, verify=access.verify))
        self._connector = Connector(
            url.base,
            verify=access.verify,
            server_side_retries=SINGLE_ATTEMPT,
            default_request_timeout=READ_S,
            connect_timeout=CONNECT_S,
        )
        confine(self._connector._session, url.base, self._adapter)
        self._connector.set_http_basic_auth(access.username.encode(), access.password.encode())
        self.url = f"{url.base}{url.system_id or SYSTEMS}"
        self._seen: Any = None
        self._drive: Any = None

    @property
    def requests(self) -> int:
        """Requests sent so far."""
        return self._adapter.sent

    def identity(self) -> Identity:
        """Who it is."""
        system = self._system()
        return Identity(
            uuid=(system.uuid or "").lower(),
            serial=system.serial_number or "",
            model=system.model or "",
            manufacturer=system.manufacturer or "",
            bios_version=system.bios_version or "",
        )

    def bmc_version(self) -> str:
        """Firmware version of the BMC itself; empty where it does not say."""
        with self._our_errors("read the BMC's version"):
            return next((manager.firmware_version or "" for manager in self._known().managers), "")

    def power(self) -> Power:
        """Power, read now."""
        return POWER.get(self._system().power_state, Power.CHANGING)

    def boot_override(self) -> BootOverride:
        """Boot override, read now."""
        boot = self._system().boot
        words = (boot.target, boot.enabled, boot.mode) if boot else ()
        return BootOverride(*(word.value if word else "" for word in words))

    def media(self) -> str | None:
        """URL of the image in the virtual CD drive; Supermicro keeps it after an eject, so `Inserted` decides."""
        with self._our_errors("look at the virtual CD"):
            drive = self._cd()
            _reread(drive)
            if drive.inserted is False or drive.connected_via is ConnectedVia.NOT_CONNECTED:
                return None
            return drive.image or drive.image_name or ("an unnamed image" if drive.inserted else None)

    def insert(self, url: str) -> None:
        """Put an image into the virtual CD drive."""
        with self._our_errors("insert the boot ISO"):
            self._cd().insert_media(url)

    def eject(self) -> None:
        """Empty the virtual CD drive; sushy returns normally when a BMC refuses, so read afterwards."""
        with self._our_errors("eject the virtual CD"):
            self._cd().eject_media()

    def set_override(self, target: str, enabled: str) -> None:
        """Set the boot override; the boot mode is not sent (on iDRAC a change of it is a BIOS job)."""
        with self._our_errors(f"set the boot override to {target}"):
            self._known().set_system_boot_options(
                target=sushy.BootSource(target), enabled=sushy.BootSourceOverrideEnabled(enabled)
            )

    def request_power(self, want: Power) -> None:
        """Ask for On or ForceOff; ForceRestart cannot be verified, and is unreliable on some servers."""
        with self._our_errors(f"switch power {want.value}"):
            self._known().reset_system(RESET[want])

    def close(self) -> None:
        """Drop the connection."""
        self._connector.close()

    def _system(self) -> Any:
        """The system, read now, by one request."""
        with self._our_errors("read the system"):
            if self._seen is None:
                self._seen = System(self._connector, self._path or self._only_system())
            else:
                _reread(self._seen)
            return self._seen

    def _only_system(self) -> str:
        """Path of the system, where the address names none."""
        paths = SystemCollection(self._connector, SYSTEMS).members_identities
        if len(paths) != 1:
            hint = f"End bmc.address with the one that is meant: {', '.join(paths)}" if paths else ""
            raise BmcError(f"it has {len(paths)} systems, and the address names none", where=self.url, hint=hint)
        return str(paths[0])

    def _known(self) -> Any:
        """The system as read last."""
        return self._seen if self._seen is not None else self._system()

    def _cd(self) -> Any:
        """The first virtual drive that takes a disc: newer firmware has it on the System, older on the Manager."""
        if self._drive is None:
            drives = (drive for drive in self._drives() if DISC & set(drive.media_types or ()))
            self._drive = next(drives, None)
        if self._drive is None:
            hint = "Virtual media may need a licence of the vendor"
            raise BmcError("no virtual CD drive", where=self.url, hint=hint)
        return self._drive

    def _drives(self) -> Iterator[Any]:
        system = self._known()
        try:
            yield from system.virtual_media.get_members()
        except (sushy.exceptions.MissingAttributeError, sushy.exceptions.ResourceNotFoundError):
            logging.getLogger(__name__).debug("%s: no virtual media on the System", self.url)
        for manager in system.managers:
            yield from manager.virtual_media.get_members()

    @contextmanager
    def _our_errors(self, deed: str) -> Iterator[None]:
        """Turn what sushy and requests raise into our tree."""
        try:
            yield
        except sushy.exceptions.AccessError as error:
            what = f"cannot {deed}: HTTP {error.status_code}, the BMC refuses the credentials"
            hint = "Correct bmc.username and bmc.password in install-config.yaml; nothing is retried, accounts lock"
            raise BmcAuthError(what, where=self.url, hint=hint) from None
        except sushy.exceptions.HTTPError as error:
            raise self._http_error(deed, error) from None
        except sushy.exceptions.ConnectionError as error:
            raise self._transport_error(deed, error.__context__) from None
        except (sushy.exceptions.SushyError, ValueError, TypeError, AttributeError, KeyError) as error:
            # sushy trusts the shape of what it reads; a BMC that is starting up answers anything.
            what = f"cannot {deed}: the answer is not usable ({self._clean(error)})"
            raise BmcTransientError(what, where=self.url) from None

    def _http_error(self, deed: str, error: Any) -> BmcError:
        said = self._clean(error.detail or error.code or "")
        what = f"cannot {deed}: HTTP {error.status_code}" + (f" ({said})" if said else "")
        if error.status_code == HTTPStatus.NOT_FOUND:
            hint = "Compare bmc.address with what the BMC lists at /redfish/v1/Systems"
            return BmcError(what, where=self.url, hint=hint)
        busy = any(word in str(error) for word in BUSY_WORDS)
        if error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.status_code in BUSY_STATUS or busy:
            return BmcTransientError(what, where=self.url)
        return BmcError(what, where=self.url)

    def _transport_error(self, deed: str, cause: BaseException | None) -> BmcError:
        if isinstance(cause, requests_errors.SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(cause):
            reason = str(cause).partition("certificate verify failed: ")[2].partition(" (_ssl")[0]
            what = f"cannot {deed}: its certificate is not trusted ({self._clean(reason or 'verification failed')})"
            hint = "Set the stack option bmc_ca to the PEM of the CA that signed it"
            return BmcError(what, where=self.url, hint=hint)
        return BmcTransientError(f"cannot {deed}: {_reason(cause)}", where=self.url)

    def _clean(self, text: object) -> str:
        """One short line, without the password even if the BMC repeats it."""
        line = " ".join(str(text).split())
        return (line.replace(self._password, "***") if self._password else line)[:200]


def _reread(resource: Any) -> None:
    """One GET; sushy's plain `refresh()` reads every sub-resource that was ever touched as well."""
    resource.invalidate()
    resource.refresh(force=False)


def _reason(cause: BaseException | None) -> str:
    if isinstance(cause, requests_errors.ConnectTimeout):
        return f"no connection within {CONNECT_S} s"
    if isinstance(cause, requests_errors.Timeout):
        return f"no answer within {READ_S} s"
    if isinstance(cause, requests_errors.InvalidSchema):
        return "it points to another server"
    text = str(cause)
    for words in ("Connection refused", "Connection reset", "No route to host", "Name or service not known"):
        if words in text:
            return words.lower()
    return "the connection broke"
