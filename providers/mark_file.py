"""The marks of installations that have ended, in files on the provisioner."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from base.errors import ProvisioningError
from base.files import PRIVATE_FOLDER, read_file, write_private
from base.progress import Say
from base.spec import Model
from boot_media.tools import cache_dir
from wires.bmc.client import Identity
from wires.bmc.identity import MachineId

SUFFIX = ".json"


@dataclass(frozen=True)
class Ended:
    """An installation that has ended: the machine boots from its disk from now on."""

    machine: Identity
    iso_sha256: str
    address: str = ""
    """The node's, once its system has come up; empty before."""


class _Marked(Model):
    machine: MachineId
    iso_sha256: str
    address: str = ""


@dataclass(frozen=True)
class MarkFile:
    """Implements `Mark`. Without its file, an installation goes by what the BMC and the cluster show."""

    path: Path
    warn: Say

    @classmethod
    def of(cls, bmc_address: str, warn: Say) -> Self:
        """Return the mark of the system at a BMC's address."""
        return cls(marks_folder() / f"{hashlib.sha256(bmc_address.encode()).hexdigest()[:24]}{SUFFIX}", warn)

    def read(self) -> Ended | None:
        """See `Mark`.

        Raises:
            ProvisioningError: The file is there, and cannot be read: what it says is unknown.
        """
        return _read(self.path)

    def set(self, ended: Ended) -> None:
        """See `Mark`. A disk that is full must not stop an installation."""
        machine = MachineId(uuid=ended.machine.uuid, serial=ended.machine.serial)
        marked = _Marked(machine=machine, iso_sha256=ended.iso_sha256, address=ended.address)
        try:
            self.path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            write_private(self.path, marked.model_dump_json())
        except OSError as error:
            self.warn(f"{self.path}: cannot be written, so a run after a kill may install the server again: {error}")

    def remove(self) -> None:
        """See `Mark`.

        Raises:
            ProvisioningError: It stays, and the next run would boot the disk that it is about.
        """
        try:
            self.path.unlink()
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            what, fix = f"cannot be removed: {error.strerror}", "remove it, then run `pulumi up` again"
            raise ProvisioningError(what, where=str(self.path), fix=fix) from None


def marks() -> list[Ended]:
    """Return the marks of all installations from this provisioner.

    Raises:
        ProvisioningError: One of them cannot be read, or their folder.
    """
    try:
        names = sorted(os.listdir(marks_folder()))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(marks_folder(), str(error.strerror)) from None
    return [ended for name in names if name.endswith(SUFFIX) and (ended := _read(marks_folder() / name))]


def _read(path: Path) -> Ended | None:
    try:
        marked = _Marked.model_validate_json(read_file(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from None
    except ValueError:
        raise _unreadable(path, "its content is damaged") from None
    return Ended(marked.machine.identity, marked.iso_sha256, marked.address)


def _unreadable(path: Path, why: str) -> ProvisioningError:
    what = f"cannot be read ({why}), so nobody knows what was installed from here"
    fix = "have this user read it; or, once each installed server is on, remove it; then run `pulumi up` again"
    return ProvisioningError(what, where=str(path), fix=fix)


def marks_folder() -> Path:
    """Return where the marks of all installations from this provisioner are."""
    return cache_dir() / "installed"
