"""The errors of a BMC through which no image can be inserted: what was found instead, and what helps."""

import re
from collections.abc import Sequence
from typing import Any

from base.errors import BmcRefusedError
from wires.redfish.boot.network import network_types, or_by

OWN = re.compile(r"VirtualMediaConfig|Mount|#(?!VirtualMedia\.(?:Insert|Eject)Media$)[^#]*VirtualMedia")
"""What vendors have in place of InsertMedia: Supermicro's VirtualMediaConfig and IsoConfig.Mount, others' actions."""
ANOTHER_SYSTEM = (
    "have bmc.address name the server's own BMC, and end with the server's own system; /redfish/v1/Systems lists all "
    "of a BMC"
)
LICENCE = "find out whether the vendor wants a licence for virtual media"
UPDATE = "update the BMC's firmware to one that has InsertMedia"


def refuse_dpu(where: str, system: Any) -> None:
    """Raise for a DPU: the drives that its Manager links may be those of the server (DSP2043, smartnic)."""
    if system.json.get("SystemType") == "DPU":
        raise _dpu(where, system)


def explained(
    where: str, system: Any, managers: Sequence[Any], listings: Sequence[Any], drives: Sequence[Any]
) -> BmcRefusedError:
    """Return the error of a system whose `listings` of virtual drives have no drive for a disc, or are none."""
    if "Boot" not in system.json:
        what = "the system has no Boot, as the board of GPUs that is part of a server"
        return _no_drive(where, what, ANOTHER_SYSTEM)
    if drives:
        only = ", ".join(f"{drive.identity} takes only {_types(drive)}" for drive in drives)
        return _no_drive(where, only, _or_by_network(UPDATE, system))
    if own := sorted({name for resource in (*listings, system, *managers) for name in _own(resource.json)}):
        return _no_drive(where, f"only the vendor's own {', '.join(own)}", _or_by_network(UPDATE, system))
    if "bluefield" in f"{system.identity} {system.model}".lower():  # a captured one says SystemType Physical
        return _dpu(where, system)
    if listings:
        return _no_drive(where, "the list of its virtual drives is empty", _or_by_network(LICENCE, system))
    return _no_drive(where, "neither System nor Manager links any", _or_by_network(UPDATE, system))


def taking_none(where: str, system: Any, drives: Sequence[Any]) -> BmcRefusedError:
    """Return the error of virtual CD drives that cannot be filled over Redfish."""
    what = f"no virtual CD drive takes an image: {', '.join(map(_without_insert, drives))}"
    return BmcRefusedError(what, where=where, fix=_or_by_network(UPDATE, system))


def _dpu(where: str, system: Any) -> BmcRefusedError:
    itself = "; if the DPU itself is to be the host,"
    return _no_drive(where, "the system is a DPU", _or_by_network(ANOTHER_SYSTEM, system, itself))


def _no_drive(where: str, what: str, fix: str) -> BmcRefusedError:
    return BmcRefusedError(f"no virtual CD drive: {what}", where=where, fix=fix)


def _or_by_network(fix: str, system: Any, joint: str = ", or") -> str:
    return or_by(fix, network_types(system.json.get("Boot") or {}), joint=joint)


def _types(drive: Any) -> str:
    return " and ".join(drive.json.get("MediaTypes") or ["no disc"])


def _without_insert(drive: Any) -> str:
    own = ", ".join(sorted(_own(drive.json)))
    return f"{drive.identity} has neither InsertMedia nor PATCH" + (f", only the vendor's own {own}" if own else "")


def _own(value: Any) -> set[str]:
    """Return the names of the members of a document, at any depth, that fit `OWN`."""
    if not isinstance(value, dict):
        return set()
    members = {name: member for name, member in value.items() if isinstance(member, dict)}
    here = {name.rpartition("#")[2] for name in members if OWN.search(name)}
    return here.union(*map(_own, members.values()))
