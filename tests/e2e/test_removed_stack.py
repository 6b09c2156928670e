"""A stack that somebody has removed at a site, with the real CLI: what the error says makes it anew."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from base.errors import ConfigError
from fleet.site.record import record_start
from fleet.site.updates import Update
from testing.checkout import ROOT
from testing.git import git
from testing.namespaces import needs_root
from testing.pulumi_env import pulumi_env
from testing.site_clone import SiteClone

pytestmark = needs_root
STACK = "north-a"
HOOK = "https://hooks.example.test/secret"
PROJECT = """\
name: okd-baremetal
runtime: {name: python, options: {toolchain: pip, virtualenv: .venv}}
stackConfigDir: stacks
"""


def pulumi(folder: Path, *words: str) -> str:
    command = ["pulumi", *words, "--non-interactive"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SiteClone:
    """A clone whose stack has a secret in the committed file, and one update behind it."""
    for name, value in pulumi_env(tmp_path).items():
        monkeypatch.setenv(name, value)
    remote = tmp_path / "remote"
    (remote / "stacks").mkdir(parents=True)
    (remote / "Pulumi.yaml").write_text(PROJECT)
    (remote / "__main__.py").write_text("")
    (remote / ".gitignore").write_text(".fleet/\n.venv\n__pycache__/\n")
    pulumi(remote, "stack", "init", STACK)
    pulumi(remote, "config", "set", "--secret", "notify_url", HOOK, "--stack", STACK)
    made = SiteClone(tmp_path, STACK)
    (made.root / ".venv").symlink_to(ROOT / ".venv")
    record_start(made.orders.clone.record, made.step(), "", "")
    return made


def test_what_the_error_says_makes_a_removed_stack_anew(site: SiteClone) -> None:
    assert Update(site.orders, site.step()).preview().digest
    pulumi(site.root, "stack", "rm", "--yes", STACK)
    with pytest.raises(ConfigError, match="the backend has no such stack") as caught:
        Update(site.orders, site.step()).preview()
    found = re.search(r"`(pulumi stack init \S+)` in (\S+), with the worker's environment", str(caught.value))
    assert found
    words, folder = shlex.split(found[1]), Path(*shlex.split(found[2]))
    subprocess.run([*words, "--non-interactive"], cwd=folder, env=os.environ, check=True, capture_output=True)
    assert git(folder, "status", "--porcelain") == ""
    assert pulumi(folder, "config", "get", "notify_url", "--stack", STACK).strip() == HOOK
    assert Update(site.orders, site.step()).preview().digest
