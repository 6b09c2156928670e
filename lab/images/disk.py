"""Build the disk of an installed guest, without mounting: loaders, boot partition, squashfs, space for the overlay.

coreos-installer requires a GPT, and one filesystem labelled `boot` with `ignition.firstboot` and loader entries.
"""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.images.esp import ESP_MIB
from lab.images.parts import GUEST, Kernel
from lab.shell import run

SECTOR = 512
_MIB_SECTORS = (1 << 20) // SECTOR
_GRUB = Path("/usr/lib/grub/i386-pc")  # of grub-pc-bin
_GRUB_CORE_MODULES = [
    "biosdisk",
    "part_gpt",
    "ext2",
    "normal",
    "test",
    "true",
    "echo",
    "configfile",
    "serial",
    "terminal",
]
# The modules that `insmod linux` in grub.cfg loads.
_GRUB_DISK_MODULES = ["linux", "relocator", "video", "video_fb", "vbe", "mmap", "boot", "priority_queue"]
_GRUB_FIRST_SECTOR = _MIB_SECTORS
_ESP_FIRST_SECTOR = 2 * _MIB_SECTORS
_BOOT_FIRST_SECTOR = _ESP_FIRST_SECTOR + ESP_MIB * _MIB_SECTORS
_BOOT_MIB = 28  # the initrd twice: coreos-installer copies it to append a keyfile; 24 is too small for that
_BIOS_BOOT_TYPE = "21686148-6449-6E6F-744E-656564454649"
# Offsets of the next sector to load: in GRUB's boot sector (GRUB_BOOT_MACHINE_KERNEL_SECTOR), and in the first sector
# of its core image (the first blocklist entry). grub-bios-setup would write them, but only into a block device.
_BOOT_SECTOR_POINTER = 0x5C
_CORE_BLOCKLIST_POINTER = 0x1F4
_BOOT_CODE_BYTES = 440  # the rest of the sector belongs to the partition table


@dataclass(frozen=True)
class DiskParts:
    """Files that make up a disk."""

    kernel: Kernel
    initrd: Path
    squashfs: Path
    esp: Path


def build_disk(parts: DiskParts, platform: str, work: Path) -> Path:
    """Write `work`/PLATFORM.raw, whose first boot runs Ignition for that platform.

    Its partitions: 1 GRUB for BIOS, 2 the loaders for UEFI, 3 boot, 4 the unchanged squashfs, 5 an empty one that the
    first boot grows and formats.
    """
    disk = work / f"{platform}.raw"
    boot = _boot_filesystem(parts, platform, work)
    squashfs_sectors = _whole_mib(parts.squashfs.stat().st_size)
    squashfs_start = _BOOT_FIRST_SECTOR + _BOOT_MIB * _MIB_SECTORS
    root_start = squashfs_start + squashfs_sectors
    with disk.open("wb") as image:
        image.truncate((root_start + 2 * _MIB_SECTORS) * SECTOR)  # 1 MiB of root and the backup table
    layout = [
        "label: gpt",
        f"start={_GRUB_FIRST_SECTOR}, size={_MIB_SECTORS}, type={_BIOS_BOOT_TYPE}, name=BIOS-BOOT",
        f"start={_ESP_FIRST_SECTOR}, size={ESP_MIB * _MIB_SECTORS}, type=uefi, name=EFI-SYSTEM",
        f"start={_BOOT_FIRST_SECTOR}, size={_BOOT_MIB * _MIB_SECTORS}, type=linux, name=boot",
        f"start={squashfs_start}, size={squashfs_sectors}, type=linux, name=usr",
        f"start={root_start}, size={_MIB_SECTORS}, type=linux, name=root",
    ]
    run("sfdisk", "--quiet", disk, stdin="\n".join(layout) + "\n")
    with disk.open("r+b") as image:
        _write_grub(image.fileno(), work / f"grub-{platform}.img")
        os.pwrite(image.fileno(), parts.esp.read_bytes(), _ESP_FIRST_SECTOR * SECTOR)
        os.pwrite(image.fileno(), boot.read_bytes(), _BOOT_FIRST_SECTOR * SECTOR)
        os.pwrite(image.fileno(), parts.squashfs.read_bytes(), squashfs_start * SECTOR)
    boot.unlink()
    return disk


def _whole_mib(size: int) -> int:
    return -(-size // (1 << 20)) * _MIB_SECTORS


def _boot_filesystem(parts: DiskParts, platform: str, work: Path) -> Path:
    tree, image = work / f"boot-{platform}", work / f"boot-{platform}.ext4"
    shutil.copytree(GUEST / "boot", tree)
    entry = tree / "loader" / "entries" / "ostree-1-lab.conf"
    entry.write_text(entry.read_text().replace("@PLATFORM@", platform))
    (tree / "ignition.firstboot").touch()
    (tree / "lab").mkdir()
    shutil.copy(parts.kernel.image, tree / "lab" / "vmlinuz")
    shutil.copy(parts.initrd, tree / "lab" / "initrd.img")
    modules = tree / "grub2" / "i386-pc"
    modules.mkdir()
    for name in (*(f"{module}.mod" for module in _GRUB_DISK_MODULES), "moddep.lst"):
        shutil.copy(_GRUB / name, modules)
    run("mke2fs", "-q", "-t", "ext4", "-b", "4096", "-m", "0", "-L", "boot", "-d", tree, image, f"{_BOOT_MIB}M")
    shutil.rmtree(tree)
    return image


def _write_grub(disk: int, core_file: Path) -> None:
    """Write GRUB's boot sector and core image, each with a pointer to the sector that it loads next."""
    run("grub-mkimage", "-O", "i386-pc", "-p", "(,gpt3)/grub2", "-o", core_file, *_GRUB_CORE_MODULES)
    core = _with_pointer(core_file.read_bytes(), _CORE_BLOCKLIST_POINTER, _GRUB_FIRST_SECTOR + 1)
    sector = _with_pointer((_GRUB / "boot.img").read_bytes(), _BOOT_SECTOR_POINTER, _GRUB_FIRST_SECTOR)
    os.pwrite(disk, sector[:_BOOT_CODE_BYTES], 0)
    os.pwrite(disk, core, _GRUB_FIRST_SECTOR * SECTOR)
    core_file.unlink()


def _with_pointer(code: bytes, offset: int, sector: int) -> bytes:
    return code[:offset] + sector.to_bytes(8, "little") + code[offset + 8 :]


def partition_ranges(disk: Path, names: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return the first byte, and the byte after the last, of each named partition, in disk order."""
    table = json.loads(run("sfdisk", "--json", disk))["partitiontable"]["partitions"]
    wanted = [entry for entry in table if entry.get("name") in names]
    return [(entry["start"] * SECTOR, (entry["start"] + entry["size"]) * SECTOR) for entry in wanted]
