"""The programs that boot media are made with, and the cache that they and downloads are kept in."""

import os
import shutil
from pathlib import Path

from providers.base.errors import BootMediaError

COREOS_INSTALLER_VERSION = "0.27.0"
NMSTATECTL_VERSION = "2.2.62"
"""Those that this program was tried with, and that `tools/<name>` builds."""


def cache_dir() -> Path:
    """Where downloads and built tools are kept; `tools/lib.sh` has the same rule."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "okd-baremetal")


def find_coreos_installer() -> Path:
    """coreos-installer.

    Raises:
        BootMediaError: There is none.
    """
    return _find("coreos-installer", COREOS_INSTALLER_VERSION)


def find_nmstatectl() -> Path:
    """Nmstatectl.

    Raises:
        BootMediaError: There is none.
    """
    return _find("nmstatectl", NMSTATECTL_VERSION)


def _find(name: str, version: str) -> Path:
    """A tool from PATH, or the one that `tools/<name>` built."""
    built = cache_dir() / f"{name}-{version}" / "bin" / name
    if found := shutil.which(name):
        return Path(found)
    if os.access(built, os.X_OK):
        return built
    raise BootMediaError(
        f"neither on PATH nor at {built}", where=name, fix=f"install the package, or run tools/{name}"
    )
