"""The live ISO of the lab: what the real coreos-installer changes in it."""

import subprocess
from pathlib import Path

import pytest

from boot_media.tools import find_coreos_installer
from lab.images import iso


def test_kernel_arguments_reach_the_boot_menu_of_each_firmware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iso, "_ISOLINUX_FILES", ())
    tree, image = tmp_path / "tree", tmp_path / "live.iso"
    tree.mkdir()
    iso._write_boot_files(tree)
    subprocess.run(["genisoimage", "-quiet", "-V", "okd", "-rational-rock", "-o", image, tree], check=True)
    subprocess.run([find_coreos_installer(), "iso", "kargs", "modify", "-a", "lab.test=1", image], check=True)
    lines = [line.split() for line in image.read_bytes().decode(errors="ignore").splitlines()]
    changed = [line[0] for line in lines if "ignition.platform.id=metal" in line and line[-1] == "lab.test=1"]
    assert sorted(changed) == ["append", "linux"]
