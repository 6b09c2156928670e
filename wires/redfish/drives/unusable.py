"""The errors of a BMC through which no image can be inserted: what was found instead, and what helps."""

from collections.abc import Sequence
from typing import Any

from base.errors import BmcRefusedError

VENDOR_ACTIONS = ("VirtualMediaConfig", "Mount")
"""Parts of the names of what Supermicro has in place of InsertMedia: VirtualMediaConfig, IsoConfig.Mount."""
ANOTHER_SYSTEM = "end bmc.address with the server's own system; /redfish/v1/Systems lists all"
LICENCE = "find out whether the vendor wants a licence for virtual media"
UPDATE = (
    "update the BMC's firmware to one that has InsertMedia, or have the server boot from the network: begin "
    "bmc.address with redfish, or redfish-uefihttp"
)


def explained(where: str, system: Any, listings: Sequence[Any], drives: Sequence[Any]) -> BmcRefusedError:
    """Return the error of a system whose `listings` of virtual drives have no drive for a disc, or are none."""
    what, fix = _found(system, listings, drives)
    return BmcRefusedError(f"no virtual CD drive: {what}", where=where, fix=fix)


def taking_none(where: str, drives: Sequence[Any]) -> BmcRefusedError:
    """Return the error of virtual CD drives that cannot be filled over Redfish."""
    reasons = ", ".join(_without_insert(drive) for drive in drives)
    return BmcRefusedError(f"no virtual CD drive takes an image: {reasons}", where=where, fix=UPDATE)


def _found(system: Any, listings: Sequence[Any], drives: Sequence[Any]) -> tuple[str, str]:
    if system.json.get("SystemType") == "DPU":
        return "the system is a DPU", ANOTHER_SYSTEM
    if "Boot" not in system.json:
        return "the system has no Boot, as the board of GPUs that is part of a server", ANOTHER_SYSTEM
    if drives:
        return ", ".join(f"{drive.identity} takes only {_types(drive)}" for drive in drives), UPDATE
    if own := sorted({name for listing in listings for name in _names(listing.json)}):
        return f"only the vendor's own {', '.join(own)}", UPDATE
    if listings:
        return "the list of its virtual drives is empty", LICENCE
    return "neither System nor Manager links any", UPDATE


def _types(drive: Any) -> str:
    return " and ".join(drive.json.get("MediaTypes") or ["no disc"])


def _without_insert(drive: Any) -> str:
    own = ", ".join(name.removeprefix("#") for name in (drive.json.get("Actions") or {}).get("Oem") or ())
    return f"{drive.identity} has neither InsertMedia nor PATCH" + (f", only the vendor's own {own}" if own else "")


def _names(value: Any) -> set[str]:
    """Return the names in a document, at any depth, that contain a word of `VENDOR_ACTIONS`."""
    if not isinstance(value, dict):
        return set()
    here = {key.removeprefix("#") for key in value if any(word in key for word in VENDOR_ACTIONS)}
    return here.union(*(_names(member) for member in value.values()))
