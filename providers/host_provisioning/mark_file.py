"""The marks of installations that have ended, in files on the provisioner."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from base.files import PRIVATE_FOLDER, read_file, write_private
from base.progress import Say
from base.spec import Model
from boot_media.tools import cache_dir
from wires.bmc.client import Identity
from wires.bmc.identity import MachineId, is_one_machine


class _Marked(Model):
    machine: MachineId
    iso_sha256: str


@dataclass(frozen=True)
class MarkFile:
    """Implements `Mark`. Without its file, an installation goes by what the BMC and the cluster show."""

    path: Path
    warn: Say

    @classmethod
    def of(cls, bmc_address: str, warn: Say) -> Self:
        """Return the mark of the system at a BMC's address."""
        return cls(cache_dir() / "installed" / f"{hashlib.sha256(bmc_address.encode()).hexdigest()[:24]}.json", warn)

    def is_of(self, machine: Identity, iso_sha256: str) -> bool:
        """See `Mark`."""
        try:
            marked = _Marked.model_validate_json(read_file(self.path))
        except (OSError, ValueError):
            return False
        return marked.iso_sha256 == iso_sha256 and is_one_machine(marked.machine.identity, machine)

    def set(self, machine: Identity, iso_sha256: str) -> None:
        """See `Mark`. A disk that is full must not stop an installation."""
        marked = _Marked(machine=MachineId(uuid=machine.uuid, serial=machine.serial), iso_sha256=iso_sha256)
        try:
            self.path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            write_private(self.path, marked.model_dump_json())
        except OSError as error:
            self.warn(f"{self.path}: cannot be written, so a run after a kill may install the server again: {error}")

    def remove(self) -> None:
        """See `Mark`."""
        with suppress(FileNotFoundError):
            self.path.unlink()
