"""The disk that ironic chooses, written from its sources and metal3's; `boot_media.disk` names them.

Two differences are on purpose, and both refuse more: ironic compares a property that a disk lacks as the word `none`,
so that the vendor `one` fits each disk without a vendor; and it compares texts percent-encoded, so that the model
`20` fits each model with a space.
"""

from collections.abc import Callable, Mapping, Sequence

from cluster.values.disk_hints import Hints
from testing.live_disks import Device

GIB = 1024**3


def candidates(devices: Sequence[Device]) -> list[Device]:
    """`list_all_block_devices`, with multipath on; lsblk sorts by number, and may name a device under each parent."""
    return sorted({device.number: device for device in devices if _counts(device)}.values(), key=lambda d: d.number)


def _counts(device: Device) -> bool:
    if device.kname.startswith(("fd", "ram", "zram")) or device.size == 0:
        return False
    if device.udev.get("DM_MULTIPATH_DEVICE_PATH") == "1":
        return False
    return device.kind in {"disk", "mpath"} or "raid" in device.kind


def chosen(devices: Sequence[Device], hints: Hints, links: Mapping[str, str]) -> str | None:
    """`get_os_install_device` with metal3's hints, or with its default."""
    disks = candidates(devices)
    if hints:
        fitting = [disk for disk in disks if all(_fits(disk, name, hints[name], links) for name in hints)]
        return fitting[0].path if fitting else None
    large = sorted((disk for disk in disks if disk.size >= 4 * GIB), key=lambda disk: (disk.size, disk.path))
    first = [disk for disk in large if disk.path == "/dev/sda"]
    return (first + large)[0].path if large else None


def _fits(device: Device, hint: str, wanted: str, links: Mapping[str, str]) -> bool:
    if hint == "minSizeGigabytes":
        return device.size / GIB >= int(wanted)
    if hint == "rotational":
        return device.rotational is (wanted == "true")
    want = wanted.strip().lower()
    values = [value.strip().lower() for value in _values(device, links)[hint]]
    compare: Callable[[str], bool] = want.__eq__ if hint not in {"model", "vendor"} else lambda value: want in value
    return bool(want) and any(compare(value) for value in values if value)


def _values(device: Device, links: Mapping[str, str]) -> dict[str, list[str]]:
    def udev(name: str) -> str:
        return device.udev.get(f"ID_{name}") or device.udev.get(f"DM_{name}") or ""

    return {
        "deviceName": [device.path, *(link for link, target in links.items() if target == device.path)],
        "model": [device.model],
        "vendor": [device.vendor],
        "serialNumber": [device.serial, udev("SERIAL_SHORT"), udev("SERIAL")],
        "wwn": [device.wwn, udev("WWN")],
        "wwnWithExtension": [udev("WWN_WITH_EXTENSION")],
        "wwnVendorExtension": [udev("WWN_VENDOR_EXTENSION")],
        "hctl": [device.hctl],
    }
