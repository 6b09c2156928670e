"""The programs that make boot media, and the cache for these programs and for downloads."""

import os
import shutil
from pathlib import Path

from base.errors import BootMediaError

COREOS_INSTALLER_VERSION = "0.27.0"
NMSTATECTL_VERSION = "2.2.62"
"""The tested versions, which `tools/<name>` builds."""
SCRIPTS = Path(__file__).resolve().parents[1] / "tools"
"""The folder of the scripts that build them."""


def cache_dir() -> Path:
    """Return the folder of downloads and built tools. `tools/lib.sh` has the same rule."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "okd-baremetal")


def find_coreos_installer() -> Path:
    """Return the path of coreos-installer.

    Raises:
        BootMediaError: It is not installed.
    """
    return _find("coreos-installer", COREOS_INSTALLER_VERSION)


def find_nmstatectl() -> Path:
    """Return the path of nmstatectl.

    Raises:
        BootMediaError: It is not installed.
    """
    return _find("nmstatectl", NMSTATECTL_VERSION)


def has_nmstatectl() -> bool:
    """Return whether nmstatectl is installed."""
    try:
        find_nmstatectl()
    except BootMediaError:
        return False
    return True


def _find(name: str, version: str) -> Path:
    """Return a tool from PATH, else the one that `tools/<name>` built."""
    built = cache_dir() / f"{name}-{version}" / "bin" / name
    if on_path := shutil.which(name):
        return Path(on_path)
    if os.access(built, os.X_OK):
        return built
    raise BootMediaError(
        f"neither on PATH nor at {built}", where=name, fix=f"install the package, or run {SCRIPTS / name}"
    )
