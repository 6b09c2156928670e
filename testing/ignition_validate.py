"""ignition-validate, the real validator of Ignition configs."""

import os
import shutil
import subprocess

from boot_media.tools import cache_dir

_PATH = f"{os.environ.get('PATH', '')}{os.pathsep}{cache_dir() / 'bin'}"
_PROGRAM = shutil.which("ignition-validate", path=_PATH) or "ignition-validate"


def validate(config: str) -> str:
    """Return its errors and warnings about a config; empty if there are none."""
    run = subprocess.run([_PROGRAM, "-"], input=config, capture_output=True, text=True, check=False)
    return run.stdout + run.stderr + ("" if run.returncode == 0 else f"status {run.returncode}")
