"""Build the EFI system partition that live ISO and installed disk share. Its loaders are signed for Secure Boot."""

import shutil
from pathlib import Path

from lab.images.parts import GUEST
from lab.shell import run

ESP_MIB = 6
_LOADERS = {
    "BOOTX64.EFI": Path("/usr/lib/shim/shimx64.efi.signed"),  # signed by Microsoft; starts the other
    "grubx64.efi": Path("/usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed"),  # signed by Debian, as its kernel is
}


def build_esp(work: Path) -> Path:
    """Write `work`/efiboot.img. Its loaders are at the path that firmware tries on an unknown medium."""
    tree, image = work / "esp", work / "efiboot.img"
    shutil.copytree(GUEST / "esp", tree)
    (tree / "EFI" / "BOOT").mkdir()
    for name, loader in _LOADERS.items():
        shutil.copy(loader, tree / "EFI" / "BOOT" / name)
    run("mkfs.vfat", "-n", "EFI-SYSTEM", "-C", image, str(ESP_MIB << 10))
    run("mcopy", "-s", "-i", image, tree / "EFI", "::")
    shutil.rmtree(tree)
    return image
