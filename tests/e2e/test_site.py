"""A site's own repository, with the real engine: its stacks, and this program as its submodule."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from testing import plans
from testing.checkout import ROOT
from testing.git import clone_of_program, git
from testing.project import COMMAND_S
from testing.pulumi_env import pulumi_env

STACK = plans.STACK


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site that `new-site` made of a clone that is set up as by `make setup`, with the rehearsal's stack."""
    site = tmp_path / "site"
    program = site / "okd-baremetal"
    clone_of_program(program)
    (program / ".venv").symlink_to(sys.prefix)
    subprocess.run([program / "tools" / "okd-baremetal", "new-site"], check=True, timeout=COMMAND_S)
    shutil.copytree(ROOT / "stacks" / STACK, site / "stacks" / STACK, ignore=shutil.ignore_patterns("payload"))
    config = {f"{plans.PROJECT}:{name}": value for name, value in plans.options().items()}
    (site / "stacks" / f"Pulumi.{STACK}.yaml").write_text(yaml.safe_dump({"config": config}))
    return site


def test_the_program_reads_the_stacks_of_the_site(site: Path, tmp_path: Path) -> None:
    def pulumi(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["pulumi", *words, "--stack", STACK, "--non-interactive"]
        env = pulumi_env(tmp_path)
        return subprocess.run(
            command, cwd=site, env=env, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )

    assert pulumi("stack", "init").returncode == 0
    shown = pulumi("preview")
    assert "create" in shown.stdout
    assert (shown.returncode, shown.stderr) == (0, "")

    missing = f"stacks/{STACK}/payload/bootstrap.ign: cannot be read (No such file or directory)"
    tried = pulumi("up", "--yes", "--skip-preview")
    assert tried.returncode != 0
    assert missing in tried.stdout
    payload = site / "stacks" / STACK / "payload"
    payload.mkdir()
    (payload / "bootstrap.ign").write_text("{}")
    again = pulumi("up", "--yes", "--skip-preview")
    assert missing not in again.stdout
    assert f"stacks/{STACK}/payload/bootstrap.ign: " in again.stdout


def test_its_command_line_is_that_of_the_pinned_program(site: Path) -> None:
    def said(*words: str) -> str:
        command = [str(site / "okd-baremetal/tools/okd-baremetal"), *words]
        return subprocess.run(command, cwd=site, capture_output=True, text=True, check=True).stdout

    commit = git(site / "okd-baremetal", "rev-parse", "--short", "HEAD")
    assert said("--version").endswith(f", commit {commit}\n")
    file = f"stacks/{STACK}/install-config.yaml"
    assert said("check", file) == f"{file}: ok\n"
