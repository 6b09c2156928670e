"""The environment of a Pulumi project in a folder of its own: real engine, our providers, nothing of yours."""

import os
import shutil
import sys
from pathlib import Path

from boot_media.tools import cache_dir, find_coreos_installer
from testing.checkout import ROOT


def pulumi_dir() -> Path:
    """Where the CLI is, and beside it what it starts."""
    if found := shutil.which("pulumi"):
        return Path(found).resolve().parent
    return sorted(cache_dir().glob("*/pulumi"))[-1].parent


def pulumi_env(folder: Path, *path: Path) -> dict[str, str]:
    """State, home and plugins are in `folder`; in PATH our Python and the CLI come first, then `path`."""
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
    """The same for a program that imports this checkout, and reads from `site.json` in `folder` what to declare."""
    return pulumi_env(folder, find_coreos_installer().parent) | {
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "SITE": str(folder / "site.json"),
    }
