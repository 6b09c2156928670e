"""The lab's live system, as the real coreos-installer and isoinfo read its files."""

import gzip
import hashlib
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from boot_media.tools import find_coreos_installer
from lab.images import iso, live
from lab.images.cpio import Archive
from lab.images.disk import DiskParts
from lab.images.live import Live, build_live
from lab.images.parts import Kernel

# No length is a multiple of 4, of a block or of a sector, but that of the ESP.
SQUASHFS, VMLINUZ, ESP = b"hsqs" + b"root " * 1001, b"kernel " * 733, b"esp loaders " * 512
INITRD = gzip.compress(b"initrd of the disk", mtime=0) + b"xyz"
DISK = b"".join((bytes(4096), ESP, b"\1" * 100, VMLINUZ, b"\2", INITRD, b"\3" * 5000, SQUASHFS, bytes(900)))
RANGES = [(4096, 4096 + len(ESP)), (4096 + len(ESP), DISK.index(SQUASHFS)), (DISK.index(SQUASHFS), len(DISK))]


@dataclass(frozen=True)
class _Kernel(Kernel):
    file: Path

    @property
    def image(self) -> Path:
        return self.file


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Live:
    """Build the live system of a disk whose parts are these bytes, in `tmp_path`."""
    monkeypatch.setattr(live, "partition_ranges", lambda *_: RANGES)
    files = {"vmlinuz": VMLINUZ, "initrd": INITRD, "squashfs": SQUASHFS, "esp": ESP, "disk": DISK}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    kernel = _Kernel("test", tmp_path / "vmlinuz")
    parts = DiskParts(kernel, tmp_path / "initrd", tmp_path / "squashfs", tmp_path / "esp")
    return build_live(parts, tmp_path / "disk", tmp_path)


@pytest.fixture
def image(built: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Build the ISO of that system, without the files of isolinux."""
    monkeypatch.setattr(iso, "_ISOLINUX_FILES", ())
    monkeypatch.setattr(iso, "_BOOT_OPTIONS", ("-b", live.ESP, "-c", "isolinux/boot.cat", "-no-emul-boot"))
    return iso.build_iso(built, tmp_path)


def _extracted(archive: Path, folder: Path) -> Path:
    folder.mkdir()
    subprocess.run([find_coreos_installer(), "dev", "extract", "initrd", "-C", folder, archive], check=True)
    return folder


def test_the_root_is_at_the_offset_from_which_init_mounts_it(built: Live) -> None:
    assert built.rootfs.read_bytes()[124:].startswith(SQUASHFS)


def test_the_members_of_the_rootfs_are_whole(built: Live, tmp_path: Path) -> None:
    tree = _extracted(built.rootfs, tmp_path / "tree")
    files = {str(path.relative_to(tree)): path for path in tree.rglob("*") if path.is_file()}
    contents = {name: path.read_bytes() for name, path in files.items() if name != "lab.osmet"}
    assert contents == {
        "root.squashfs": SQUASHFS,
        "images/pxeboot/vmlinuz": VMLINUZ,
        "images/efiboot.img": ESP,
        "lab/initrd.img": INITRD,
        "etc/coreos-live-rootfs": b"okd-lab\n",
    }
    assert "lab.osmet" in files


def test_the_osmet_file_takes_parts_of_the_disk_from_the_rootfs(built: Live, tmp_path: Path) -> None:
    osmet = (_extracted(built.rootfs, tmp_path / "tree") / "lab.osmet").read_bytes()
    # Offset in the rootfs, offset in the partition, size, and the rootfs's own name; \xfb says that 16 bits follow.
    assert b"\x7c\x00\xfb\x91\x13" + bytes(32) in osmet  # the squashfs
    assert b"\xfb\x00\x18\x64\xfb\x0b\x14" + bytes(32) in osmet  # the kernel
    assert len(osmet) < 1000  # the parts are not in it


def test_the_initrd_goes_on_with_the_digest_of_the_rootfs(built: Live, tmp_path: Path) -> None:
    whole = built.initrd.read_bytes()
    assert whole.startswith(INITRD)
    assert whole.index(b"070701") % 4 == 0  # else the kernel takes it for junk
    tail = tmp_path / "tail"
    tail.write_bytes(whole[whole.index(b"070701") :])
    wanted = _extracted(tail, tmp_path / "tree") / "etc/coreos-live-want-rootfs"
    assert wanted.read_text() == f"{hashlib.sha256(built.rootfs.read_bytes()).hexdigest()}\n"


def test_a_member_starts_where_it_was_asked_to_and_is_read_there(tmp_path: Path) -> None:
    target = tmp_path / "archive"
    with target.open("wb") as file:
        archive = Archive(file)
        assert archive.add("first", b"a") % 4 == 0
        offset = archive.add("second", b"bb", alignment=2048)
        archive.end()
    assert offset == 2048
    assert target.read_bytes()[2048:2050] == b"bb"
    assert (_extracted(target, tmp_path / "tree") / "second").read_bytes() == b"bb"


@pytest.mark.parametrize(("name", "content"), [(live.VMLINUZ, VMLINUZ), (live.ESP, ESP)])
def test_the_iso_has_a_file_of_the_rootfs_once(image: Path, name: str, content: bytes) -> None:
    read = subprocess.run(["isoinfo", "-R", "-i", image, "-x", f"/{name}"], check=True, capture_output=True).stdout
    assert read == content
    assert image.read_bytes().count(content) == 1


def test_the_boot_catalog_has_the_esp(image: Path) -> None:
    listing = subprocess.run(["isoinfo", "-d", "-i", image], check=True, capture_output=True, text=True).stdout
    sectors, first = (int(re.findall(rf"{word} +(\w+)", listing)[0], 16) for word in ("Nsect", "Bootoff"))
    assert sectors * 512 == len(ESP)
    assert image.read_bytes()[first * 2048 :].startswith(ESP)
