"""The path of the checkout, and a copy of the program, so that a run of the copy does not change the checkout."""

import shutil
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = (
    *("Pulumi.yaml", "__main__.py", "assets", "base", "boot_media", "cluster", "components", "payload", "providers"),
    *("stacks", "wires"),
)
"""The parts of the checkout that `pulumi up` reads."""
KIT = {"testing", "lab", "tests"}
"""The folders of stand-ins, rehearsals and tests."""
ROOMS = sorted({*tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]} - KIT)
"""The folders of the program, as lint-imports knows them."""


def copy_program(folder: Path) -> None:
    """Copy the program into `folder`, with a link to this environment, and without any stack's payload.

    The copy includes compiled files, with which the program starts a second earlier.
    """
    for name in PROGRAM:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("payload", "*.pyc.*"))
        else:
            shutil.copy2(source, target)
    (folder / ".venv").symlink_to(sys.prefix)


def make_environment(program: Path) -> None:
    """Make the environment of a clone, as `make setup` does, of the packages of this one."""
    folder = program / ".venv"
    (folder / "bin").mkdir(parents=True)
    for name in ("pyvenv.cfg", "lib", "bin/python"):
        (folder / name).symlink_to(Path(sys.prefix, name))
    (folder / "bin" / "okd-baremetal").symlink_to("../../tools/okd-baremetal")
    (folder / "bin" / "activate").write_text(f"PATH={folder / 'bin'}:$PATH\n")
