"""The inputs of an image build, and their paths on this machine."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.binaries import coreos_installer_source, ensure_binary
from lab.cache import content_hash
from lab.shell import LabError
from testing import live_iso

GUEST = Path(__file__).parent.parent / "guest"
"""The guest's own files; its README describes them."""
BUSYBOX = Path("/bin/busybox")
"""The static one of busybox-static."""


@dataclass(frozen=True)
class Kernel:
    """Debian's cloud kernel, which has virtio drivers but none for real hardware."""

    release: str

    @property
    def image(self) -> Path:
        """The file that a boot loader starts."""
        return Path("/boot") / f"vmlinuz-{self.release}"

    @classmethod
    def newest(cls) -> "Kernel":
        """Return the newest kernel that is installed with its modules.

        Raises:
            LabError: No such kernel is installed.
        """
        images = [path for path in Path("/boot").glob("vmlinuz-*-cloud-amd64") if path.is_file()]
        releases = [path.name.removeprefix("vmlinuz-") for path in images]
        usable = [release for release in releases if (Path("/lib/modules") / release / "modules.dep").exists()]
        if not usable:
            raise LabError("no kernel /boot/vmlinuz-*-cloud-amd64 with modules. Fix: install linux-image-cloud-amd64")
        return cls(max(usable, key=_by_number))


def _by_number(release: str) -> list[int]:
    return [int(word) for word in release.replace(".", "-").split("-") if word.isdigit()]


@dataclass(frozen=True)
class Parts:
    """The inputs of a build, all present before it starts."""

    kernel: Kernel
    programs: dict[str, Path]
    """Programs built from source, by their name in the guest's /usr/bin."""
    installer_source: Path
    """The crate of coreos-installer, which contains its units and scripts."""

    @classmethod
    def gather(cls, report: Callable[[str], None], names: Sequence[str]) -> "Parts":
        """Find all inputs, and build the programs that are missing."""
        programs = {name: ensure_binary(name, report) for name in (*names, "coreos-installer")}
        return cls(Kernel.newest(), programs, coreos_installer_source(programs["coreos-installer"]))

    @functools.cached_property
    def key(self) -> str:
        """Hash of the guest's files, this builder, the kernel and the programs."""
        builder = (Path(__file__).parent, Path(__file__).parent.parent / "cache.py", Path(live_iso.__file__))
        return content_hash(GUEST, *builder, self.kernel.release, self.kernel.image, *map(_stamp, self._built))

    @property
    def _built(self) -> list[Path]:
        return [path for _, path in sorted(self.programs.items())]


def _stamp(program: Path) -> str:
    """Identify a built program by size and time, without reading its 20 to 40 MB: a build replaces the file."""
    status = program.stat()
    return f"{program.name} {status.st_size} {status.st_mtime_ns}"
