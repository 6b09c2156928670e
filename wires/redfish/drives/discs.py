"""The virtual CD drives of a system. Newer firmware has them on the System, older firmware on the Manager."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import sushy
from sushy.resources.manager.constants import ConnectedVia, VirtualMediaType

from wires.redfish.client.quirks import Quirks
from wires.redfish.client.refusals import NOT_NOW_WORDS, UNUSABLE
from wires.redfish.client.resources import reread
from wires.redfish.client.shapes import text
from wires.redfish.drives.trust import MediaTrust
from wires.redfish.drives.unusable import explained, refuse_dpu, taking_none

DISC = frozenset({VirtualMediaType.CD, VirtualMediaType.DVD})
NO_DISC = re.compile("fd|floppy|hd|usb", re.IGNORECASE)
"""The start of the Ids of drives that take no disc, for a BMC that reports no MediaTypes (AMI: CD1, HD1, FD1)."""
ENABLE = ".EnableRMedia"
"""The end of the name of AMI's action that switches virtual media on. Before it, some BMCs list no drives."""
ACTIONS = INSERT, EJECT = "#VirtualMedia.InsertMedia", "#VirtualMedia.EjectMedia"
UNKNOWN_PROPERTY = re.compile("Property(NotWritable|Unknown)")
"""MessageIds of a BMC that refuses a property, which has only Image that can be written (community.general: iLO4)."""
NOT_THIS_DRIVE = frozenset({400, 404, 405, 501})


@dataclass
class DiscDrives:
    """The drives of a system that take a bootable disc.

    Args:
        where: URL of the system.
        system: The system, as it was when they were read.
        usable: The drives that boot, best first; the first that takes an image is used.
        watched: The drives that are read to learn which image is inserted: those that were full, or the one in use.
        enable: Path of the action that switches virtual media on, if none are listed before.
        unread: The drives that may have an image and could not be read, by path, and why. They are left out.
    """

    where: str
    system: Any
    usable: list[Any]
    watched: list[Any]
    enable: str = ""
    unread: dict[str, Exception] = field(default_factory=dict)
    _trust: MediaTrust = field(default_factory=MediaTrust)

    @classmethod
    def read(cls, where: str, system: Any, managers: Sequence[Any], quirks: Quirks) -> Self:
        """Read all drives that System and Managers link.

        Raises:
            BmcRefusedError: None of them takes an image. The message has what was found instead.
            ResourceNotFoundError: None of them takes an image, and the BMC has not what it links: it may be starting.
        """
        refuse_dpu(where, system)
        unlisted, failed = list[Exception](), dict[str, Exception]()
        listings = list(_listings(system, managers, unlisted))
        drives = list({drive.path: drive for drive in _drives(listings, failed)}.values())
        discs = [drive for drive in drives if _takes_disc(drive)]
        usable = [drive for drive in discs if not quirks.refuses(str(drive.identity))]
        if not usable and (unreadable := [*unlisted, *failed.values()]):
            raise unreadable[0]
        if not usable and (enable := _enabling_action(listings, system, managers)):
            return cls(where, system, [], [], enable)
        if not usable:
            raise explained(where, system, managers, listings, drives)
        if not any(map(_has_action, usable)) and not any(drive._allow_patch() for drive in usable):
            raise taking_none(where, system, usable)
        watched = [drive for drive in discs if image_in(drive)] or usable[:1]
        unread = {path: error for path, error in failed.items() if _may_have_image(path, error)}
        return cls(where, system, usable, watched, unread=unread)

    @property
    def image(self) -> str | None:
        """URL of the first image, as last read. None: all drives are empty."""
        return next((image for drive in self.watched if (image := image_in(drive))), None)

    def reread(self) -> None:
        """Read the watched drives up to the first that is full. The last stays, since an insert may show late."""
        for drive in list(self.watched):
            reread(drive)
            if image_in(drive):
                return
            if len(self.watched) > 1:
                self.watched.remove(drive)

    def insert(self, url: str, certificate: str = "") -> None:
        """Insert an image into the first drive that takes it, which verifies its server by the certificate."""
        refused: Exception = taking_none(self.where, self.system, self.usable)
        for drive in self.usable:
            self.watched = [drive]
            try:
                self._trust.give(drive, certificate)
                _insert(drive, url)
            except sushy.exceptions.MissingActionError:
                pass
            except sushy.exceptions.HTTPError as error:
                passing = any(word in str(error) for word in NOT_NOW_WORDS)
                if passing or error.status_code not in NOT_THIS_DRIVE:
                    raise
                refused = error
            else:
                return
            self._trust.take_back(drive)
        raise refused

    def trust(self, certificate: str) -> None:
        """Have the drives that are full verify the server of their image by another certificate."""
        for drive in self.watched:
            if image_in(drive):
                self._trust.give(drive, certificate)

    def eject(self) -> None:
        """Empty all drives. Read afterwards: sushy returns normally even if the BMC refuses."""
        for drive in self.watched:
            if image_in(drive):
                self._trust.take_back(drive)
                _eject(drive)


def image_in(drive: Any) -> str | None:
    """Return the URL of a drive's image, as last read. `Inserted` counts: Supermicro keeps the URL after an eject."""
    if drive.inserted is False or drive.connected_via is ConnectedVia.NOT_CONNECTED:
        return None
    return text(drive.image) or text(drive.image_name) or ("an unnamed image" if drive.inserted else None)


def _insert(drive: Any, url: str) -> None:
    if drive.image:
        # After an eject, AMI still names the image, and refuses to insert it again. Supermicro's X13 names it too,
        # has no eject for an empty drive, and inserts nevertheless.
        with suppress(sushy.exceptions.MissingActionError):
            _eject(drive)
    if _is_patched(drive, INSERT):
        _patch(drive, {"Image": url}, {"Inserted": True, "WriteProtected": True})
    else:
        drive.insert_media(url)


def _eject(drive: Any) -> None:
    if _is_patched(drive, EJECT):
        _patch(drive, {"Image": None}, {"Inserted": False})
    else:
        drive.eject_media()


def _is_patched(drive: Any, instead_of: str) -> bool:
    """Whether a drive takes a PATCH instead of an action, for want of actions.

    Raises:
        MissingActionError: It takes no PATCH either.
    """
    if _has_action(drive):
        return False
    if not drive._allow_patch():
        raise sushy.exceptions.MissingActionError(action=instead_of, resource=drive.path)
    return True


def _patch(drive: Any, image: dict[str, Any], more: dict[str, Any]) -> None:
    """Fill or empty a drive without actions: with what Lenovo wants beside the image, else as an iLO4 takes it."""
    try:
        drive._conn.patch(drive.path, data=image | more, etag=drive._get_etag())
    except sushy.exceptions.BadRequestError as error:
        if not UNKNOWN_PROPERTY.search(str(error)):
            raise
        drive._conn.patch(drive.path, data=image, etag=drive._get_etag())
    drive.invalidate()


def _takes_disc(drive: Any) -> bool:
    if drive.json.get("MediaTypes"):
        return bool(DISC & set(drive.media_types))
    return not NO_DISC.match(str(drive.identity))


def _has_action(drive: Any) -> bool:
    """Whether images can be inserted by an action. Supermicro's X13 has only EjectMedia while the drive is full."""
    actions = drive.json.get("Actions") or {}
    return any(action in actions for action in ACTIONS)


def _listings(system: Any, managers: Sequence[Any], unreadable: list[Exception]) -> Iterator[Any]:
    """Yield the lists of drives. The error of one that is linked and not there is added to `unreadable`."""
    for owner in (system, *managers):
        try:
            yield owner.virtual_media
        except sushy.exceptions.MissingAttributeError:
            continue
        except sushy.exceptions.ResourceNotFoundError as error:
            unreadable.append(error)


def _drives(listings: Sequence[Any], failed: dict[str, Exception]) -> Iterator[Any]:
    """Yield the drives of all listings. Errors of drives are put into `failed` by path: another drive may do."""
    for listing in listings:
        for path in listing.members_identities:
            try:
                yield listing.get_member(path)
            except (sushy.exceptions.AccessError, sushy.exceptions.ConnectionError):
                raise
            except UNUSABLE as error:
                failed[path] = error


def _may_have_image(path: str, error: Exception) -> bool:
    """Whether a drive that cannot be read may have a disc's image: one that is not there has none."""
    is_there = not isinstance(error, sushy.exceptions.ResourceNotFoundError)
    return is_there and not NO_DISC.match(path.rpartition("/")[2])


def _enabling_action(listings: Sequence[Any], system: Any, managers: Sequence[Any]) -> str:
    """Return the path of the action that switches virtual media on. Empty if the BMC has none."""
    return next((path for resource in (*listings, system, *managers) if (path := _target(resource.json))), "")


def _target(value: Any) -> str:
    """Return the target of the action `ENABLE`, which may be at any depth."""
    if not isinstance(value, dict):
        return ""
    for key, member in value.items():
        if key.endswith(ENABLE) and isinstance(member, dict):
            return str(member.get("target") or "")
        if path := _target(member):
            return path
    return ""
