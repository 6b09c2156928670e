"""What a disk image is, read from files of the programs that make them."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from boot_media.disk_image import DiskImage, disk_image_of

MIB = 1024**2


def made(path: Path, *words: str) -> Path:
    subprocess.run(["qemu-img", "create", "-q", *words[:-1], path, words[-1]], check=True)
    return path


def read(path: Path) -> DiskImage:
    with path.open("rb") as file:
        return disk_image_of(file, path.stat().st_size)


@pytest.mark.parametrize(
    ("words", "image"),
    [
        pytest.param("-f qcow2 3M", DiskImage("qcow2", 0, 3 * MIB), id="qcow2"),
        pytest.param("-f qcow2 -o compat=0.10 2G", DiskImage("qcow2", 0, 2048 * MIB), id="version-2"),
        pytest.param("-f qcow2 -o extended_l2=on 3M", DiskImage("qcow2", 0, 3 * MIB), id="extended"),
        pytest.param(
            "-f qcow2 -b base -F qcow2 3M",
            DiskImage("qcow2", 0, 3 * MIB, "the file that it is an overlay of"),
            id="overlay",
        ),
        pytest.param(
            "-f qcow2 -o data_file=data 3M",
            DiskImage("qcow2", 0, 3 * MIB, "the file that has its data"),
            id="data-file",
        ),
        pytest.param(
            "--object secret,id=s,data=abc -f qcow2 -o encrypt.format=luks,encrypt.key-secret=s 3M",
            DiskImage("qcow2", 0, 3 * MIB, "a key, since it is encrypted"),
            id="encrypted",
        ),
        pytest.param("-f raw 3M", DiskImage("raw", 0, 0), id="raw"),
        pytest.param("-f vmdk 3M", DiskImage("vmdk", 0, 0), id="vmdk"),
        pytest.param("-f vhdx 8M", DiskImage("vhdx", 0, 0), id="vhdx"),
    ],
)
def test_an_image_of_qemu_is_recognized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, image: DiskImage
) -> None:
    monkeypatch.chdir(tmp_path)
    made(Path("base"), "-f", "qcow2", "1M")
    path = made(Path("image"), *words.split())
    assert read(path) == replace(image, size=path.stat().st_size)


@pytest.mark.parametrize(("program", "kind"), [("gzip", "gzip"), ("xz", "xz"), ("bzip2", "bzip2")])
def test_a_packed_image_is_recognized(tmp_path: Path, program: str, kind: str) -> None:
    image = made(tmp_path / "image", "-f", "qcow2", "3M")
    packed = tmp_path / "packed"
    packed.write_bytes(subprocess.run([program, "--stdout", image], check=True, capture_output=True).stdout)
    assert read(packed).format == kind


@pytest.mark.parametrize("length", [0, 3, 4, 40])
def test_an_image_that_is_cut_off_is_read_without_an_error(tmp_path: Path, length: int) -> None:
    image = made(tmp_path / "image", "-f", "qcow2", "3M")
    image.write_bytes(image.read_bytes()[:length])
    assert read(image).size == length
