"""Network boot of a boot ISO: iPXE starts the files inside it that its own boot menu would start.

The embed area of a live ISO is a file that the boot menu names as the second initrd. So a host that boots from the
network gets the very bytes of its boot ISO, and needs no other tool and no other file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

from boot_media.architecture import KERNEL
from boot_media.iso9660 import Span, span_of_file

ROOTFS = "rootfs.img"
EMBED_AREA = "ignition.img"
FILES = {
    "vmlinuz": KERNEL,
    "initrd.img": "IMAGES/PXEBOOT/INITRD.IMG",
    ROOTFS: "IMAGES/PXEBOOT/ROOTFS.IMG",
}
"""The files of a live system, by their names in ISO 9660; the embed area is where the tool says."""

# `exit` goes on to the firmware's next boot device: a host that nobody installs boots from its disk.
BOOT_SCRIPT_TEXT = "#!ipxe\nchain --replace hosts/${netX/mac:hexhyp}.ipxe || exit\n"
TRIES, PAUSE_S = 60, 5
"""How often iPXE asks again for a file, and how long it waits before: the VIP that it asks may just move."""
_ISO_ARGUMENT = re.compile(r"coreos\.liveiso=\S*\s*")


@dataclass(frozen=True)
class LiveFiles:
    """What of a boot ISO the network serves."""

    spans: Mapping[str, Span]
    """Where each file is in the ISO."""
    arguments: str
    """The kernel arguments of its boot menu, without the one by which the live system reads a CD."""


def live_files(iso: IO[bytes], embed_area: Span, arguments: str) -> LiveFiles | None:
    """Return the files of a live ISO. None: it has no live system.

    Args:
        iso: The ISO.
        embed_area: Where it keeps room for Ignition.
        arguments: The kernel arguments of its boot menu.
    """
    spans = {name: span for name, path in FILES.items() if (span := span_of_file(iso, path))}
    if spans.keys() != FILES.keys():
        return None
    return LiveFiles({**spans, EMBED_AREA: embed_area}, _ISO_ARGUMENT.sub("", arguments).strip())


def script_name(mac: str) -> str:
    """Return the path of a host's script, which `BOOT_SCRIPT_TEXT` asks for."""
    return f"hosts/{mac.replace(':', '-')}.ipxe"


def host_script(files: str, arguments: str) -> str:
    """Return the script that starts the live system of a host.

    Args:
        files: URL of the folder with its files.
        arguments: The kernel arguments of its boot ISO.
    """
    # With UEFI, the kernel finds the initrds by these arguments; with BIOS, iPXE joins them in this order.
    initrds = " ".join(f"initrd={name}" for name in ("initrd.img", EMBED_AREA))
    return f"""#!ipxe
:try
imgfree
kernel {files}/vmlinuz {initrds} {arguments} coreos.live.rootfs_url={files}/{ROOTFS} || goto again
initrd --name initrd.img {files}/initrd.img || goto again
initrd --name {EMBED_AREA} {files}/{EMBED_AREA} || goto again
boot
:again
inc tries
iseq ${{tries}} {TRIES} && exit ||
sleep {PAUSE_S}
goto try
"""
