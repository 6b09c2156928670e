"""The environment of a separate Pulumi project: the real engine, our providers, and nothing of the user's."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from boot_media.tools import cache_dir
from testing import live_iso
from testing.checkout import ROOT


def pulumi_dir() -> Path:
    """Return the folder of the CLI and its language host; skip the test if there is none."""
    if found := shutil.which("pulumi"):
        return Path(found).resolve().parent
    for cli in sorted(cache_dir().glob("*/pulumi")):
        return cli.parent
    pytest.skip("no pulumi on PATH, and none built by tools/pulumi")


def pulumi_env(folder: Path, *path: Path) -> dict[str, str]:
    """Return an environment with state, home and plugins in `folder`. PATH has our Python, the CLI, `path` first."""
    found = [Path(sys.executable).parent, pulumi_dir(), *path]
    return {
        "PATH": os.pathsep.join([*map(str, found), os.environ["PATH"]]),
        "HOME": str(folder),
        "PULUMI_HOME": str(folder / "pulumi"),
        "PULUMI_BACKEND_URL": f"file://{folder}",
        "PULUMI_CONFIG_PASSPHRASE": "x",
        "PULUMI_SKIP_UPDATE_CHECK": "1",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "1",
    }


def site_env(folder: Path) -> dict[str, str]:
    """Return the same for a program that imports this checkout and declares the site of `site.json` in `folder`."""
    return pulumi_env(folder, live_iso.installer().parent) | {
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "SITE": str(folder / "site.json"),
    }
