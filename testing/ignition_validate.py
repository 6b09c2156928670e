"""`ignition-validate`, if this machine has it."""

import os
import shutil
import subprocess

import pytest

from boot_media.tools import cache_dir

_BUILT = cache_dir() / "bin"
_PROGRAM = shutil.which("ignition-validate", path=f"{os.environ.get('PATH', '')}{os.pathsep}{_BUILT}")

needs_validate = pytest.mark.skipif(
    _PROGRAM is None, reason=f"no ignition-validate on PATH or in {_BUILT} (the rehearsal builds it)"
)


def validate(config: str) -> str:
    """Return its errors and warnings about a config; empty if there are none."""
    run = subprocess.run([str(_PROGRAM), "-"], input=config, capture_output=True, text=True, check=False)
    return run.stdout + run.stderr + ("" if run.returncode == 0 else f"status {run.returncode}")
