"""Stale disks: the script itself, on servers with what earlier installations have left, and on real file systems."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from testing.live_disks import Device, Part, environment, run_script, write_script
from testing.skips import NO_ROOT

ROOT = Device((8, 0), "sda", 64 * 2**30, serial="S-ROOT", wwn="0x5000c500000000a1")
DATA = Device((8, 16), "sdb", 64 * 2**30, serial="S-DATA", wwn="0x5000c500000000a2")
MORE = Device((8, 32), "sdc", 64 * 2**30, serial="S-MORE", wwn="0x5000c500000000a3")
HINTS = {"serialNumber": "s-root"}
IS_DATA = (
    "deviceName: /dev/sdb, minSizeGigabytes: 64, rotational: false, serialNumber: S-DATA, wwn: 0x5000c500000000a2"
)
IS_ROOT = IS_DATA.replace("sdb", "sda").replace("DATA", "ROOT").replace("a2", "a1")


def coreos(disk: Device) -> Device:
    """Return the disk with an installed CoreOS (coreos-assembler: EFI-SYSTEM, boot, root)."""
    labels = {2: "EFI-SYSTEM", 3: "boot", 4: "root"}
    parts = [Part(f"{disk.kname}{n}", disk.kname, file_system="ext4", label=label) for n, label in labels.items()]
    return replace(disk, parts=parts)


def mirrored(disk: Device, *, label: str = "boot") -> Device:
    """Return the disk as half of a mirror by `mdadm`, on its first partition, which the live system has assembled."""
    member = Part(f"{disk.kname}1", disk.kname, file_system="linux_raid_member", label="any:md-boot")
    return replace(disk, parts=[member, Part("md127", member.kname, "raid1", "ext4", label)])


def physical_volume(disk: Device) -> Device:
    """Return the disk as a whole physical volume of LVM, with an active logical volume."""
    return replace(disk, file_system="LVM2_member", parts=[Part("dm-0", disk.kname, "lvm", "xfs", "data")])


BOOT_3 = "/dev/sdb3 is labelled boot, as a file system of the installed system"


def test_a_stale_coreos_on_another_disk_is_refused_with_the_disk(tmp_path: Path) -> None:
    """`System has 2 devices with a filesystem labeled 'boot'` (fedora-coreos-tracker#976, coreos-installer#1731)."""
    run = run_script(tmp_path, (ROOT, coreos(DATA), MORE), HINTS)
    assert run.report == f"stale {BOOT_3}: {IS_DATA}"
    assert run.console == f"okd-baremetal: stale: {BOOT_3}: {IS_DATA}\n"
    assert (run.code, run.settings, run.wipes) == (1, "", ())


@pytest.mark.parametrize("name", ["s-data ", "0X5000C500000000A2"])
def test_a_stale_coreos_is_wiped_if_its_disk_is_named(name: str, tmp_path: Path) -> None:
    run = run_script(tmp_path, (ROOT, coreos(DATA), MORE), HINTS, wipe_disks=["other", name])
    erased = ("sdb4", "sdb3", "sdb2", "sdb")
    assert run.wipes == tuple(f"wipefs --all --force /dev/{device}" for device in erased)
    assert run.settings == "dest-device: /dev/sda\n"
    assert run.report == f"chosen {IS_ROOT}"


def test_nothing_is_wiped_while_a_stale_disk_is_not_named(tmp_path: Path) -> None:
    run = run_script(tmp_path, (ROOT, coreos(DATA), coreos(MORE)), HINTS, wipe_disks=["S-DATA"])
    assert (run.code, run.settings, run.wipes) == (1, "", ())
    assert run.report.startswith("stale /dev/sdc3 is labelled boot")
    assert "S-DATA" not in run.report


def test_a_name_that_two_disks_have_wipes_neither(tmp_path: Path) -> None:
    """The namespaces of an NVMe drive have its serial number, and each a WWN of its own."""
    for name in ("refused", "wiped"):
        (tmp_path / name).mkdir()
    devices = (ROOT, coreos(DATA), replace(MORE, serial=DATA.serial))
    refused = run_script(tmp_path / "refused", devices, HINTS, wipe_disks=["S-DATA"])
    assert (refused.code, refused.settings, refused.wipes) == (1, "", ())
    assert refused.report == f"stale {BOOT_3}, and wipe_disks has s-data, which is not its own name: {IS_DATA}"
    wiped = run_script(tmp_path / "wiped", devices, HINTS, wipe_disks=["S-DATA", DATA.wwn])
    assert wiped.wipes[-1] == "wipefs --all --force /dev/sdb"
    assert wiped.settings == "dest-device: /dev/sda\n"


@pytest.mark.parametrize(
    "devices",
    [
        pytest.param((coreos(ROOT), DATA), id="coreos-on-the-chosen-disk"),
        pytest.param((ROOT, physical_volume(DATA)), id="lvm-on-another-disk"),
        pytest.param((ROOT, mirrored(DATA, label="data"), mirrored(MORE, label="data")), id="raid-on-others"),
    ],
)
def test_what_the_installed_system_bears_is_left_alone(devices: Sequence[Device], tmp_path: Path) -> None:
    run = run_script(tmp_path, devices, HINTS, wipe_disks=["S-ROOT", "S-DATA"])
    assert (run.code, run.settings, run.wipes) == (0, "dest-device: /dev/sda\n", ())


@pytest.mark.parametrize(
    ("disk", "where", "kind", "stops"),
    [
        (mirrored(ROOT), "sda1", "linux_raid_member", "mdadm --stop /dev/md127"),
        (physical_volume(ROOT), "sda", "LVM2_member", "dmsetup remove --retry /dev/dm-0"),
        (replace(ROOT, file_system="isw_raid_member"), "sda", "isw_raid_member", None),
    ],
    ids=["raid", "lvm", "firmware-raid"],
)
def test_an_old_raid_or_lvm_on_the_chosen_disk_is_refused_or_wiped(
    disk: Device, where: str, kind: str, stops: str | None, tmp_path: Path
) -> None:
    """It is in use, so coreos-installer finds busy partitions; or its superblock at the disk's end outlives that."""
    for name in ("refused", "wiped"):
        (tmp_path / name).mkdir()
    refused = run_script(tmp_path / "refused", (disk,), HINTS)
    assert refused.report == f"stale /dev/{where} is of an old RAID or LVM ({kind}): {IS_ROOT}"
    assert (refused.code, refused.wipes) == (1, ())
    wiped = run_script(tmp_path / "wiped", (disk,), HINTS, wipe_disks=["S-ROOT"])
    erased = [where] if where == "sda" else [where, "sda"]
    assert wiped.wipes == (*([stops] if stops else []), *(f"wipefs --all --force /dev/{name}" for name in erased))
    assert wiped.settings == "dest-device: /dev/sda\n"


def test_each_half_of_a_stale_mirror_needs_its_own_consent(tmp_path: Path) -> None:
    run = run_script(tmp_path, (ROOT, mirrored(DATA), mirrored(MORE)), HINTS, wipe_disks=["S-DATA"])
    assert (run.code, run.wipes) == (1, ())
    assert run.report.startswith("stale /dev/md127 is labelled boot, as a file system of the installed system: ")
    assert "S-MORE" in run.report


def test_a_raid_that_is_chosen_does_not_make_its_own_disks_stale(tmp_path: Path) -> None:
    raid = Device((9, 127), "md127", 64 * 2**30, kind="raid1", file_system="ext4", label="boot")
    run = run_script(tmp_path, (mirrored(DATA), mirrored(MORE), raid), {"deviceName": "/dev/md127"})
    assert (run.code, run.settings) == (0, "dest-device: /dev/md127\n")


def test_a_half_of_a_mirror_is_stale_though_the_chosen_disk_has_the_other(tmp_path: Path) -> None:
    run = run_script(tmp_path, (mirrored(ROOT), mirrored(DATA)), HINTS, wipe_disks=["S-ROOT"])
    assert (run.code, run.wipes) == (1, ())
    assert "S-DATA" in run.report


def test_a_failure_of_a_wipe_is_reported_and_nothing_installed(tmp_path: Path) -> None:
    write_script(tmp_path, (ROOT, coreos(DATA)), HINTS, wipe_disks=["S-DATA"])
    wipefs = tmp_path / "bin" / "wipefs"
    wipefs.write_text(wipefs.read_text().replace('echo "wipefs $*"', "exit 1"))
    done = subprocess.run(["bash", "disk.sh"], cwd=tmp_path, env=environment(tmp_path), check=False)
    assert (done.returncode, list((tmp_path / "installer.d").iterdir())) == (1, [])
    assert (tmp_path / "report").read_text() == "failed no disk was chosen: what the script said"


@contextmanager
def loop_device(path: Path, *, label: str = "") -> Iterator[Path]:
    """Yield a loop device of 8 MiB, with an ext4 of that label, if one is given."""
    path.write_bytes(b"")
    os.truncate(path, 8 << 20)
    if label:
        subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-L", label, path], check=True)
    done = subprocess.run(["losetup", "--find", "--show", path], check=True, capture_output=True, text=True)
    try:
        yield Path(done.stdout.strip())
    finally:
        subprocess.run(["losetup", "--detach", done.stdout.strip()], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason=NO_ROOT)
def test_real_lsblk_and_wipefs_find_a_stale_file_system_and_erase_it(tmp_path: Path) -> None:
    with ExitStack() as devices:
        root = devices.enter_context(loop_device(tmp_path / "root.img"))
        data = devices.enter_context(loop_device(tmp_path / "data.img", label="boot"))
        disks = [replace(disk, kname=path.name) for disk, path in ((ROOT, root), (DATA, data))]
        said = [on_real_devices(tmp_path / name, disks, named) for name, named in RUNS]
    stale = f"stale: {data} is labelled boot, as a file system of the installed system"
    assert [words.startswith(wanted) for words, wanted in zip(said, (stale, "wipes", "chosen"), strict=True)] == [
        True
    ] * 3


RUNS = (("refused", ()), ("wiped", ("S-DATA",)), ("clean", ()))
"""Folder of a run, and the disks that it may wipe. What the second one wipes is what the third one finds clean."""


def on_real_devices(folder: Path, disks: Sequence[Device], named: Sequence[str]) -> str:
    """Run the script, with the machine's own lsblk and wipefs for what is on the disks; return its first line."""
    folder.mkdir()
    write_script(folder, disks, HINTS, wipe_disks=named)
    lsblk = folder / "bin" / "lsblk"
    lsblk.write_text(lsblk.read_text().replace('cat "contents/${4#/dev/}"', '/bin/lsblk "$@"'))
    (folder / "bin" / "wipefs").unlink()
    done = subprocess.run(
        ["bash", "disk.sh"], cwd=folder, env=environment(folder), stdout=subprocess.PIPE, text=True, check=False
    )
    return done.stdout.split(": ", 1)[1]
