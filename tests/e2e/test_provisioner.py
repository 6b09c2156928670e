"""`provisioner.manage: true` on the real Pulumi engine, where the plugin of pulumi-libvirt is missing."""

import subprocess
from pathlib import Path

import pytest
import yaml

from testing import plans
from testing.checkout import copy_program
from testing.project import COMMAND_S
from testing.pulumi_env import pulumi_env

NO_ACQUISITION = "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"
MANAGED = {
    "bootstrap": {"address": "192.168.111.20"},
    "provisioner": {"manage": True, "base_image": {"source": "/srv/coreos-qemu.qcow2", "sha256": "c2" * 32}},
}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """The environment of a project with the stack `rehearsal`, a managed provisioner, and no outside network."""
    copy_program(tmp_path / "program")
    config = {f"{plans.PROJECT}:{name}": value for name, value in plans.options(**MANAGED).items()}
    (tmp_path / "program/stacks/Pulumi.rehearsal.yaml").write_text(yaml.safe_dump({"config": config}))
    env = pulumi_env(tmp_path) | {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost"}
    del env[NO_ACQUISITION]
    return env


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "line"),
    [
        pytest.param(
            {}, "install the plugin using `pulumi plugin install resource libvirt v0.5.4`", id="closed-network"
        ),
        pytest.param(
            {NO_ACQUISITION: "1"},
            "no resource plugin 'pulumi-resource-libvirt' found in the workspace at version v0.5.4",
            id="no-acquisition",
        ),
    ],
)
def test_a_missing_plugin_is_reported_by_name_without_a_traceback(
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
