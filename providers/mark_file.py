"""The marks of installations that have ended, in files on the provisioner."""

import hashlib
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
        return cls(_folder() / f"{hashlib.sha256(bmc_address.encode()).hexdigest()[:24]}.json", warn)

    def read(self) -> Ended | None:
        """See `Mark`."""
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
    """Return the marks of all installations from this provisioner."""
    return [ended for path in sorted(_folder().glob("*.json")) if (ended := _read(path))]


def _read(path: Path) -> Ended | None:
    try:
        marked = _Marked.model_validate_json(read_file(path))
    except (OSError, ValueError):
        return None
    return Ended(marked.machine.identity, marked.iso_sha256, marked.address)


def _folder() -> Path:
    return cache_dir() / "installed"
