"""The initrd that a live system and an installed disk share: busybox, modules in load order, `init`."""

import gzip
import shutil
from pathlib import Path

from lab.cache import words_of
from lab.images.parts import BUSYBOX, GUEST, Kernel
from lab.shell import run

_GZIP_LEVEL = 1  # the guest unpacks it under emulation; even so the file is only 5 MB


def build_initrd(kernel: Kernel, work: Path) -> Path:
    """Write `work`/initrd.img."""
    tree, image = work / "initrd", work / "initrd.img"
    modules = tree / "lib" / "modules"
    modules.mkdir(parents=True)
    (tree / "bin").mkdir()
    shutil.copy(BUSYBOX, tree / "bin" / "busybox")
    for script in (GUEST / "initrd").iterdir():
        shutil.copy(script, tree)
        (tree / script.name).chmod(0o755)
    for listing in ("modules", "modules-live"):
        files = _module_files(kernel, words_of(GUEST / f"{listing}.txt"))
        for file in files:
            shutil.copy(file, modules)
        (modules / f"{listing}.order").write_text("".join(f"{file.name}\n" for file in files))
    names = "".join(f"{path.relative_to(tree)}\n" for path in sorted(tree.rglob("*")))
    archive = work / "initrd.cpio"
    run("cpio", "--create", "--format=newc", "--quiet", "--owner=0:0", "--file", archive, cwd=tree, stdin=names)
    image.write_bytes(gzip.compress(archive.read_bytes(), _GZIP_LEVEL, mtime=0))
    archive.unlink()
    shutil.rmtree(tree)
    return image


def _module_files(kernel: Kernel, names: list[str]) -> list[Path]:
    """Return the files of the modules and their dependencies, each after its own dependencies."""
    files: dict[Path, None] = {}
    for name in names:
        listed = run("modprobe", "--set-version", kernel.release, "--show-depends", name)
        files.update({Path(line.split()[1]): None for line in listed.splitlines() if line.startswith("insmod ")})
    return list(files)
