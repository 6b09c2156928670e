"""The virtual CD drive of a system: newer firmware has it on the System, older on the Manager."""

from collections.abc import Iterator, Sequence
from typing import Any

import sushy
from sushy.resources.manager.constants import ConnectedVia, VirtualMediaType

from wires.redfish.quirks import Quirks

DISC = frozenset({VirtualMediaType.CD, VirtualMediaType.DVD})
ENABLE = "AMIVirtualMedia.EnableRMedia"
"""AMI's action; without it there are no drives at all (NVIDIA libredfish)."""
UNAVAILABLE = (sushy.exceptions.MissingAttributeError, sushy.exceptions.ResourceNotFoundError)


def disc_drives(system: Any, managers: Sequence[Any], quirks: Quirks) -> list[Any]:
    """The drives that take a disc which boots, the System's before the Managers'."""
    found = {drive.path: drive for drives in _collections(system, managers) for drive in drives.get_members()}
    return [
        drive
        for drive in found.values()
        if DISC & set(drive.media_types or ()) and not quirks.refuses(str(drive.identity))
    ]


def image_in(drive: Any) -> str | None:
    """URL of its image as read last; Supermicro keeps the name after an eject, so `Inserted` decides."""
    if drive.inserted is False or drive.connected_via is ConnectedVia.NOT_CONNECTED:
        return None
    return drive.image or drive.image_name or ("an unnamed image" if drive.inserted else None)


def enabling_action(system: Any, managers: Sequence[Any]) -> str:
    """Path of the action that makes the BMC show its drives; empty where it has none."""
    collections = [drives.json for drives in _collections(system, managers)]
    return next((path for json in (*collections, *(m.json for m in managers)) if (path := _target(json))), "")


def _collections(system: Any, managers: Sequence[Any]) -> Iterator[Any]:
    for owner in (system, *managers):
        try:
            yield owner.virtual_media
        except UNAVAILABLE:
            continue


def _target(value: Any) -> str:
    """Where ENABLE is found, at any depth."""
    if not isinstance(value, dict):
        return ""
    for key, each in value.items():
        if key.endswith(ENABLE) and isinstance(each, dict):
            return str(each.get("target") or "")
        if path := _target(each):
            return path
    return ""
