"""`provisioner.manage: true` on the real Pulumi engine, where the plugin of pulumi-libvirt is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from testing import plans
from testing.project import COMMAND_S, pulumi_dir

PROGRAM = ("Pulumi.yaml", "__main__.py", "assets", "cluster", "components", "providers", "stacks")
MANAGED = {
    "bootstrap": {"address": "192.168.111.20"},
    "provisioner": {"manage": True, "base_image": {"source": "/srv/coreos-qemu.qcow2", "sha256": "c2" * 32}},
}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Of a project with the stack `rehearsal`, its provisioner managed; no site outside this machine is reached."""
    for name in PROGRAM:
        source, target = plans.ROOT / name, tmp_path / "program" / name
        target.parent.mkdir(exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    config = {f"{plans.PROJECT}:{name}": value for name, value in plans.options(**MANAGED).items()}
    (tmp_path / "program/stacks/Pulumi.rehearsal.yaml").write_text(yaml.safe_dump({"config": config}))
    (tmp_path / "program/.venv").symlink_to(sys.prefix)
    return {
        "PATH": os.pathsep.join([f"{sys.prefix}/bin", str(pulumi_dir()), os.environ["PATH"]]),
        "HOME": str(tmp_path),
        "PULUMI_HOME": str(tmp_path / "pulumi"),
        "PULUMI_BACKEND_URL": f"file://{tmp_path}",
        "PULUMI_CONFIG_PASSPHRASE": "x",
        "PULUMI_SKIP_UPDATE_CHECK": "1",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1,localhost",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "line"),
    [
        pytest.param(
            {}, "install the plugin using `pulumi plugin install resource libvirt v0.5.4`", id="closed-network"
        ),
        pytest.param(
            {"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "1"},
            "no resource plugin 'pulumi-resource-libvirt' found in the workspace at version v0.5.4",
            id="no-acquisition",
        ),
    ],
)
def test_a_missing_plugin_is_one_line_that_names_it(
    tmp_path: Path, env: dict[str, str], more: dict[str, str], line: str
) -> None:
    def pulumi(*words: str) -> subprocess.CompletedProcess[str]:
        command, folder = ["pulumi", *words, "--non-interactive"], tmp_path / "program"
        return subprocess.run(
            command, cwd=folder, env={**env, **more}, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )

    assert pulumi("stack", "init", "rehearsal").returncode == 0
    done = pulumi("preview")
    assert done.returncode != 0
    text = done.stdout + done.stderr
    assert line in text
    assert 'File "' not in text
