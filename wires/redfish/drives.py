"""The virtual CD drives of a system. Newer firmware has them on the System, older firmware on the Manager."""

from collections.abc import Iterator, Sequence
from typing import Any

import sushy
from sushy.resources.manager.constants import ConnectedVia, VirtualMediaType

from wires.redfish.quirks import Quirks

DISC = frozenset({VirtualMediaType.CD, VirtualMediaType.DVD})
ENABLE = "AMIVirtualMedia.EnableRMedia"
"""AMI's action that switches virtual media on; before it, the BMC lists no drives (NVIDIA libredfish)."""
UNAVAILABLE = (sushy.exceptions.MissingAttributeError, sushy.exceptions.ResourceNotFoundError)


def disc_drives(system: Any, managers: Sequence[Any], quirks: Quirks) -> list[Any]:
    """Return the drives that take a bootable disc, the System's before the Managers'."""
    found = {drive.path: drive for drives in _collections(system, managers) for drive in drives.get_members()}
    return [
        drive
        for drive in found.values()
        if DISC & set(drive.media_types or ()) and not quirks.refuses(str(drive.identity))
    ]


def image_in(drive: Any) -> str | None:
    """Return the URL of a drive's image, as last read. `Inserted` counts: Supermicro keeps the URL after an eject."""
    if drive.inserted is False or drive.connected_via is ConnectedVia.NOT_CONNECTED:
        return None
    return drive.image or drive.image_name or ("an unnamed image" if drive.inserted else None)


def enabling_action(system: Any, managers: Sequence[Any]) -> str:
    """Return the path of the action that switches virtual media on. Empty if the BMC has none."""
    collections = [drives.json for drives in _collections(system, managers)]
    return next((path for json in (*collections, *(m.json for m in managers)) if (path := _target(json))), "")


def _collections(system: Any, managers: Sequence[Any]) -> Iterator[Any]:
    for owner in (system, *managers):
        try:
            yield owner.virtual_media
        except UNAVAILABLE:
            continue


def _target(value: Any) -> str:
    """Return the target of the action `ENABLE`, which may be at any depth."""
    if not isinstance(value, dict):
        return ""
    for key, each in value.items():
        if key.endswith(ENABLE) and isinstance(each, dict):
            return str(each.get("target") or "")
        if path := _target(each):
            return path
    return ""
