"""The environment of a separate Pulumi project: the real engine and providers, without settings of the user."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from boot_media.tools import find_coreos_installer
from testing.checkout import ROOT

PIP = Path(__file__).with_name("fakes") / "pip"
"""On PYTHONPATH, the stand-in for pip."""


def pulumi_dir() -> Path:
    """Return the folder of the CLI and its language host."""
    program = shutil.which("pulumi", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert program, "`make setup` links it into .venv"
    return Path(program).resolve().parent


def pulumi_env(folder: Path, *path: Path) -> dict[str, str]:
    """Return an environment with state, home and plugins in `folder`, and a stand-in for pip.

    PATH begins with Python, the CLI and `path`.
    """
    folders = [Path(sys.executable).parent, pulumi_dir(), *path]
    return {
        "PATH": os.pathsep.join([*map(str, folders), os.environ["PATH"]]),
        "PYTHONPATH": str(PIP),
        "HOME": str(folder),
        "PULUMI_HOME": str(folder / "pulumi"),
        "PULUMI_BACKEND_URL": f"file://{folder}",
        "PULUMI_CONFIG_PASSPHRASE": "x",
        "PULUMI_SKIP_UPDATE_CHECK": "1",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "1",
    }


def site_env(folder: Path) -> dict[str, str]:
    """Return the same for a program that imports this checkout and declares the site of `site.json` in `folder`."""
    return pulumi_env(folder, find_coreos_installer().parent) | {
        "PYTHONPATH": f"{ROOT}:{PIP}",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "SITE": str(folder / "site.json"),
    }


def resources_of(folder: Path) -> list[dict[str, Any]]:
    """Return the resources of the only stack whose state is in `folder`, as `pulumi stack export` prints them."""
    resources: list[dict[str, Any]] = json.loads(_state_of(folder).read_text())["checkpoint"]["latest"]["resources"]
    return resources


@contextmanager
def edited_resources(folder: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the same, none of a new stack, and write them back with the caller's changes, as an import does."""
    file = _state_of(folder)
    state = json.loads(file.read_text())
    yield state["checkpoint"]["latest"].setdefault("resources", [])
    file.write_text(json.dumps(state))


def forget(folder: Path, *ends: str) -> None:
    """Take resources, by the ends of their URNs, out of the state, as `pulumi state delete` does.

    No resource that stays may depend on them.
    """
    with edited_resources(folder) as resources:
        stays = [each for each in resources if not each["urn"].endswith(ends)]
        assert len(stays) == len(resources) - len(ends)
        resources[:] = stays


def _state_of(folder: Path) -> Path:
    (file,) = folder.glob(".pulumi/stacks/*/*.json")
    return file
