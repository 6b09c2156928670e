"""The choice of the disk: the script itself, on servers of many kinds, and against ironic's rules."""

import os
import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boot_media.disk import LONGEST_REPORT, disk_script
from cluster.values.disk_hints import Hints
from testing.live_disks import URL, Device, environment, run_script, write_script
from tests.process.boot_media.disk_oracle import GIB, chosen

SATA = Device(
    (8, 0),
    "sda",
    480_103_981_056,
    model="SAMSUNG MZ7LH480",
    vendor="ATA     ",
    serial="S45PNA0M501234",
    wwn="0x5002538e00000001",
    hctl="0:0:0:0",
    udev={"ID_SERIAL": "SAMSUNG_MZ7LH480_S45PNA0M501234", "ID_SERIAL_SHORT": "S45PNA0M501234"},
)
SAS = Device(
    (8, 16),
    "sdb",
    1_200_243_695_616,
    rotational=True,
    model="ST1200MM0099",
    vendor="SEAGATE ",
    wwn="0x5000c500a1b2c3d4",
    hctl="1:0:3:0",
    udev={"ID_SERIAL": "35000c500a1b2c3d7", "ID_SERIAL_SHORT": "5000c500a1b2c3d7"},
)
PERC = Device(
    (8, 32),
    "sdc",
    239_444_426_752,
    rotational=True,
    model="PERC H730 Mini",
    vendor="DELL    ",
    serial="64cd98f0a1b2c3d42a1b2c3d4e5f6071",
    wwn="0x64cd98f0a1b2c3d42a1b2c3d4e5f6071",
    hctl="0:2:0:0",
    udev={
        "ID_WWN": "0x64cd98f0a1b2c3d4",
        "ID_WWN_VENDOR_EXTENSION": "0x2a1b2c3d4e5f6071",
        "ID_WWN_WITH_EXTENSION": "0x64cd98f0a1b2c3d42a1b2c3d4e5f6071",
    },
)
USB = Device((8, 48), "sdd", 15_376_318_464, rotational=True, model="Ultra Fit", vendor="SanDisk ", hctl="6:0:0:0")
EMPTY = Device((8, 64), "sde", 0, rotational=True, model="Virtual Floppy", vendor="iDRAC   ", hctl="7:0:0:0")
SMALL = Device((8, 80), "sdf", 4 * GIB - 1, model="LUN 0 Media 0", vendor="iDRAC   ", hctl="8:0:0:0")
NVME = Device(
    (259, 0),
    "nvme0n1",
    960_197_124_096,
    model="SAMSUNG MZQL2960HCJR-00A07",
    serial="S64FNE0R502311",
    wwn="eui.36344630525023110025384500000001",
)
VIRTIO = Device((254, 0), "vda", 10 * GIB, rotational=True, vendor="0x1af4")
PATHS = tuple(
    Device(
        number,
        kname,
        600_127_266_816,
        model="FlashArray",
        vendor="PURE    ",
        serial="624a93701",
        wwn="0x624a93701",
        hctl=hctl,
        udev={"DM_MULTIPATH_DEVICE_PATH": "1"},
    )
    for number, kname, hctl in (((8, 96), "sdg", "9:0:0:1"), ((65, 0), "sdq", "10:0:0:1"))
)
MULTIPATH = Device(
    (253, 1), "dm-1", 600_127_266_816, "mpath", udev={"DM_SERIAL": "3624a93701", "DM_WWN": "0x624a93701"}
)
RAID = Device((9, 127), "md127", 100 * GIB, "raid1")
NO_DISKS = (
    Device((1, 0), "ram0", 8 * GIB, rotational=True),
    Device((2, 0), "fd0", 5 * GIB, rotational=True),
    Device((7, 0), "loop0", 900 * GIB, "loop"),
    Device((8, 1), "sda1", 400 * GIB, "part"),
    Device((11, 0), "sr0", 8 * GIB, "rom", rotational=True, model="Virtual CDROM", vendor="iDRAC   ", hctl="5:0:0:0"),
    Device((251, 0), "zram0", 8 * GIB),
    Device((253, 0), "dm-0", 300 * GIB, "lvm"),
)
SERVER = (NVME, *NO_DISKS, MULTIPATH, *PATHS, SMALL, EMPTY, USB, PERC, SAS, SATA, VIRTIO, RAID, MULTIPATH)
LINKS_TO_PERC = dict.fromkeys(
    ("/dev/disk/by-path/pci-0000:18:00.0-scsi-0:2:0:0", "/dev/disk/by-id/wwn-0x64cd98f0a1b2c3d4"), "/dev/sdc"
)


@pytest.mark.parametrize(
    ("hints", "disk"),
    [
        pytest.param({"deviceName": "/dev/nvme0n1"}, "nvme0n1", id="device"),
        pytest.param({"deviceName": "/dev/disk/by-path/pci-0000:18:00.0-scsi-0:2:0:0"}, "sdc", id="by-path"),
        pytest.param({"deviceName": "/dev/disk/by-path/pci-0000:18:00.0-scsi-0:2:1:0"}, None, id="no-such-path"),
        pytest.param({"deviceName": "/dev/disk/by-id/wwn-0x64cd98f0a1b2c3d4"}, "sdc", id="by-id"),
        pytest.param({"deviceName": "/dev/sd"}, None, id="part-of-a-name"),
        pytest.param({"deviceName": "/dev/sda1"}, None, id="partition"),
        pytest.param({"deviceName": "/dev/sr0"}, None, id="cd"),
        pytest.param({"deviceName": "/dev/fd0"}, None, id="floppy"),
        pytest.param({"deviceName": "/dev/loop0"}, None, id="loop"),
        pytest.param({"deviceName": "/dev/ram0"}, None, id="ram"),
        pytest.param({"deviceName": "/dev/zram0"}, None, id="zram"),
        pytest.param({"deviceName": "/dev/dm-0"}, None, id="lvm"),
        pytest.param({"deviceName": "/dev/sde"}, None, id="empty-drive"),
        pytest.param({"deviceName": "/dev/sdg"}, None, id="path-of-a-multipath-device"),
        pytest.param({"deviceName": "/dev/md127"}, "md127", id="raid"),
        pytest.param({"model": "MZ7LH"}, "sda", id="part-of-the-model"),
        pytest.param({"model": "samsung"}, "sda", id="model-in-small-letters-first-of-two"),
        pytest.param({"model": "20mz7"}, None, id="no-space-is-a-20"),
        pytest.param({"model": "H730 mini"}, "sdc", id="model-with-a-space"),
        pytest.param({"vendor": "ATA"}, "sda", id="vendor-without-its-spaces"),
        pytest.param({"vendor": "one"}, None, id="a-missing-vendor-is-no-word"),
        pytest.param({"vendor": "  "}, None, id="nothing-is-in-no-vendor"),
        pytest.param({"serialNumber": "S45PNA0M501234"}, "sda", id="serial"),
        pytest.param({"serialNumber": "samsung_mz7lh480_s45pna0m501234"}, "sda", id="long-serial"),
        pytest.param({"serialNumber": "35000c500a1b2c3d7"}, "sdb", id="serial-of-udev-alone"),
        pytest.param({"serialNumber": "S45PNA0M50123"}, None, id="part-of-a-serial"),
        pytest.param({"serialNumber": "3624a93701"}, "dm-1", id="serial-of-a-multipath-device"),
        pytest.param({"wwn": "0x5000C500A1B2C3D4"}, "sdb", id="wwn-in-capitals"),
        pytest.param({"wwn": "0x64cd98f0a1b2c3d4"}, "sdc", id="short-wwn"),
        pytest.param({"wwn": "0x624a93701"}, "dm-1", id="multipath-instead-of-its-paths"),
        pytest.param({"wwnWithExtension": "0x64cd98f0a1b2c3d42a1b2c3d4e5f6071"}, "sdc", id="wwn-with-extension"),
        pytest.param({"wwnWithExtension": "0x5000c500a1b2c3d4"}, None, id="a-wwn-has-no-extension"),
        pytest.param({"wwnVendorExtension": "0x2a1b2c3d4e5f6071"}, "sdc", id="wwn-vendor-extension"),
        pytest.param({"hctl": "0:2:0:0"}, "sdc", id="hctl"),
        pytest.param({"hctl": "5:0:0:0"}, None, id="hctl-of-a-cd"),
        pytest.param({"rotational": "true"}, "sdb", id="rotational"),
        pytest.param({"rotational": "false"}, "sda", id="not-rotational"),
        pytest.param({"minSizeGigabytes": "448"}, "sdb", id="sizes-are-in-gib"),
        pytest.param({"minSizeGigabytes": "447"}, "sda", id="size-in-gib"),
        pytest.param({"minSizeGigabytes": "100", "model": "raid", "rotational": "false"}, None, id="raid-no-model"),
        pytest.param({"minSizeGigabytes": "100", "deviceName": "/dev/md127"}, "md127", id="at-least-is-enough"),
        pytest.param({"minSizeGigabytes": "101", "deviceName": "/dev/md127"}, None, id="a-gib-too-small"),
        pytest.param({"minSizeGigabytes": str(2**64)}, None, id="no-number-of-bash"),
        pytest.param({"minSizeGigabytes": "600", "rotational": "false"}, "nvme0n1", id="two-hints"),
        pytest.param({"serialNumber": "S45PNA0M501234", "wwn": "0x5000c500a1b2c3d4"}, None, id="two-disks"),
        pytest.param({"model": "ST1200MM0099", "hctl": "1:0:3:1"}, None, id="one-of-two"),
        pytest.param({}, "sda", id="none"),
    ],
)
def test_the_disk_that_fits_all_hints_is_chosen(hints: Hints, disk: str | None, tmp_path: Path) -> None:
    run = run_script(tmp_path, SERVER, hints, links=LINKS_TO_PERC, attempts=1)
    assert run.settings == (f"dest-device: /dev/{disk}\n" if disk else "")
    assert run.code == (0 if disk else 1)
    assert chosen(SERVER, hints, LINKS_TO_PERC) == (f"/dev/{disk}" if disk else None), "the oracle agrees"


@pytest.mark.parametrize(
    ("devices", "disk"),
    [
        pytest.param((SATA, PERC, USB), "sda", id="sda-first"),
        pytest.param((NVME, VIRTIO, PERC), "vda", id="else-the-smallest"),
        pytest.param((replace(VIRTIO, number=(254, 16), kname="vdb"), VIRTIO), "vda", id="of-two-the-first-name"),
        pytest.param((replace(SMALL, kname="sda"), NVME), "nvme0n1", id="a-small-sda-is-none"),
        pytest.param((replace(SMALL, size=4 * GIB), NVME), "sdf", id="of-4-gib"),
        pytest.param((SMALL, *NO_DISKS, EMPTY), None, id="none-of-4-gib"),
        pytest.param((), None, id="none-at-all"),
    ],
)
def test_without_hints_sda_or_else_the_smallest_disk_is_chosen(
    devices: tuple[Device, ...], disk: str | None, tmp_path: Path
) -> None:
    run = run_script(tmp_path, devices, {}, attempts=1)
    assert run.settings == (f"dest-device: /dev/{disk}\n" if disk else "")
    assert chosen(devices, {}, {}) == (f"/dev/{disk}" if disk else None), "the oracle agrees"


def test_the_chosen_disk_is_on_the_console_and_in_the_report(tmp_path: Path) -> None:
    run = run_script(tmp_path, SERVER, {"wwn": " 0x5002538E00000001", "model": "Samsung"})
    disks = (
        "deviceName: /dev/sda, minSizeGigabytes: 447, rotational: false, model: SAMSUNG MZ7LH480, vendor: ATA, "
        "serialNumber: S45PNA0M501234 or SAMSUNG_MZ7LH480_S45PNA0M501234, wwn: 0x5002538e00000001, hctl: 0:0:0:0"
    )
    assert run.console == f"okd-baremetal: chosen by wwn:  0x5002538E00000001, model: Samsung: {disks}\n"
    assert run.report == f"chosen {disks}"
    assert (run.code, run.slept) == (0, ())


def test_a_refusal_names_the_hints_and_every_candidate(tmp_path: Path) -> None:
    run = run_script(tmp_path, (VIRTIO, USB, *NO_DISKS), {"vendor": "it's $HOME", "rotational": "false"})
    disks = (
        "deviceName: /dev/sdd, minSizeGigabytes: 14, rotational: true, model: Ultra Fit, vendor: SanDisk, "
        "hctl: 6:0:0:0;\n"
        "deviceName: /dev/vda, minSizeGigabytes: 10, rotational: true, vendor: 0x1af4"
    )
    text = f"no disk fits vendor: it's $HOME, rotational: false. Disks found:\n{disks}"
    assert run.console == f"okd-baremetal: refused: {text}\n"
    assert run.report == f"refused {text}"
    assert (run.code, run.settings) == (1, "")


def test_a_server_without_a_disk_is_refused(tmp_path: Path) -> None:
    run = run_script(tmp_path, (), {"hctl": "0:0:0:0"})
    assert run.report == "refused no disk fits hctl: 0:0:0:0. Disks found:\nnone"
    assert run.code == 1


def test_a_missing_disk_is_waited_for_27_seconds(tmp_path: Path) -> None:
    wanted = {"serialNumber": NVME.serial}
    for name in ("late", "never"):
        (tmp_path / name).mkdir()
    late = run_script(tmp_path / "late", (SATA,), wanted, late={10: (SATA, NVME)})
    assert (late.settings, late.slept) == ("dest-device: /dev/nvme0n1\n", ("3",) * 9)
    never = run_script(tmp_path / "never", (SATA,), wanted, late={11: (SATA, NVME)})
    assert (never.settings, never.slept) == ("", ("3",) * 9)


@pytest.mark.parametrize("hints", [{"deviceName": "/dev/sda"}, {"deviceName": "/dev/sdz"}], ids=["chosen", "refused"])
def test_a_provisioner_that_answers_late_or_never_changes_nothing(hints: Hints, tmp_path: Path) -> None:
    runs = {}
    for name, deaf in {"now": 0, "late": 59, "never": 60}.items():
        (tmp_path / name).mkdir()
        runs[name] = run_script(tmp_path / name, (SATA,), hints, deaf=deaf)
    assert [run.calls for run in runs.values()] == [1, 60, 60]
    assert [bool(run.report) for run in runs.values()] == [True, True, False]
    assert len({(run.code, run.settings, run.console) for run in runs.values()}) == 1


def test_the_installation_does_not_wait_for_the_provisioner(tmp_path: Path) -> None:
    write_script(tmp_path, (SATA,), {"deviceName": "/dev/sda"})
    (tmp_path / "deaf").unlink()
    os.mkfifo(tmp_path / "deaf")  # curl reads it, and hangs until this test has written to it
    script = subprocess.Popen(["bash", "disk.sh"], cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.DEVNULL)
    try:
        assert script.wait(timeout=30) == 0
    finally:
        (tmp_path / "deaf").write_text("0\n")
        script.wait()


def test_without_a_provisioner_nothing_is_sent(tmp_path: Path) -> None:
    run = run_script(tmp_path, (SATA,), {"deviceName": "/dev/sdz"}, url="")
    assert (run.code, run.calls) == (1, 0)


def test_a_long_report_is_cut_to_what_the_provisioner_takes(tmp_path: Path) -> None:
    devices = [replace(SATA, number=(8, 16 * index), kname=f"sd{index}") for index in range(90)]
    run = run_script(tmp_path, devices, {"hctl": "9:9:9:9"}, attempts=1)
    assert len(run.report) == LONGEST_REPORT < len(run.console)


def test_a_failure_of_coreos_installer_is_sent_with_its_last_words(tmp_path: Path) -> None:
    """ISO-WORD. The report of the disk, which may still be under way, must not come after it."""
    run = run_script(tmp_path, (SATA,), {"deviceName": "/dev/sda"}, "ended", journal="Error: no\n\nCaused by: x\n")
    assert (run.code, run.report, run.settings, run.console) == (
        0,
        "failed exit-code: Error: no\n\nCaused by: x",
        "",
        "",
    )
    assert (tmp_path / "systemctl.calls").read_text() == "kill disk.sh.service\n"


@pytest.mark.parametrize(("result", "url"), [("success", URL), ("exit-code", "")], ids=["done", "no-provisioner"])
def test_nothing_is_sent_after_a_success_nor_without_a_provisioner(result: str, url: str, tmp_path: Path) -> None:
    run = run_script(tmp_path, (SATA,), {"deviceName": "/dev/sdz"}, "ended", journal="x\n", url=url, result=result)
    assert (run.code, run.calls, run.report) == (0, 0, "")


def test_an_installer_that_said_nothing_has_failed_all_the_same(tmp_path: Path) -> None:
    run = run_script(tmp_path, (SATA,), {}, "ended", result="oom-kill")
    assert run.report == "failed oom-kill: "


def test_the_end_of_long_last_words_is_sent(tmp_path: Path) -> None:
    run = run_script(tmp_path, (SATA,), {}, "ended", journal="ä" * 20_000 + "the end\n")
    assert run.report.startswith("failed ")
    assert run.report.endswith("the end")
    assert 14_900 <= len(run.report.encode(errors="surrogateescape")) <= LONGEST_REPORT


@pytest.mark.parametrize("program", ["lsblk", "sort"])
def test_a_program_that_fails_chooses_nothing_and_is_reported(program: str, tmp_path: Path) -> None:
    """ISO-WORD: coreos-installer does not start then, so it reports nothing."""
    write_script(tmp_path, (SATA,), {"deviceName": "/dev/sda"})
    (tmp_path / "bin" / program).write_text(f"#!/bin/bash\necho '{SATA.line}'\nexit 1\n")
    (tmp_path / "bin" / program).chmod(0o755)
    done = subprocess.run(["bash", "disk.sh"], cwd=tmp_path, env=environment(tmp_path), check=False)
    assert (done.returncode, list((tmp_path / "installer.d").iterdir())) == (1, [])
    assert (tmp_path / "report").read_text() == "failed no disk was chosen: what the script said"


def test_the_programs_of_this_machine_are_understood(tmp_path: Path) -> None:
    """Its disks are unknown; that lsblk knows the columns, and that the script reads its lines, is not."""
    script = disk_script({"serialNumber": "no such disk"}, "").replace("sleep 3", "true")
    assert script.count("true\n") > 0
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    listed = subprocess.run(
        ["lsblk", "--nodeps", "--bytes", "--noheadings", "--output", "KNAME,TYPE,SIZE"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    disks = set(re.findall(r"^(?!z?ram|fd)(\S+) +disk +[1-9]", listed, re.M))
    assert "no disk fits serialNumber: no such disk. Disks found:\n" in run.stdout
    assert disks <= set(re.findall(r"deviceName: /dev/([^,]+)", run.stdout))
    assert run.returncode == 1


TEXTS = {
    "model": ["", "SAMSUNG MZ7LH480", "samsung mz7lh480 ", 'ST "1.2T" `a` $b \\x41', "a, b: c", "none"],
    "vendor": ["", "ATA     ", "SEAGATE", "0x1af4", "one"],
    "serial": ["", "S1", "s1 ", "S12", "=S1="],
    "wwn": ["", "0x50", "0x500", "EUI.50"],
    "hctl": ["", "0:0:0:0", "0:0:0:1", "10:0:0:0"],
}
SIZES = st.builds(
    lambda gib, more: max(0, gib * GIB + more), st.sampled_from([0, 1, 4, 4, 5, 447]), st.integers(-1, 1)
)
UDEV = st.dictionaries(
    st.sampled_from(
        [f"{kind}_{name}" for kind in ("ID", "DM") for name in ("SERIAL", "SERIAL_SHORT", "WWN")]
        + [f"ID_WWN_{name}" for name in ("VENDOR_EXTENSION", "WITH_EXTENSION")]
        + ["DM_MULTIPATH_DEVICE_PATH", "ID_BUS"]
    ),
    st.sampled_from(["1", "S1", "0x50", "0x500", ""]),
    max_size=4,
)
DEVICES = st.lists(
    st.builds(
        Device,
        number=st.tuples(st.sampled_from([8, 9, 65, 259]), st.integers(0, 20)),
        kname=st.sampled_from(["sda", "sdb", "sdc", "sdaa", "nvme0n1", "vda", "dm-0", "md0", "fd0", "zram0", "ram1"]),
        size=SIZES,
        kind=st.sampled_from(
            ["disk"] * 4 + ["mpath", "raid1", "raid10", "part", "rom", "lvm", "loop", "crypt", "md"]
        ),
        rotational=st.booleans(),
        **{name: st.sampled_from(values) for name, values in TEXTS.items()},
        udev=UDEV,
    ),
    min_size=1,
    max_size=6,
    unique_by=(lambda device: device.number, lambda device: device.kname),
)
LINKS = {
    "/dev/disk/by-path/pci-1": "/dev/sda",
    "/dev/disk/by-path/pci-2": "/dev/sdb",
    "/dev/disk/by-path/x": "/dev/fd0",
}
HINTS = st.fixed_dictionaries(
    {},
    optional={
        "deviceName": st.sampled_from(["/dev/sda", "/dev/SDB", "/dev/nvme0n1", "/dev/fd0", "/dev/s", *LINKS]),
        "hctl": st.sampled_from(["0:0:0:0", "0:0:0:1", "0"]),
        "model": st.sampled_from(["SAMSUNG", " mz7", '"1.2t"', "$B", "\\x41", "A", "none", "*", "?", " "]),
        "vendor": st.sampled_from(["ata", "A", "0x1AF4", "one", "[a-z]"]),
        "serialNumber": st.sampled_from(["s1", "S1 ", "S12", "=s1=", "*", ""]),
        "minSizeGigabytes": st.sampled_from(["1", "4", "5", "447", "448", str(2**63), str(2**64)]),
        "wwn": st.sampled_from(["0X50", "0x500", "eui.50"]),
        "wwnWithExtension": st.sampled_from(["0x50", "1"]),
        "wwnVendorExtension": st.sampled_from(["0x50", "s1"]),
        "rotational": st.sampled_from(["true", "false"]),
    },
)


@st.composite
def servers(draw: st.DrawFn) -> tuple[list[Device], Hints]:
    """Devices, and hints: any, or some that one of the devices has, perhaps with another one."""
    devices, others = draw(DEVICES), draw(HINTS)
    if draw(st.integers(0, 3)) == 3:
        return devices, others
    device = draw(st.sampled_from(devices))
    own = {
        "deviceName": device.path,
        "hctl": device.hctl,
        "model": device.model[1:8].swapcase(),
        "vendor": device.vendor[:3],
        "serialNumber": device.serial.swapcase(),
        "minSizeGigabytes": str(max(1, device.size // GIB)),
        "wwn": device.wwn,
        "rotational": str(device.rotational).lower(),
    }
    names = draw(st.lists(st.sampled_from(sorted(own)), min_size=1, max_size=2))
    further = draw(st.sampled_from([{}, {}, dict(list(others.items())[:1])]))
    return devices, {**further, **{name: own[name] for name in names if own[name]}}


@given(server=servers())
def test_no_disk_is_chosen_that_ironic_would_not_take(server: tuple[list[Device], Hints]) -> None:
    devices, hints = server
    wanted = chosen(devices, hints, LINKS)
    with tempfile.TemporaryDirectory() as folder:
        run = run_script(Path(folder), devices, hints, links=LINKS, attempts=1)
    assert run.settings == (f"dest-device: {wanted}\n" if wanted else "")
    assert run.code == (0 if wanted else 1)
    assert run.report.startswith(f"chosen deviceName: {wanted}, " if wanted else "refused no disk fits ")
