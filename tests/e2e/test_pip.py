"""The stand-in for pip, which Pulumi's language host asks for packages of plugins."""

import json
import os
import subprocess
import sys
from pathlib import Path

from testing.pulumi_env import PIP


def packages_of_plugins(**env: str) -> list[tuple[str, str, str]]:
    """Return name, version and folder of each package that the language host looks at."""
    command = [sys.executable, "-m", "pip", "list", "-v", "--format", "json"]
    listed = json.loads(subprocess.check_output(command, env={**os.environ, **env}))
    return sorted(
        (name, each["version"], each["location"])
        for each in listed
        if (name := each["name"]).startswith("pulumi-")
        or Path(each["location"], name.replace("-", "_"), "pulumi-plugin.json").exists()
    )


def test_the_stand_in_names_the_packages_of_pip() -> None:
    named = packages_of_plugins(PYTHONPATH=str(PIP))
    assert [name for name, *_ in named] == ["pulumi_libvirt"]
    assert named == packages_of_plugins()
