"""The files inside a boot ISO that the network serves, and the scripts of iPXE."""

import hashlib
from pathlib import Path

import pytest

from boot_media.disk import disk_script
from boot_media.iso import Iso, IsoMaker
from boot_media.netboot import BOOT_SCRIPT_TEXT, host_script, script_name
from boot_media.tools import find_coreos_installer
from testing.live_iso import kernel, live_iso

AMD64 = kernel(0x8664)
INITRD, ROOTFS = b"initrd" * 1000, b"rootfs" * 5000


def made(folder: Path, content: bytes, *, over_network: bool = True) -> Iso:
    base = folder / "base.iso"
    base.write_bytes(content)
    with IsoMaker(base, hashlib.sha256(content).hexdigest(), find_coreos_installer()) as maker:
        ignition = b'{"ignition":{"version":"3.2.0"}}'
        return maker.make(ignition=ignition, keyfiles={}, choose_disk=disk_script({}, ""), over_network=over_network)


@pytest.fixture(scope="module")
def iso(tmp_path_factory: pytest.TempPathFactory) -> Iso:
    return made(tmp_path_factory.mktemp("netboot"), live_iso(AMD64, INITRD, ROOTFS))


def test_the_files_are_those_of_the_iso(iso: Iso, tmp_path: Path) -> None:
    iso.write(whole := tmp_path / "whole.iso")
    content, live = whole.read_bytes(), iso.live
    assert live
    files = {name: content[start:end] for name, (start, end) in live.spans.items()}
    assert (files["vmlinuz"], files["initrd.img"], files["rootfs.img"]) == (AMD64, INITRD, ROOTFS)
    assert files.keys() == {"vmlinuz", "initrd.img", "rootfs.img", "ignition.img"}


def test_the_embed_area_has_the_host_s_config(iso: Iso, tmp_path: Path) -> None:
    iso.write(whole := tmp_path / "whole.iso")
    assert iso.live
    start, end = iso.live.spans["ignition.img"]
    area = whole.read_bytes()[start:end]
    assert (len(area), area[:6] != bytes(6)) == (256 << 10, True)


def test_the_kernel_arguments_have_no_place_of_a_cd(iso: Iso) -> None:
    assert iso.live
    assert iso.live.arguments == ""


def test_an_iso_without_a_live_system_has_nothing_for_the_network(tmp_path: Path) -> None:
    assert made(tmp_path, live_iso(AMD64)).live is None


def test_an_iso_for_a_virtual_cd_is_not_asked_for_its_kernel_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boot_media.iso.live_files", lambda *_: pytest.fail("only a network boot needs them"))
    assert made(tmp_path, live_iso(AMD64, INITRD, ROOTFS), over_network=False).live is None


def test_the_common_script_asks_for_the_host_s_or_leaves_to_the_disk() -> None:
    assert BOOT_SCRIPT_TEXT == "#!ipxe\nchain --replace hosts/${netX/mac:hexhyp}.ipxe || exit\n"
    assert script_name("52:54:00:ab:cd:01") == "hosts/52-54-00-ab-cd-01.ipxe"


def test_the_script_of_a_host_names_its_files_and_the_arguments_of_its_iso() -> None:
    assert host_script("http://192.0.2.2:6180/abc/host", "console=ttyS0 ignition.firstboot").splitlines() == [
        "#!ipxe",
        ":try",
        "imgfree",
        "kernel http://192.0.2.2:6180/abc/host/vmlinuz initrd=initrd.img initrd=ignition.img console=ttyS0 "
        "ignition.firstboot coreos.live.rootfs_url=http://192.0.2.2:6180/abc/host/rootfs.img || goto again",
        "initrd --name initrd.img http://192.0.2.2:6180/abc/host/initrd.img || goto again",
        "initrd --name ignition.img http://192.0.2.2:6180/abc/host/ignition.img || goto again",
        "boot",
        ":again",
        "inc tries",
        "iseq ${tries} 60 && exit ||",
        "sleep 5",
        "goto try",
    ]
