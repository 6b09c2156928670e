"""The attributes that boot the virtual CD of an iDRAC9 before 6.00, whose boot target Cd means a physical drive."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import sushy

FIRST_BOOT, BOOT_ONCE = "ServerBoot.1.FirstBootDevice", "ServerBoot.1.BootOnce"
VIRTUAL_CD_ONCE = {FIRST_BOOT: "VCD-DVD", BOOT_ONCE: "Enabled"}
NOTHING = {FIRST_BOOT: "Normal", BOOT_ONCE: "Disabled"}


@dataclass(frozen=True)
class BootAttributes:
    """The attributes as read, and where they are written."""

    path: str
    values: dict[str, Any]

    @classmethod
    def read(cls, http: Any, manager: Any) -> Self:
        """Read the attributes where the Manager links them, else at the path of older firmware."""
        for path in _linked(manager.json):
            try:
                return cls(path, http.get(path).json()["Attributes"])
            except sushy.exceptions.ResourceNotFoundError:
                continue
        older = older_path(manager)
        return cls(older, http.get(older).json()["Attributes"])

    @property
    def choose_virtual_cd(self) -> bool:
        """Whether the next boot is from the virtual CD, and only that one."""
        return VIRTUAL_CD_ONCE.items() <= self.values.items()

    def write(self, http: Any, values: dict[str, str]) -> None:
        """Change the attributes."""
        http.patch(self.path, data={"Attributes": values})


def older_path(manager: Any) -> str:
    """Return the path that no Manager links."""
    return f"{manager.path}/Attributes"


def _linked(manager: dict[str, Any]) -> Iterator[str]:
    """Yield the paths of the BMC's attributes; others that the Manager links are the server's or the controller's."""
    dell = (manager["Links"].get("Oem") or {}).get("Dell") or {}
    paths = (str(link["@odata.id"]) for link in dell.get("DellAttributes") or ())
    return (path for path in paths if path.rsplit("/", 1)[1].startswith("iDRAC."))
