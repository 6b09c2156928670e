"""The rehearsal's release: container images in a read-only store below the guests' /usr, so that no guest pulls one.

One image has the services' programs. The other is the release image, which answers with the first one's name.
"""

import filecmp
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.images.parts import BUSYBOX, GUEST
from lab.shell import run
from lab.twin import REGISTRY

RELEASE = "release.txt"
"""File with the release image's name, by digest."""

_STORE = Path("usr/lib/containers/storage")  # guest/root/etc/containers/storage.conf names it
_STORED = ("overlay", "overlay-images", "overlay-layers")
_PROGRAM = Path("usr/bin/cluster-version-operator")  # what a real release image starts


@dataclass(frozen=True)
class _Podman:
    """Podman with a store in a folder of its own."""

    work: Path
    run_root: str

    @property
    def store(self) -> Path:
        return self.work / "store"

    def add(self, tree: Path, name: str, *options: str) -> str:
        """Make an image of a tree, and return its name by digest."""
        tag, layer = f"{REGISTRY}/okd/{name}:lab", self.work / f"{name}.tar"
        run("tar", "--create", "--file", layer, "--directory", tree, ".")
        self._run("import", "--quiet", *options, layer, tag)
        layer.unlink()
        return f"{REGISTRY}/okd/{name}@{self._run('image', 'inspect', '--format', '{{.Digest}}', tag).strip()}"

    def _run(self, *words: str | Path) -> str:
        options = ("--root", self.store, "--runroot", self.run_root, "--storage-driver", "overlay")
        return run("podman", *options, *words)


def add_release(root: Path, work: Path) -> None:
    """Add both images to the tree `root`, whose own files become the services' image, and write `work`/RELEASE."""
    with TemporaryDirectory() as run_root:  # podman refuses one with a path of over 50 characters
        podman = _Podman(work, run_root)
        answer = _release_tree(work / "release", podman.add(root, "services"))
        (work / RELEASE).write_text(podman.add(answer, "release", "--change", f'ENTRYPOINT ["/{_PROGRAM}"]'))
    for layer in podman.store.glob("overlay/*/diff"):
        _link_equal(layer, root)
    (root / _STORE).mkdir(parents=True)
    for name in _STORED:
        (podman.store / name).rename(root / _STORE / name)


def _link_equal(layer: Path, root: Path) -> None:
    """Make each file of a layer a link to the root's file of that name, so that mksquashfs compresses one of them."""
    for file in layer.rglob("*"):
        own = root / file.relative_to(layer)
        if file.is_file() and not file.is_symlink() and own.is_file() and filecmp.cmp(file, own):
            file.unlink()
            file.hardlink_to(own)


def _release_tree(tree: Path, services: str) -> Path:
    for file in (shell := tree / "bin/sh", program := tree / _PROGRAM):
        file.parent.mkdir(parents=True)
    shutil.copy(BUSYBOX, shell)
    program.write_text((GUEST / "release" / program.name).read_text().replace("@IMAGE@", services))
    program.chmod(0o755)
    return tree
