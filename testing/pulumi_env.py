"""The environment of a Pulumi project in a folder of its own: real engine, our providers, nothing of yours."""

import os
import sys
from pathlib import Path

from testing import live_iso

ROOT = Path(__file__).parents[1]


def pulumi_env(folder: Path, *path: Path) -> dict[str, str]:
    """State, cache and plugins below `folder`; our Python and coreos-installer come first in PATH, then `path`."""
    found = [Path(sys.executable).parent, live_iso.installer().parent, *path]
    return {
        "PATH": os.pathsep.join([*map(str, found), os.environ["PATH"]]),
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PULUMI_HOME": str(folder / "pulumi"),
        "PULUMI_BACKEND_URL": f"file://{folder}",
        "PULUMI_CONFIG_PASSPHRASE": "x",
        "PULUMI_SKIP_UPDATE_CHECK": "1",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "1",
        "SITE": str(folder / "site.json"),
    }
