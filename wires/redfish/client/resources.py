"""The System and the Managers of a BMC, as last read, and the quirks that apply to them."""

from collections.abc import Callable
from contextlib import AbstractContextManager as Block
from typing import Any

import sushy
from sushy.resources.manager.manager import ManagerCollection
from sushy.resources.system.system import System, SystemCollection

from base.errors import BmcRefusedError
from wires.bmc.identity import is_shared
from wires.redfish.client.adapter import ROOT
from wires.redfish.client.connector import BmcConnector
from wires.redfish.client.quirks import Quirks, quirks_of

SYSTEMS = "/redfish/v1/Systems"
MANAGERS = "/redfish/v1/Managers"


def reread(resource: Any) -> None:
    """Read a resource with one GET. sushy's plain `refresh()` also reads each sub-resource that was read before."""
    resource.invalidate()
    resource.refresh(force=False)


class Resources:
    """Reads each resource when it is first asked for. Not thread-safe.

    Args:
        http: Sends the requests.
        where: URL of the system, for errors.
        path: Path of the system. Without one, that of the BMC's only system.
        converted: Converts the exceptions of sushy and requests in its block; its argument says what is attempted.
    """

    def __init__(
        self,
        http: BmcConnector,
        where: str,
        path: str | None,
        converted: Callable[[str], Block[None]],
    ) -> None:
        self._http, self._where, self._path, self._converted = http, where, path, converted
        self.seen: Any = None
        self.was_read = False
        self._managers: list[Any] = []
        self._quirks: Quirks | None = None
        self._quirks_of = ""
        self._by_service = False
        self._service: str | None = None

    def system(self) -> Any:
        """Read the system, with one request."""
        with self._converted("read the system"):
            if self.seen is None:
                self.seen = System(self._http, self._path or self._only_system())
                self.was_read = True
            else:
                reread(self.seen)
            if self.quirks.unsupported:
                raise BmcRefusedError(self.quirks.unsupported, where=self._where)
            return self.seen

    @property
    def known(self) -> Any:
        """The system as last read."""
        return self.seen if self.seen is not None else self.system()

    # Not a cached_property: before Python 3.12 it has one lock, at which all hosts would wait for each other.
    @property
    def managers(self) -> list[Any]:
        """The Managers as last read."""
        if not self._managers:
            try:
                self._managers = list(self.known.managers)
            except sushy.exceptions.MissingAttributeError:
                # Huawei's 1288H links no Manager, nor does badfish's emulator of an iDRAC.
                self._managers = list(ManagerCollection(self._http, MANAGERS).get_members())
        return self._managers

    @property
    def quirks(self) -> Quirks:
        """The row that applies, by what was read so far. A BMC that starts up may name its maker only later."""
        manufacturer = self._manufacturer
        if self._quirks is None or manufacturer != self._quirks_of:
            self._quirks = self._find_quirks(manufacturer, by_service=self._by_service)
            self._quirks_of = manufacturer
        return self._quirks

    @property
    def boot_quirks(self) -> Quirks:
        """The row by the service root, too: from now on for all. That costs a request, so only a boot asks for it."""
        if not self._by_service:
            with self._converted("read the service root"):
                self._quirks = self._find_quirks(self._manufacturer, by_service=True)
                self._by_service = True
        return self.quirks

    def bmc_kind(self) -> str:
        """Return model and firmware version of the first Manager; empty if there is none."""
        return next((f"{manager.model or '?'} {manager.firmware_version or ''}" for manager in self.managers), "")

    def forget_paths(self) -> None:
        """Forget the paths of System and Managers, which may change when the BMC restarts."""
        self.seen, self._managers = None, []

    def _only_system(self) -> str:
        """Return the path of the BMC's only system, for an address that names none."""
        paths = SystemCollection(self._http, SYSTEMS).members_identities
        if len(paths) != 1:
            fix = f"end bmc.address with the one that is meant: {', '.join(paths)}" if paths else ""
            raise BmcRefusedError(
                f"it has {len(paths)} systems, and the address names none", where=self._where, fix=fix
            )
        return str(paths[0])

    @property
    def _manufacturer(self) -> str:
        """What the System names as its maker; empty if it has a placeholder there."""
        word = (self.known.manufacturer or "").strip()
        return "" if is_shared(word) else word

    def _find_quirks(self, manufacturer: str, *, by_service: bool) -> Quirks:
        maker = manufacturer or f"{self._service_kind()} {self._managers_maker()}"
        found = quirks_of(maker, self.bmc_kind, self._service_kind if by_service or not manufacturer else None)
        if not found.keep_alive:
            self._http.close_each()
        return found

    def _managers_maker(self) -> str:
        """Return what the Managers have in place of the Manufacturer of the System."""
        documents = [manager.json for manager in self.managers]
        return " ".join(word for it in documents for word in (it.get("Manufacturer") or "", *(it.get("Oem") or {})))

    def _service_kind(self) -> str:
        """Return what names the service, and thereby its maker."""
        if self._service is None:
            root = self._http.get(ROOT).json()
            self._service = " ".join((root.get("Vendor") or "", root.get("Product") or "", *(root.get("Oem") or {})))
        return self._service
